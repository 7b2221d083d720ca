//! Interface `log`: the pure rules over text, with their faults as the interface's errors. It only converts.

use annals_core::chunk_rows;
use annals_core::event::{self, Envelope, Event};
use annals_core::fault::{Fact, Fault, Reason};
use annals_core::header;
use annals_core::json::{JsonFault, JsonFaultKind, Value};
use annals_core::{
    closers as closing, message, prompt, request_header as requests, surface, trace,
};
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, SessionHeader};

use crate::bindings::exports::annals::session::log::{Fold, Replacement};

/// The surface after event lines, and what each rewrite did.
///
/// # Errors
/// `invalid`: an event breaks a rule of the surface; detail has its `index`.
pub fn fold_surface(lines: &str) -> Result<Fold> {
    let (nodes, replacements) = surface::fold_surface(lines)?;
    let replacements = replacements
        .into_iter()
        .map(|replacement| Replacement {
            seq: replacement.seq,
            start: replacement.start,
            end: replacement.end,
            shadowed: replacement.shadowed,
        })
        .collect();
    Ok(Fold {
        nodes,
        replacements,
    })
}

/// Whether events of this type are for the surface.
pub fn is_surface_type(event_type: &str) -> bool {
    event::is_surface_eligible_type(event_type)
}

/// Whether an event is for the surface and has a `surfaceOp`, however malformed.
///
/// # Errors
/// `invalid`, reason `json-syntax`.
pub fn is_surface_event(line: &str) -> Result<bool> {
    let envelope = read(line)?;
    Ok(event::is_surface_event(envelope.value))
}

/// The message that an event shows; none where it shows none.
///
/// # Errors
/// `invalid`, reason `json-syntax`; `corrupt`, reason `message-invalid`.
pub fn message_of(line: &str) -> Result<Option<String>> {
    let envelope = read(line)?;
    let seq = envelope.seq.and_then(Value::as_seq).unwrap_or(0);
    message::message_of(&Event::of(&envelope, seq)).map_err(Error::from)
}

/// The lines that close an interrupted last turn; empty when none is open.
///
/// # Errors
/// `invalid`, reason `json-syntax` or `seed-envelope-invalid`.
pub fn closers(lines: &str) -> Result<String> {
    closing::closers(lines).map_err(Error::from)
}

/// Whether the events tell a well-formed story of turns, steps and calls.
///
/// # Errors
/// `invalid`, reason `trace-*`; detail has `index` and `seq`. `json-syntax`, `row-*` or `seed-envelope-invalid` where
/// a line is neither an event nor a row.
pub fn check_trace(lines: &str) -> Result<()> {
    trace::check_trace(lines).map_err(given)
}

/// The request header after these lines, in its canonical form.
///
/// # Errors
/// `invalid`, reason `seed-header-without-provider-model`.
pub fn request_header(lines: &str, before: Option<&str>) -> Result<Option<String>> {
    requests::fold_request_header(lines, before).map_err(Error::from)
}

/// The canonical form of a request header; none without a config.
///
/// # Errors
/// `invalid` as `check_json`.
pub fn canonical_header(header: &str) -> Result<Option<String>> {
    Ok(requests::canonical(value(header)?))
}

/// Whether two canonical request headers ask for the same.
///
/// # Errors
/// `invalid` as `check_json`.
pub fn headers_equal(a: &str, b: &str) -> Result<bool> {
    Ok(requests::headers_equal(value(a)?, value(b)?))
}

/// The line of the last `turn/end` whose turn a message began.
///
/// # Errors
/// `invalid`, reason `json-syntax`; detail has `line`.
pub fn last_message_turn_end(lines: &str) -> Result<Option<String>> {
    let line = prompt::last_message_turn_end(lines)?;
    Ok(line.map(str::to_owned))
}

/// What a person is shown of a message's data.
///
/// # Errors
/// `invalid` as `check_json`.
pub fn display_prompt(data: &str) -> Result<Option<String>> {
    let content = prompt::display_prompt(value(data)?);
    Ok(content.map(|content| content.text().to_owned()))
}

/// Runs of streamed chunks become rows.
///
/// # Errors
/// `invalid`, reason `json-syntax`; detail has `line`.
pub fn pack(lines: &str) -> Result<String> {
    chunk_rows::pack(lines).map_err(given)
}

/// Rows are expanded into event lines.
///
/// # Errors
/// `invalid`, reason `json-syntax` or `row-*`; detail has `line`.
pub fn unpack(lines: &str) -> Result<String> {
    chunk_rows::unpack(lines).map_err(given)
}

/// Whether a text is exactly one lossless JSON value.
///
/// # Errors
/// `invalid`, reason `json-syntax` or `json-number-lossy`; detail has `byte` and `path`.
pub fn check_json(text: &str) -> Result<()> {
    value(text).map(|_| ())
}

/// The header of session `id`, from the text of a JSON object.
///
/// # Errors
/// `invalid`, reason `header-*`; `unsupported-version`.
pub fn check_header(text: &str, id: &str) -> Result<SessionHeader> {
    let value = Value::parse(text).map_err(|fault| {
        let broken = Fault::new(Reason::HeaderNotJson, format!("session header: {fault}"));
        Error::from(broken.text("path", fault.path))
    })?;
    let header = header::check_header(value, id)?;
    Ok(header.into())
}

fn read(line: &str) -> Result<Envelope<'_>> {
    Envelope::read(line).map_err(|fault| not_json(&fault))
}

fn value(text: &str) -> Result<Value<'_>> {
    Value::parse(text).map_err(|fault| not_json(&fault))
}

fn not_json(fault: &JsonFault) -> Error {
    let reason = match fault.kind {
        JsonFaultKind::Syntax => Reason::JsonSyntax.label(),
        JsonFaultKind::NegativeZero | JsonFaultKind::Overflow => "json-number-lossy",
    };
    Error::new(ErrorCode::Invalid, reason, fault.to_string())
        .fact("byte", fault.byte as u64)
        .fact("path", fault.path.as_str())
}

/// A line that would be damage in a stored log is a broken rule in a text that was given: of a row, or of JSON.
fn given(fault: Fault) -> Error {
    if fault.reason != Reason::LogCorruptUnparsable {
        return fault.into();
    }
    let row = fault.facts.iter().find_map(|(name, fact)| match fact {
        Fact::Text(label) if *name == "row" => Some(label.as_str()),
        Fact::Text(_) | Fact::Number(_) => None,
    });
    let known = Reason::ALL
        .iter()
        .find(|reason| Some(reason.label()) == row);
    let reason = known.copied().unwrap_or(Reason::JsonSyntax);
    let class = reason.class();
    Error::from(Fault {
        class,
        reason,
        ..fault
    })
}
