//! What one text is: a record, a header, or nothing of a log.

use crate::chunk_rows::{Row, is_row};
use crate::event::{Envelope, Event, check_seed_envelope};
use crate::fault::{Fault, Reason};
use crate::json::Value;

/// What a text is.
pub(super) enum Judged {
    Record {
        seq: u64,
        count: u64,
        time_ms: u64,
        fault: Option<Fault>,
    },
    Header,
    NoEvent,
    NotJson,
}

/// What one text without newlines is, by itself: its place in the log is not looked at.
pub(super) fn judge(text: &str) -> Judged {
    if let Some(row) = Row::read_canonical(text) {
        return judged_row(&row, None);
    }
    let Ok(envelope) = Envelope::read(text) else {
        return Judged::NotJson;
    };
    if is_row(&envelope) {
        return match Row::read(envelope.value) {
            Ok(row) => judged_row(&row, Some(&envelope)),
            Err(fault) => Judged::Record {
                seq: 0,
                count: 0,
                time_ms: 0,
                fault: Some(fault),
            },
        };
    }
    if envelope.is_type("session") && envelope.seq.is_none() {
        return Judged::Header;
    }
    let seq = envelope.seq.and_then(Value::as_seq);
    let has_type = envelope
        .event_type
        .is_some_and(|name| name.as_text().is_some());
    if !envelope.value.is_object() || !(has_type || seq.is_some()) {
        return Judged::NoEvent;
    }
    let seq = seq.unwrap_or(0);
    Judged::Record {
        seq,
        count: 1,
        time_ms: Event::of(&envelope, seq).time_ms,
        fault: check_seed_envelope(&envelope, seq).err(),
    }
}

fn judged_row(row: &Row<'_>, envelope: Option<&Envelope<'_>>) -> Judged {
    let lossy = envelope.and_then(|envelope| envelope.lossy.as_ref());
    let fault = match (lossy, u64::try_from(row.min_time_ms)) {
        (Some(lossy), _) => Some(Fault::new(Reason::SeedNotJson, lossy.to_string())),
        (None, Err(_)) => {
            let message = "a row reaches a time before 1970";
            Some(Fault::new(Reason::SeedEnvelopeInvalid, message))
        }
        (None, Ok(_)) => None,
    };
    Judged::Record {
        seq: row.seq0,
        count: row.count,
        time_ms: u64::try_from(row.time0_ms).unwrap_or(0),
        fault,
    }
}
