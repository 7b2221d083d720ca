//! What running a case gave, and whether it is what was expected.

use serde_json::{Value, json};

use crate::canonical::canonical;
use crate::vector::set;

/// What the code under test said to one case.
pub enum Answer {
    /// A result in the shape of `expect.ok`.
    Ok(Value),
    /// A rejection.
    Refused(Refusal),
    /// Not run.
    Skipped(Skip),
}

/// A rejection: the label in the vectors' spelling, and the words for people.
#[derive(Debug)]
pub struct Refusal {
    /// What was wrong, snake case as in the vectors.
    pub kind: String,
    /// For people; never compared.
    pub message: String,
    /// Index of the first offending event, where the adapter found it.
    pub at_index: Option<usize>,
}

impl Refusal {
    /// From a reason in Annals' spelling, `seed-not-json`.
    pub fn new(reason: &str, message: impl Into<String>) -> Self {
        Self {
            kind: reason.replace('-', "_"),
            message: message.into(),
            at_index: None,
        }
    }

    /// From a record of the interface, `detail` being its JSON object of facts.
    pub fn of_record(reason: &str, message: &str, detail: &str) -> Self {
        let facts: Value = serde_json::from_str(detail).unwrap_or_default();
        let index = facts.get("index").and_then(Value::as_u64);
        Self {
            at_index: index.and_then(|index| usize::try_from(index).ok()),
            ..Self::new(reason, message)
        }
    }

    /// As it stands in an `expect`.
    pub fn value(&self) -> Value {
        let mut value = json!({ "kind": self.kind, "message": self.message });
        if let Some(index) = self.at_index {
            set(&mut value, "at_index", index);
        }
        value
    }
}

/// Why there is no answer in the shape of `expect.ok`.
#[derive(Debug)]
pub enum Stop {
    /// A rejection.
    Refused(Refusal),
    /// Not run.
    Skipped(Skip),
    /// The case or the answer has a shape that the runner does not know.
    Misread(String),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Skip> for Stop {
    fn from(skip: Skip) -> Self {
        Self::Skipped(skip)
    }
}

impl From<serde_json::Error> for Stop {
    fn from(error: serde_json::Error) -> Self {
        Self::Misread(error.to_string())
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Misread(error.to_string())
    }
}

impl From<Result<Value, Stop>> for Answer {
    fn from(answered: Result<Value, Stop>) -> Self {
        match answered {
            Ok(value) => Self::Ok(value),
            Err(Stop::Refused(refusal)) => Self::Refused(refusal),
            Err(Stop::Skipped(skip)) => Self::Skipped(skip),
            Err(Stop::Misread(words)) => Self::Refused(Refusal::new("runner", words)),
        }
    }
}

/// Why a case was not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// The input has a host value that Rust cannot express.
    HostValue,
    /// A listener calls the store that calls it, which no component can be.
    Callback,
    /// A session in no list is asked something; the library only lets it enter.
    Prepared,
    /// Nothing answers this operation.
    NoRunner,
}

impl Skip {
    /// Whether only this way of linking cannot run the case.
    pub fn is_of_border(self) -> bool {
        matches!(self, Self::Callback | Self::Prepared)
    }

    /// For the report.
    pub fn reason(self) -> &'static str {
        match self {
            Self::HostValue => "host value that Rust cannot express",
            Self::Callback => "across a component border a listener only returns",
            Self::Prepared => "a session in no list, which the library has no call for",
            Self::NoRunner => "no runner for this operation",
        }
    }
}

/// Whether the answer is the expected one. Kinds are matched, words are not.
pub fn agrees(expect: &Value, answer: &Answer) -> bool {
    match (expect.get("ok"), expect.get("error"), answer) {
        (Some(expected), None, Answer::Ok(actual)) => same(expected, actual),
        (None, Some(expected), Answer::Refused(actual)) => {
            let index = expected.get("at_index").and_then(Value::as_u64);
            let index_agrees = match (index, actual.at_index) {
                (Some(expected), Some(actual)) => usize::try_from(expected) == Ok(actual),
                (Some(_), None) => false,
                (None, _) => true,
            };
            kind_agrees(expected, &actual.kind) && index_agrees
        }
        _ => false,
    }
}

/// Like [`agrees`], and the order of keys counts, too: the value is what is written to a file.
pub fn agrees_in_order(expect: &Value, answer: &Answer) -> bool {
    let in_order = match (expect.get("ok"), answer) {
        (Some(expected), Answer::Ok(actual)) => {
            canonical(&expected.to_string()) == canonical(&actual.to_string())
        }
        _ => true,
    };
    in_order && agrees(expect, answer)
}

/// The reference tripped over a shape there that it never validates: any rejection will do.
fn kind_agrees(expected: &Value, kind: &str) -> bool {
    let expected = expected.get("kind").and_then(Value::as_str);
    expected == Some(kind) || expected == Some("host_type_error")
}

/// Equality as the vectors define it: numbers as doubles, key order free, rejections by kind.
pub fn same(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(a), Value::Number(b)) => double(a) == double(b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same_member(key, a, b)))
        }
        (a, b) => a == b,
    }
}

fn same_member(key: &str, expected: &Value, actual: &Value) -> bool {
    let named = key == "error" || key == "requestHeaderError";
    match (error_kind(expected), error_kind(actual)) {
        (Some(_), Some(kind)) if named => kind_agrees(expected, kind),
        _ => same(expected, actual),
    }
}

/// The kind of a rejection inside a result: `{kind, message}`. A member `error` of an event has no kind.
fn error_kind(value: &Value) -> Option<&str> {
    let members = value.as_object()?;
    members.get("message")?.as_str()?;
    members.get("kind")?.as_str()
}

fn double(number: &serde_json::Number) -> Option<f64> {
    number.to_string().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_doubles_and_kinds_are_what_counts() {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert!(same(
            &value(r#"{"a":1.0,"b":[1e2]}"#),
            &value(r#"{"b":[100],"a":1}"#)
        ));
        assert!(!same(&value(r#"{"a":null}"#), &value("{}")));
        let expected = value(r#"{"error":{"kind":"a_b","message":"x"}}"#);
        assert!(same(
            &expected,
            &value(r#"{"error":{"kind":"a_b","message":"y"}}"#)
        ));
        assert!(!same(
            &expected,
            &value(r#"{"error":{"kind":"a_c","message":"x"}}"#)
        ));
        assert!(agrees(
            &expected,
            &Answer::Refused(Refusal::new("a-b", "z"))
        ));
        assert!(!agrees(&expected, &Answer::Ok(Value::Null)));
    }
}
