//! Comparing what a backend answered with what it promised.

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};
use serde_json::Value;

use crate::trial::{Checked, Stop};

/// How many bytes of a difference are shown.
const SHOWN_BYTES: usize = 60;

/// Fails unless `holds`.
pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Stop::Failed(why()))
    }
}

/// The answer to a call that has to succeed.
pub(crate) fn ok<T>(call: &str, answer: Result<T>) -> Checked<T> {
    answer.map_err(|error| Stop::Failed(format!("{call} failed: {}", shown(&error))))
}

/// The error of a call that has to be refused with this code, in the shape that every error has.
pub(crate) fn refused<T>(call: &str, answer: Result<T>, code: ErrorCode) -> Checked<Error> {
    let Err(error) = answer else {
        let why = format!("{call} succeeded where {} is due", label(code));
        return Err(Stop::Failed(why));
    };
    ensure(error.code == code, || {
        format!("{call}: {} is due, not {}", label(code), shown(&error))
    })?;
    let is_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_kebab = !error.reason.is_empty() && error.reason.bytes().all(is_label);
    ensure(is_kebab, || {
        format!("{call}: the reason {:?} is not in kebab case", error.reason)
    })?;
    let first = error.message.chars().next();
    let is_lower = first.is_some_and(|first| !first.is_uppercase());
    ensure(is_lower, || {
        format!(
            "{call}: the message {:?} does not begin in lower case",
            error.message
        )
    })?;
    facts(call, &error)?;
    Ok(error)
}

/// The facts of an error.
pub(crate) fn facts(call: &str, error: &Error) -> Checked<Value> {
    match serde_json::from_str(&error.detail) {
        Ok(facts @ Value::Object(_)) => Ok(facts),
        Ok(_) | Err(_) => Err(Stop::Failed(format!(
            "{call}: the detail {:?} is no JSON object",
            error.detail
        ))),
    }
}

/// Fails unless both are equal; shows them.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, due: &T) -> Checked {
    ensure(found == due, || format!("{what} is {found:?}, not {due:?}"))
}

/// Fails unless both are equal; shows where they part.
pub(crate) fn same_bytes(what: &str, found: &[u8], due: &[u8]) -> Checked {
    if found == due {
        return Ok(());
    }
    let pairs = found.iter().zip(due);
    let at = pairs.take_while(|(found, due)| found == due).count();
    let piece = |bytes: &[u8]| {
        let rest = bytes.get(at..).unwrap_or_default();
        let piece = rest.get(..SHOWN_BYTES).unwrap_or(rest);
        String::from_utf8_lossy(piece).into_owned()
    };
    Err(Stop::Failed(format!(
        "{what}: {} bytes where {} are due; from byte {at} on {:?}, not {:?}",
        found.len(),
        due.len(),
        piece(found),
        piece(due)
    )))
}

/// An error as a failure shows it.
pub(crate) fn shown(error: &Error) -> String {
    format!(
        "{} ({}, {})",
        error.message,
        label(error.code),
        error.reason
    )
}

/// A code as the interface spells it.
pub(crate) fn label(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::NotFound => "not-found",
        ErrorCode::AlreadyExists => "already-exists",
        ErrorCode::SeqConflict => "seq-conflict",
        ErrorCode::Busy => "busy",
        ErrorCode::Invalid => "invalid",
        ErrorCode::Corrupt => "corrupt",
        ErrorCode::UnsupportedVersion => "unsupported-version",
        ErrorCode::ReadOnly => "read-only",
        ErrorCode::NoSpace => "no-space",
        ErrorCode::Limit => "limit",
        ErrorCode::NotConfigured => "not-configured",
        ErrorCode::Reentrant => "reentrant",
        ErrorCode::Unavailable => "unavailable",
        ErrorCode::Other => "other",
    }
}
