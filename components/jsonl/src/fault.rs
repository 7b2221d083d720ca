//! Failures of files and broken rules of the log as the one error record.

use std::io::{self, ErrorKind};

use annals_core::fault::{Class, Fact, Fault};
use annals_sdk::types::{Error, ErrorCode};

use crate::paths::EmptyId;

/// The log's own rules, broken.
pub fn of_log(fault: Fault) -> Error {
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
            Fact::Number(number) => error.fact(name, number),
            Fact::Text(text) => error.fact(name, text),
        })
}

/// An id without a name.
pub fn of_empty_id(_: EmptyId) -> Error {
    let message = "a session id must not be empty; give one";
    Error::new(ErrorCode::Invalid, "empty-path-segment", message)
}

/// A failed file operation: `doing` says which, `path` is relative to the root.
pub fn of_files(doing: &str, path: &str, error: &io::Error) -> Error {
    let (code, reason, cure) = match error.kind() {
        ErrorKind::ReadOnlyFilesystem => (
            ErrorCode::ReadOnly,
            "io-read-only",
            "; the medium cannot be written",
        ),
        ErrorKind::PermissionDenied => (
            ErrorCode::ReadOnly,
            "io-permission-denied",
            "; check who may read and write the root",
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
            ErrorCode::NoSpace,
            "io-no-space",
            "; free some space and try again",
        ),
        ErrorKind::FileTooLarge => (
            ErrorCode::NoSpace,
            "io-file-too-large",
            "; the medium takes no longer file",
        ),
        ErrorKind::NotFound => (
            ErrorCode::Other,
            "io-not-found",
            "; it went away during the call, try again",
        ),
        ErrorKind::NotADirectory => (
            ErrorCode::Other,
            "io-not-a-directory",
            "; move away the file that is in its place",
        ),
        ErrorKind::TimedOut | ErrorKind::StaleNetworkFileHandle => {
            (ErrorCode::Unavailable, "io-unavailable", "; try again")
        }
        _ => (ErrorCode::Other, "io-failed", ""),
    };
    let shown = match path {
        "" => "the root".to_owned(),
        _ => format!("{path:?}"),
    };
    let message = format!("cannot {doing} {shown}: {error}{cure}");
    Error::new(code, reason, message).fact("path", path)
}

/// A failed read: no permission then says nothing about writing.
pub fn of_reading(path: &str, error: &io::Error) -> Error {
    let mut error = of_files("read", path, error);
    if error.code == ErrorCode::ReadOnly {
        error.code = ErrorCode::Other;
    }
    error
}

/// A named limit was reached.
pub fn of_limit(name: &str, what: &str, actual: u64, limit: u64) -> Error {
    let message = format!("{what} has {actual} bytes, at most {limit} are possible ({name})");
    Error::new(ErrorCode::Limit, "limit-reached", message)
        .fact("limit", name)
        .fact("max", limit)
        .fact("actual", actual)
}
