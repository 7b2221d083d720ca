//! One event: its six members, and what a seed must hold.

mod envelope;
mod parts;

use std::borrow::Cow;

use crate::fault::{Fault, Reason, quoted};
use crate::json::{JsonFault, Text, Value};

pub use envelope::Envelope;
pub(crate) use parts::Parts;

/// The type of the event that ends a turn.
pub const TURN_END: &str = "turn/end";

/// One event that holds the rules of its envelope, borrowed from its line.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// `type`; U+FFFD stands for a lone surrogate, which no known type has.
    pub event_type: Cow<'a, str>,
    /// `seq`
    pub seq: u64,
    /// `time`, in milliseconds since 1970-01-01T00:00Z.
    pub time_ms: u64,
    /// `data`; always there in an event that was checked.
    pub data: Option<Value<'a>>,
    /// `surfaceOp`; a present `null` is `Some`.
    pub surface_op: Option<Value<'a>>,
    /// `sourceEventSeqs`; a present `null` is `Some`.
    pub source_event_seqs: Option<Value<'a>>,
    /// The last of them, where they are known to be in strictly ascending order.
    pub(crate) last_source: Option<u64>,
    /// What its message is made of, where that is known from reading its line.
    pub(crate) parts: Option<Parts<'a>>,
}

impl<'a> Event<'a> {
    /// The event of an envelope, no rule held against it: `seq` is the caller's, a type that is no string becomes
    /// empty, a time that is none becomes 0.
    pub fn of(envelope: &Envelope<'a>, seq: u64) -> Event<'a> {
        Event {
            event_type: envelope
                .event_type
                .and_then(Value::as_text)
                .map(Text::decode_lossy)
                .unwrap_or_default(),
            seq,
            time_ms: envelope.time_ms().unwrap_or(0),
            data: envelope.data,
            surface_op: envelope.surface_op,
            source_event_seqs: envelope.source_event_seqs,
            last_source: envelope.last_source(),
            parts: envelope.parts(),
        }
    }
}

/// Holds the rules of a seed against one event that is due to have seq `seq`, the surface's rules excepted.
///
/// Of several broken rules the first in this order is reported: the format of old request headers, the envelope,
/// provider and model, the format of old endings, the reason of old request headers, the seq. Facts: `index` is `seq`.
pub fn check_seed_event<'a>(value: Value<'a>, seq: u64) -> Result<Event<'a>, Fault> {
    check_seed_envelope(&Envelope::of(value), seq)
}

/// Like [`check_seed_event`], for a line: a text that is no lossless JSON is refused before all else.
pub fn check_seed_line(line: &str, seq: u64) -> Result<Event<'_>, Fault> {
    match Envelope::read(line) {
        Ok(envelope) => check_seed_envelope(&envelope, seq),
        Err(fault) => Err(not_json(&fault, seq)),
    }
}

/// Like [`check_seed_line`], for a line whose members were read already.
pub fn check_seed_envelope<'a>(envelope: &Envelope<'a>, seq: u64) -> Result<Event<'a>, Fault> {
    if let Some(fault) = &envelope.lossy {
        return Err(not_json(fault, seq));
    }
    if envelope.is_type("request/header-delta") {
        let message = format!(
            "event {seq} has the old type request/header-delta, which is not read any more"
        );
        return Err(Fault::new(Reason::LegacyHeaderDelta, message).number("index", seq));
    }
    let event = read_event(envelope, seq)?;
    // Only a message has parts, and of the messages only an assistant's has a rule.
    let provenance = envelope.parts().and_then(|parts| parts.provenance);
    let is_named = provenance.is_some_and(names_provider_and_model);
    if let Some(data) = event.data.filter(|data| data.is_object() && !is_named) {
        check_data(&event.event_type, data, seq)?;
    }
    if event.seq != seq {
        let message = format!(
            "event {seq} has seq {}; a log counts from 0 without gaps",
            event.seq
        );
        let fault = Fault::new(Reason::SeedSeqNotContiguous, message);
        return Err(fault
            .number("index", seq)
            .number("expected", seq)
            .number("actual", event.seq));
    }
    Ok(event)
}

#[cold]
fn not_json(fault: &JsonFault, seq: u64) -> Fault {
    let broken = Fault::new(Reason::SeedNotJson, format!("event {seq}: {fault}"));
    broken
        .number("index", seq)
        .text("path", fault.path.as_str())
}

/// The envelope's own rules: exactly the six members, of their kinds, seq and time non-negative safe integers.
fn read_event<'a>(envelope: &Envelope<'a>, seq: u64) -> Result<Event<'a>, Fault> {
    let refused = |what: &str| {
        let message = format!("event {seq}: {what}");
        Err(Fault::new(Reason::SeedEnvelopeInvalid, message).number("index", seq))
    };
    if !envelope.value.is_object() {
        return refused("it is no object");
    }
    if let Some(name) = envelope.other {
        return refused(&format!(
            "an event has no member {}; put it into data",
            quoted(&name.decode_lossy())
        ));
    }
    let Some(event_type) = envelope.event_type.and_then(Value::as_text) else {
        return refused("type must be a string");
    };
    let Some(actual) = envelope.seq_value() else {
        return refused("seq must be a non-negative safe integer");
    };
    let Some(time_ms) = envelope.time_ms() else {
        return refused("time must be a non-negative safe integer");
    };
    if envelope.data.is_none() {
        return refused("data is missing");
    }
    Ok(Event {
        event_type: event_type.decode_lossy(),
        seq: actual,
        time_ms,
        data: envelope.data,
        surface_op: envelope.surface_op,
        source_event_seqs: envelope.source_event_seqs,
        last_source: envelope.last_source(),
        parts: envelope.parts(),
    })
}

/// What the three types that changed since old formats must hold in their data, an object. A rule for `assistant/chunk`
/// would have to be held in `chunk_rows/delta.rs` as well, where deltas are read without an [`Event`].
fn check_data(event_type: &str, data: Value<'_>, seq: u64) -> Result<(), Fault> {
    let refused = |reason, message: String| Err(Fault::new(reason, message).number("index", seq));
    match event_type {
        "request/header" => {
            let config = data.get("header").and_then(|header| header.get("config"));
            if !config.is_some_and(names_provider_and_model) {
                let message = format!("event {seq}: a request/header must name provider and model");
                return refused(Reason::SeedHeaderWithoutProviderModel, message);
            }
            if is_fallback(data) {
                let message = format!("event {seq} has the old request/header reason \"fallback\"");
                return refused(Reason::LegacyHeaderFallback, message);
            }
        }
        "assistant/message" if !data.get("provenance").is_some_and(names_provider_and_model) => {
            let message = format!("event {seq}: an assistant/message must name provider and model");
            return refused(Reason::SeedAssistantWithoutProvenance, message);
        }
        TURN_END => {
            let reason = data.get("reason").filter(|reason| {
                reason
                    .get("kind")
                    .is_some_and(|kind| kind.is_str("aborted"))
            });
            if reason.is_some_and(|reason| reason.members().any(|(name, _)| !name.is("kind"))) {
                let message = format!(
                    "event {seq} has the old format of an aborted turn, with more than its kind"
                );
                return refused(Reason::SeedLegacyAborted, message);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Refuses at append what loading would refuse later: a log that was accepted opens again.
///
/// The reference takes some of these in and then cannot load its own log.
pub fn check_appended(event_type: &str, data: Value<'_>, seq: u64) -> Result<(), Fault> {
    if event_type == "request/header-delta" {
        let message = "the old event type request/header-delta is not written any more; append a request/header";
        return Err(Fault::new(Reason::LegacyHeaderDelta, message));
    }
    if data.is_object() {
        check_data(event_type, data, seq)?;
    }
    Ok(())
}

fn is_fallback(data: Value<'_>) -> bool {
    data.get("reason")
        .is_some_and(|reason| reason.is_str("fallback"))
}

fn names_provider_and_model(value: Value<'_>) -> bool {
    let is_named = |name| {
        value
            .get(name)
            .and_then(Value::as_text)
            .is_some_and(|text| !text.raw().is_empty())
    };
    is_named("provider") && is_named("model")
}

/// Whether events of this type stand on the surface, and so carry `surfaceOp`.
pub fn is_surface_eligible_type(event_type: &str) -> bool {
    matches!(
        event_type,
        "user/message" | "assistant/message" | "tool/result" | "steering/message"
    )
}

/// Whether an event is of such a type and carries a `surfaceOp`, well formed or not.
pub fn is_surface_event(value: Value<'_>) -> bool {
    let is_eligible = |text: Text<'_>| is_surface_eligible_type(&text.decode_lossy());
    value.get("surfaceOp").is_some()
        && value
            .get("type")
            .and_then(Value::as_text)
            .is_some_and(is_eligible)
}
