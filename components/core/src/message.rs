//! From an event to the message that the model sees.
//!
//! Content and provenance keep the bytes they were written with. Everything else of an event (sources, envelopes,
//! usage, failures) is for others and stays out.

use crate::event::Event;
use crate::fault::{Fault, Reason, quoted};
use crate::json::{Kind, Value};
use crate::prompt::display_prompt;

/// Whether an event shows as a message.
///
/// Fails with [`Reason::MessageInvalid`] where the event's data holds nothing that a message could be made of.
pub fn is_message(event: &Event<'_>) -> Result<bool, Fault> {
    shows(event).map_err(|what| invalid(event, what))
}

/// Refuses at append what [`is_message`] would refuse later, and with it the whole history.
///
/// Fails with [`Reason::AppendMessageInvalid`].
pub fn check_appended_message(event: &Event<'_>) -> Result<(), Fault> {
    let refused = |what: &str| {
        let message = format!(
            "event {} has {what} to make a message of; append it with content",
            quoted(&event.event_type)
        );
        Fault::new(Reason::AppendMessageInvalid, message).text("type", &*event.event_type)
    };
    shows(event).map(drop).map_err(refused)
}

/// Whether an event shows as a message; what it lacks where nobody can say.
fn shows(event: &Event<'_>) -> Result<bool, &'static str> {
    match &*event.event_type {
        "user/message" | "steering/message" | "tool/result" => data_of(event).map(|_| true),
        "assistant/message" => {
            let data = data_of(event)?;
            let content = data.get("content").filter(|content| !content.is_null());
            Ok(!is_empty(content.ok_or("no content")?))
        }
        _ => Ok(false),
    }
}

/// The message of one event, as JSON text; none for an event that shows no message.
///
/// `surfaceOp` plays no part here. An assistant message with empty content shows none. Fails as [`is_message`] does.
pub fn message_of(event: &Event<'_>) -> Result<Option<String>, Fault> {
    if !is_message(event)? {
        return Ok(None);
    }
    let mut out = String::new();
    write_message(event, &mut out)?;
    Ok(Some(out))
}

/// Writes what [`message_of`] gives for an event that shows a message, with room for a newline after it.
///
/// Fails as [`is_message`] does; `out` is as before then.
pub(crate) fn write_message(event: &Event<'_>, out: &mut String) -> Result<(), Fault> {
    let data = data_of(event).map_err(|what| invalid(event, what))?;
    let (open, members, close): (_, &[(&str, &str)], _) = match &*event.event_type {
        "assistant/message" => (
            r#"{"role":"assistant""#,
            &[("content", "content"), ("provenance", "provenance")],
            "}",
        ),
        "tool/result" => (
            r#"{"role":"user","content":[{"type":"tool-result""#,
            &[
                ("callId", "toolCallId"),
                ("content", "content"),
                ("isError", "isError"),
            ],
            "}]}",
        ),
        _ => (r#"{"role":"user""#, &[("content", "content")], "}"),
    };
    let mut found = [None; 3];
    for (name, value) in data.members() {
        let known = members.iter().zip(&mut found);
        if let Some((_, slot)) = known.into_iter().find(|((known, _), _)| name.is(known)) {
            // of a repeated member the last counts
            *slot = Some(value.text());
        }
    }
    let written = members
        .iter()
        .zip(found)
        .filter_map(|((_, name), text)| Some((*name, text?)));
    let bytes: usize = written
        .clone()
        .map(|(name, text)| name.len() + text.len() + 4)
        .sum();
    // a long message is not copied again to make room for its end
    out.reserve(open.len() + bytes + close.len() + 1);
    out.push_str(open);
    for (name, text) in written {
        out.push_str(",\"");
        out.push_str(name);
        out.push_str("\":");
        out.push_str(text);
    }
    out.push_str(close);
    Ok(())
}

/// The text of a prompt for people: of what was typed, not of what a plugin put before it. Blocks without text are
/// left out, the others joined by a newline. None when the event is not by a user.
pub fn prompt_text(event: &Event<'_>) -> Option<String> {
    let data = event.data?;
    if event.event_type != "user/message" || !data.get("source")?.get("kind")?.is_str("user") {
        return None;
    }
    let content = display_prompt(data)?;
    if let Some(text) = content.as_text() {
        return Some(text.decode_lossy().into_owned());
    }
    let texts = content
        .elements()
        .filter_map(|block| Some(block.get("text")?.as_text()?.decode_lossy()));
    Some(texts.collect::<Vec<_>>().join("\n"))
}

fn data_of<'a>(event: &Event<'a>) -> Result<Value<'a>, &'static str> {
    event.data.filter(|data| !data.is_null()).ok_or("no data")
}

fn invalid(event: &Event<'_>, what: &str) -> Fault {
    let message = format!(
        "event {} ({}) has {what} to make a message of; replace it on the surface",
        event.seq,
        quoted(&event.event_type)
    );
    Fault::new(Reason::MessageInvalid, message)
        .number("seq", event.seq)
        .text("type", &*event.event_type)
}

fn is_empty(content: Value<'_>) -> bool {
    match content.kind() {
        Kind::Array => content.elements().next().is_none(),
        Kind::String => content.text() == "\"\"",
        Kind::Null | Kind::Bool | Kind::Number | Kind::Object => false,
    }
}
