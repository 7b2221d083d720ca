//! Building the one error record.

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

    /// `configure` has not succeeded yet.
    pub fn not_configured() -> Self {
        let message = "the backend is not configured; call configure first";
        Self::new(ErrorCode::NotConfigured, "not-configured", message)
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
