//! Building the one error record.

use std::io::{self, ErrorKind};

use annals_core::fault::quoted;

use crate::types::{Error, ErrorCode};

impl Error {
    /// `reason` is kebab case; `message` is lower case, names the thing and, where there is one, the cure.
    pub fn new(code: ErrorCode, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            detail: "{}".to_owned(),
        }
    }

    /// Adds one fact to `detail`.
    #[must_use]
    pub fn fact(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        let comma = if self.detail.len() > 2 { "," } else { "" };
        self.detail.pop();
        let name = serde_json::Value::from(name);
        let value = value.into();
        self.detail.push_str(&format!("{comma}{name}:{value}}}"));
        self
    }

    /// No session of this id is stored.
    pub fn not_found(id: &str) -> Self {
        let message = format!("session {} not found", quoted(id));
        Self::new(ErrorCode::NotFound, "session-not-found", message).fact("id", id)
    }

    /// A session of this id is stored already.
    pub fn already_exists(id: &str) -> Self {
        let message = format!("session {} already exists", quoted(id));
        Self::new(ErrorCode::AlreadyExists, "session-already-exists", message).fact("id", id)
    }

    /// A batch does not begin at the next seq.
    pub fn seq_conflict(id: &str, expected: u64, actual: u64) -> Self {
        let message = format!(
            "session {} goes on at seq {expected}, the batch begins at {actual}; reopen the session",
            quoted(id)
        );
        Self::new(ErrorCode::SeqConflict, "append-seq-mismatch", message)
            .fact("id", id)
            .fact("expected", expected)
            .fact("actual", actual)
    }

    /// A session id is empty.
    pub fn empty_id() -> Self {
        let message = "a session id must not be empty; give one";
        Self::new(ErrorCode::Invalid, "empty-path-segment", message)
    }

    /// A setting that is unknown, missing or out of range; `cure` says what is taken.
    pub fn bad_setting(name: &str, cure: &str) -> Self {
        let message = format!("setting {} is not taken so: {cure}", quoted(name));
        Self::new(ErrorCode::Invalid, "setting-invalid", message).fact("setting", name)
    }

    /// No page or listing gave the cursor, or what it led into is gone. An empty `id` means a listing.
    pub fn bad_cursor(id: &str) -> Self {
        let of = match id {
            "" => "no listing gave this cursor".to_owned(),
            _ => format!(
                "no page of session {} gave this cursor, or it shrank since",
                quoted(id)
            ),
        };
        let message = format!("{of}; begin again without one");
        Self::new(ErrorCode::Invalid, "cursor-invalid", message).fact("id", id)
    }

    /// A named limit was reached; `what` says by what.
    pub fn limit(name: &str, what: &str, actual: u64, max: u64) -> Self {
        let message = format!("{what} has {actual} bytes, at most {max} are possible ({name})");
        Self::new(ErrorCode::Limit, "limit-reached", message)
            .fact("limit", name)
            .fact("max", max)
            .fact("actual", actual)
    }

    /// `configure` has not succeeded yet.
    pub fn not_configured() -> Self {
        let message = "the backend is not configured; call configure first";
        Self::new(ErrorCode::NotConfigured, "not-configured", message)
    }
}

/// A failed file operation, for backends that have nothing to add: the path of a component's file says little to people.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let (code, reason) = match error.kind() {
            ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
                (ErrorCode::ReadOnly, "io-read-only")
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                (ErrorCode::NoSpace, "io-no-space")
            }
            ErrorKind::TimedOut => (ErrorCode::Unavailable, "io-unavailable"),
            _ => (ErrorCode::Other, "io-failed"),
        };
        Self::new(code, reason, format!("the medium failed: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_make_one_json_object() {
        let error = Error::new(ErrorCode::Invalid, "x", "y");
        assert_eq!(error.detail, "{}");
        let error = error.fact("line", 3).fact("path", "a\"b");
        assert_eq!(error.detail, r#"{"line":3,"path":"a\"b"}"#);
    }
}
