//! Lines as the model takes them.

use annals_core::event::Envelope;
use annals_core::json::Value;

use crate::json::Json;
use crate::model::Event;

/// How deep a value may nest: the model is recursive.
const DEPTH_MAX: usize = 100;

/// A value as a tree; none where it is too deep.
pub(super) fn tree(value: Value<'_>) -> Option<Json> {
    subtree(value, DEPTH_MAX)
}

fn subtree(value: Value<'_>, depth: usize) -> Option<Json> {
    let depth = depth.checked_sub(1)?;
    match value.text().as_bytes()[0] {
        b'[' => {
            let elements = value.elements().map(|element| subtree(element, depth));
            Some(Json::array(elements.collect::<Option<_>>()?))
        }
        b'{' => {
            let member = |(name, value): (annals_core::json::Text<'_>, _)| {
                Some((format!("\"{}\"", name.raw()), subtree(value, depth)?))
            };
            let members = value.members().map(member);
            Some(Json::Object(members.collect::<Option<_>>()?, ""))
        }
        _ => Some(Json::Plain(value.text().to_owned())),
    }
}

/// The event of a line whose seq was checked; none where it is too deep for the model.
pub(super) fn event(line: &str, seq: u64) -> Option<Event> {
    let envelope = Envelope::read(line).ok()?;
    let branch = |value: Option<Value<'_>>| match value {
        None => Some(None),
        Some(value) => tree(value).map(Some),
    };
    let kind = envelope.event_type.and_then(Value::as_text);
    Some(Event {
        kind: kind.map_or(String::new(), |kind| kind.decode_lossy().into_owned()),
        seq,
        time_ms: envelope.time.and_then(Value::as_seq).unwrap_or(0),
        // The same as nothing that is there.
        data: branch(envelope.data)?.unwrap_or_else(|| Json::number("absent")),
        op: branch(envelope.surface_op)?,
        sources: branch(envelope.source_event_seqs)?,
        delta: None,
        line: line.to_owned(),
        draft: String::new(),
    })
}

/// The events of a log of event lines that was accepted; none where one is too deep for the model.
pub(super) fn events(lines: &str) -> Option<Vec<Event>> {
    (0..)
        .zip(lines.split_terminator('\n'))
        .map(|(seq, line)| event(line, seq))
        .collect()
}
