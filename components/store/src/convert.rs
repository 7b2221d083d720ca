//! What was appended and what was used in the interface's types, and the errors that the store itself gives.

use annals_core::fault::quoted;
use annals_core::session::Appended;
use annals_core::usage;
use annals_sdk::types::{Batch, Error, ErrorCode};

use crate::live::Slot;
use crate::{StepUsage, Usage, UsageCount};

pub(crate) fn batch(appended: Appended) -> Batch {
    Batch {
        first_seq: appended.first_seq,
        count: appended.count,
        last_time_ms: appended.last_time_ms,
        lines: appended.lines,
    }
}

impl From<usage::Usage> for Usage {
    fn from(usage: usage::Usage) -> Self {
        let steps = usage.steps.into_iter().map(|step| StepUsage {
            turn: step.turn,
            step: step.step,
            counts: counts(step.tokens),
        });
        Usage {
            steps: steps.collect(),
            total: counts(usage.total),
        }
    }
}

fn counts(tokens: usage::Tokens) -> Vec<UsageCount> {
    let counts = tokens.into_iter();
    counts
        .map(|(name, count)| UsageCount { name, count })
        .collect()
}

pub(crate) fn already_live(id: &str) -> Error {
    let message = format!(
        "session {} is live here already; close it first",
        quoted(id)
    );
    Error::new(ErrorCode::AlreadyExists, "session-already-exists", message).fact("id", id)
}

/// Why what a key stands for is not in the live list; none is a key that was forgotten.
pub(crate) fn not_live(slot: Option<&Slot>) -> Error {
    let id = slot.map_or("", Slot::id);
    let message = match slot {
        Some(Slot::Prepared(_)) => format!(
            "session {} is only prepared; let it enter first",
            quoted(id)
        ),
        Some(Slot::Detached(_)) => format!("session {} was detached; open it again", quoted(id)),
        Some(Slot::Live(_) | Slot::Closed(_)) | None => {
            format!("session {} is closed; open it again", quoted(id))
        }
    };
    Error::new(ErrorCode::NotFound, "session-not-live-in-store", message).fact("id", id)
}

pub(crate) fn already_announced(id: &str) -> Error {
    let message = format!(
        "session {} was announced already; announce an entry once",
        quoted(id)
    );
    Error::new(ErrorCode::Invalid, "session-already-announced", message).fact("id", id)
}

/// From inside the callback that tells of events of the same session.
pub(crate) fn append_reentrant(id: &str) -> Error {
    let message = format!(
        "session {} is telling of an append; append again when the callback has returned",
        quoted(id)
    );
    Error::new(ErrorCode::Reentrant, "append-reentrant", message).fact("id", id)
}

pub(crate) fn lease_lost(id: &str) -> Error {
    let message = format!(
        "session {} lost its lease to another writer; fork it to keep what it has, close it, open it again",
        quoted(id)
    );
    Error::new(ErrorCode::Busy, "lease-lost", message).fact("id", id)
}

pub(crate) fn read_only(id: &str) -> Error {
    let message = format!(
        "session {} was opened to inspect it; open it with resume to write",
        quoted(id)
    );
    Error::new(ErrorCode::ReadOnly, "session-read-only", message).fact("id", id)
}

pub(crate) fn record_too_long(line: u64, bytes: u64, bytes_max: u64) -> Error {
    let message = format!(
        "line {line} has {bytes} bytes as stored, the backend takes {bytes_max}; split the event"
    );
    Error::new(ErrorCode::Limit, "record-too-long", message)
        .fact("line", line)
        .fact("record-bytes-max", bytes_max)
}

/// The reason of [`listener`].
pub(crate) const LISTENER_ERROR: &str = "listener-error";

/// An observer's own words.
pub(crate) fn listener(id: &str, words: String) -> Error {
    Error::new(ErrorCode::Other, LISTENER_ERROR, words).fact("id", id)
}

/// Ids are any text but the empty one.
pub(crate) fn check_id(id: &str) -> Result<(), Error> {
    if id.is_empty() {
        let message = "a session id is empty; give at least one character";
        return Err(Error::new(
            ErrorCode::Invalid,
            "empty-path-segment",
            message,
        ));
    }
    Ok(())
}
