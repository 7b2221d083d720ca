//! Core's types and faults as those of the interface, and the errors that the store itself gives.

use annals_core::fault::{Class, Fact, Fault};
use annals_core::header::Header;
use annals_core::session::Appended;
use annals_sdk::types::{Batch, Error, ErrorCode, SessionHeader};

use crate::live::Slot;

pub(crate) fn error(fault: Fault) -> Error {
    let code = match fault.class() {
        Class::Invalid => ErrorCode::Invalid,
        Class::Corrupt => ErrorCode::Corrupt,
        Class::UnsupportedVersion => ErrorCode::UnsupportedVersion,
        Class::SeqConflict => ErrorCode::SeqConflict,
        Class::NotFound => ErrorCode::NotFound,
        Class::AlreadyExists => ErrorCode::AlreadyExists,
        Class::Limit => ErrorCode::Limit,
        Class::ReadOnly => ErrorCode::ReadOnly,
    };
    let error = Error::new(code, fault.reason.label(), fault.message);
    fault
        .facts
        .into_iter()
        .fold(error, |error, (name, fact)| match fact {
            Fact::Number(value) => error.fact(name, value),
            Fact::Text(value) => error.fact(name, value),
        })
}

pub(crate) fn core_header(header: SessionHeader) -> Header {
    Header {
        version: header.version,
        id: header.id,
        created_at_ms: header.created_at_ms,
        cwd: header.cwd,
        parent_session: header.parent_session,
        seed_length: header.seed_length,
        delegation_depth: header.delegation_depth,
        extra: header.extra,
    }
}

pub(crate) fn session_header(header: &Header) -> SessionHeader {
    let header = header.clone();
    SessionHeader {
        version: header.version,
        id: header.id,
        created_at_ms: header.created_at_ms,
        cwd: header.cwd,
        parent_session: header.parent_session,
        seed_length: header.seed_length,
        delegation_depth: header.delegation_depth,
        extra: header.extra,
    }
}

pub(crate) fn batch(appended: Appended) -> Batch {
    Batch {
        first_seq: appended.first_seq,
        count: appended.count,
        last_time_ms: appended.last_time_ms,
        lines: appended.lines,
    }
}

pub(crate) fn already_live(id: &str) -> Error {
    let message = format!("session {id:?} is live here already; close it first");
    Error::new(ErrorCode::AlreadyExists, "session-already-exists", message).fact("id", id)
}

/// Why what a key stands for is not in the live list; none is a key that was forgotten.
pub(crate) fn not_live(slot: Option<&Slot>) -> Error {
    let id = slot.map_or("", Slot::id);
    let message = match slot {
        Some(Slot::Prepared(_)) => format!("session {id:?} is only prepared; let it enter first"),
        Some(Slot::Detached(_)) => format!("session {id:?} was detached; open it again"),
        Some(Slot::Live(_) | Slot::Closed(_)) | None => {
            format!("session {id:?} is closed; open it again")
        }
    };
    Error::new(ErrorCode::NotFound, "session-not-live-in-store", message).fact("id", id)
}

pub(crate) fn already_announced(id: &str) -> Error {
    let message = format!("session {id:?} was announced already; announce an entry once");
    Error::new(ErrorCode::Invalid, "session-already-announced", message).fact("id", id)
}

/// From inside the callback that tells of events of the same session.
pub(crate) fn append_reentrant(id: &str) -> Error {
    let message = format!(
        "session {id:?} is telling of an append; append again when the callback has returned"
    );
    Error::new(ErrorCode::Reentrant, "append-reentrant", message).fact("id", id)
}

pub(crate) fn lease_lost(id: &str) -> Error {
    let message = format!(
        "session {id:?} lost its lease to another writer; fork it to keep what it has, close it, open it again"
    );
    Error::new(ErrorCode::Busy, "lease-lost", message).fact("id", id)
}

pub(crate) fn read_only(id: &str) -> Error {
    let message = format!("session {id:?} was opened to inspect it; open it with resume to write");
    Error::new(ErrorCode::ReadOnly, "session-read-only", message).fact("id", id)
}

/// An observer's own words.
pub(crate) fn listener(id: &str, words: String) -> Error {
    Error::new(ErrorCode::Other, "listener-error", words).fact("id", id)
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
