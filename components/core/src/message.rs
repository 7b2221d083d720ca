//! From an event to the message that the model sees.
//!
//! Content and provenance keep the bytes they were written with. Everything else of an event (sources, envelopes,
//! usage, failures) is for others and stays out.

use crate::event::{Event, Parts};
use crate::fault::{Fault, Reason, quoted};
use crate::json::{Kind, Span, Value};
use crate::prompt::display_prompt;

/// Whether an event shows as a message.
///
/// Fails with [`Reason::MessageInvalid`] where the event's data holds nothing that a message could be made of.
pub fn is_message(event: &Event<'_>) -> Result<bool, Fault> {
    read_message(event).map(|message| message.is_some())
}

/// The message of one event, as JSON text; none for an event that shows no message.
///
/// `surfaceOp` plays no part here. An assistant message with empty content shows none. Fails as [`is_message`] does.
pub fn message_of(event: &Event<'_>) -> Result<Option<String>, Fault> {
    let written = |message: Message<'_>| {
        let mut out = String::with_capacity(message.bytes());
        message.write(&mut out);
        out
    };
    Ok(read_message(event)?.map(written))
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
    Message::of(event).map(drop).map_err(refused)
}

/// The message of one event; none for an event that shows no message. Fails as [`is_message`] does.
pub(crate) fn read_message<'a>(event: &Event<'a>) -> Result<Option<Message<'a>>, Fault> {
    let invalid = |what: &str| {
        let message = format!(
            "event {} ({}) has {what} to make a message of; replace it on the surface",
            event.seq,
            quoted(&event.event_type)
        );
        Fault::new(Reason::MessageInvalid, message)
            .number("seq", event.seq)
            .text("type", &*event.event_type)
    };
    Message::of(event).map_err(invalid)
}

/// What a message is made of: its frame, and the members that stand in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    frame: Frame,
    members: [Option<Value<'a>>; MEMBERS_MAX],
}

/// Where the members of a message stand in a text that holds the line of its event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageSpans {
    frame: Frame,
    members: [Option<Span>; MEMBERS_MAX],
    bytes: u32,
}

const MEMBERS_MAX: usize = 3;

/// What surrounds the members of a message.
#[derive(Clone, Copy, Debug)]
enum Frame {
    User,
    Assistant,
    ToolResult,
}

impl Frame {
    /// What stands before the members, before each of them in order, and behind them.
    fn parts(self) -> (&'static str, &'static [&'static str], &'static str) {
        match self {
            Frame::User => (r#"{"role":"user""#, &[r#","content":"#], "}"),
            Frame::Assistant => (
                r#"{"role":"assistant""#,
                &[r#","content":"#, r#","provenance":"#],
                "}",
            ),
            Frame::ToolResult => (
                r#"{"role":"user","content":[{"type":"tool-result""#,
                &[r#","toolCallId":"#, r#","content":"#, r#","isError":"#],
                "}]}",
            ),
        }
    }
}

impl<'a> Message<'a> {
    /// None for an event that shows no message; what the event lacks where nobody can say.
    fn of(event: &Event<'a>) -> Result<Option<Message<'a>>, &'static str> {
        let frame = match &*event.event_type {
            "user/message" | "steering/message" => Frame::User,
            "assistant/message" => Frame::Assistant,
            "tool/result" => Frame::ToolResult,
            _ => return Ok(None),
        };
        let data = event.data.filter(|data| !data.is_null()).ok_or("no data")?;
        let parts = event.parts.unwrap_or_else(|| Parts::of(data));
        let members = match frame {
            Frame::User => [parts.content, None, None],
            Frame::Assistant => {
                let content = parts.content.filter(|content| !content.is_null());
                if is_empty(content.ok_or("no content")?) {
                    return Ok(None);
                }
                [content, parts.provenance, None]
            }
            Frame::ToolResult => [parts.call_id, parts.content, parts.is_error],
        };
        Ok(Some(Message { frame, members }))
    }

    /// Its members that there are, each with what stands before it.
    fn members(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let (_, names, _) = self.frame.parts();
        let members = names.iter().zip(self.members);
        members.filter_map(|(name, value)| Some((*name, value?.text())))
    }

    /// How long its text is.
    pub(crate) fn bytes(&self) -> usize {
        let (open, _, close) = self.frame.parts();
        let members = self.members().map(|(name, text)| name.len() + text.len());
        open.len() + members.sum::<usize>() + close.len()
    }

    /// Adds its JSON text.
    pub(crate) fn write(&self, out: &mut String) {
        let (open, _, close) = self.frame.parts();
        out.push_str(open);
        for (name, text) in self.members() {
            out.push_str(name);
            out.push_str(text);
        }
        out.push_str(close);
    }
}

impl MessageSpans {
    /// Of a message that was read from this text; none when that is 4 GiB long or longer.
    pub(crate) fn of(message: &Message<'_>, text: &str) -> Option<MessageSpans> {
        let mut members = [None; MEMBERS_MAX];
        for (span, value) in members.iter_mut().zip(message.members) {
            if let Some(value) = value {
                *span = Some(Span::of(value, text)?);
            }
        }
        Some(MessageSpans {
            frame: message.frame,
            members,
            bytes: u32::try_from(message.bytes()).ok()?,
        })
    }

    /// How long the message's text is.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// The message again, of its very text.
    pub(crate) fn message<'a>(&self, text: &'a str) -> Message<'a> {
        Message {
            frame: self.frame,
            members: self.members.map(|span| span?.value(text)),
        }
    }
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

fn is_empty(content: Value<'_>) -> bool {
    match content.kind() {
        Kind::Array => content.elements().next().is_none(),
        Kind::String => content.text() == "\"\"",
        Kind::Null | Kind::Bool | Kind::Number | Kind::Object => false,
    }
}
