//! The one error of this crate: the interface's record, also for failures of the host.

use std::any::Any;
use std::fmt;

use crate::bindings::store::annals::session::types;
use crate::records::ErrorCode;

/// What every call answers.
pub type Result<T> = std::result::Result<T, Error>;

/// One shape for every failure: of the store, of a backend, and of the host that links them.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// What a caller acts on.
    pub code: ErrorCode,
    /// A stable label for exactly what is wrong, kebab case.
    pub reason: String,
    /// For people: lower case, names the thing and, where there is one, the cure.
    pub message: String,
    /// A JSON object of facts.
    pub detail: String,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<types::Error> for Error {
    fn from(error: types::Error) -> Self {
        let types::Error {
            code,
            reason,
            message,
            detail,
        } = error;
        Self {
            code,
            reason,
            message,
            detail,
        }
    }
}

impl From<Error> for types::Error {
    fn from(error: Error) -> Self {
        let Error {
            code,
            reason,
            message,
            detail,
        } = error;
        Self {
            code,
            reason,
            message,
            detail,
        }
    }
}

impl Error {
    /// `facts` become the members of `detail`.
    pub(crate) fn new(
        code: ErrorCode,
        reason: &str,
        message: impl Into<String>,
        facts: &[(&str, &str)],
    ) -> Self {
        let detail: serde_json::Map<_, _> = facts
            .iter()
            .map(|(name, fact)| ((*name).to_owned(), serde_json::Value::from(*fact)))
            .collect();
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            detail: serde_json::Value::Object(detail).to_string(),
        }
    }

    /// The same with one more fact.
    pub(crate) fn fact(self, name: &str, fact: impl Into<serde_json::Value>) -> Self {
        let detail = serde_json::from_str(&self.detail);
        let Ok(serde_json::Value::Object(mut facts)) = detail else {
            return self;
        };
        facts.insert(name.to_owned(), fact.into());
        let detail = serde_json::Value::Object(facts).to_string();
        Self { detail, ..self }
    }

    /// Whether `detail` has that member.
    pub(crate) fn has_fact(&self, name: &str) -> bool {
        let detail: Option<serde_json::Value> = serde_json::from_str(&self.detail).ok();
        detail.is_some_and(|detail| detail.get(name).is_some())
    }

    /// A `busy` with the fact for how long its holder has been there, at `now_ms`.
    pub(crate) fn with_age(self, now_ms: u64) -> Self {
        let since_ms = || {
            let detail: serde_json::Value = serde_json::from_str(&self.detail).ok()?;
            detail.get("holder")?.get("since")?.as_u64()
        };
        match since_ms().filter(|_| self.code == ErrorCode::Busy) {
            Some(since_ms) => self.fact("age-ms", now_ms.saturating_sub(since_ms)),
            None => self,
        }
    }

    /// A call from inside a callback of an observer.
    pub(crate) fn reentrant() -> Self {
        let message = "called from inside an observer's callback; call again after it has returned";
        Self::new(ErrorCode::Reentrant, "reentrant", message, &[])
    }

    /// The thread that runs the components has ended.
    pub(crate) fn ended() -> Self {
        let message = "the session store was shut down; build a new one";
        Self::new(ErrorCode::Unavailable, "store-shut-down", message, &[])
    }

    /// The thread that runs the components panicked in the middle of a call.
    pub(crate) fn panicked(words: &str) -> Self {
        let message = format!(
            "the thread of the session store panicked: {words}; this is a fault of annals, build a new handle and open its sessions again"
        );
        Self::new(
            ErrorCode::Unavailable,
            "store-panicked",
            message,
            &[("cause", words)],
        )
    }

    /// A component stopped in the middle of a call, or could not be called at all.
    pub(crate) fn trapped(who: &str, reason: &str, cause: &wasmtime::Error, cure: &str) -> Self {
        let cause = cause.root_cause().to_string();
        let message = format!("{who} failed: {cause}; {cure}");
        Self::new(
            ErrorCode::Unavailable,
            reason,
            message,
            &[("component", who), ("cause", &cause)],
        )
    }
}

/// What a panic said.
pub(crate) fn words_of_panic(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("it did not say why")
}
