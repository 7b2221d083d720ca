//! The scanner against `serde_json`, and against a plain walk over the numbers of a text.

use annals_core::json::{self, JsonFaultKind, Kind, Value};
use serde_json::value::RawValue;

/// The same texts are JSON for both; a number that a double cannot carry is found where the plain walk finds it; and
/// what is read from a value is what `serde_json` reads.
pub(super) fn check(text: &str) {
    // A raw value is no string yet, so lone surrogates pass, and may be of any depth.
    let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
    match json::check(text) {
        Ok(()) => {
            assert!(is_json, "serde_json refuses it");
            assert_eq!(
                first_loss(text),
                None,
                "a number with a loss was let through"
            );
            compare(text);
        }
        Err(fault) if fault.kind == JsonFaultKind::Syntax => {
            assert!(!is_json, "serde_json takes it: {fault}");
            assert!(fault.byte <= text.len(), "{fault:?}");
        }
        Err(fault) => {
            assert!(
                is_json,
                "a text that is no JSON is that first of all: {fault}"
            );
            assert_eq!(first_loss(text), Some((fault.kind, fault.byte)));
            check_path(text, fault.byte, &fault.path);
        }
    }
}

/// The first number of a JSON text that a double cannot carry.
fn first_loss(text: &str) -> Option<(JsonFaultKind, usize)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let number = number_at(text, at);
                let value: f64 = number.parse().unwrap();
                if !value.is_finite() {
                    return Some((JsonFaultKind::Overflow, at));
                }
                if value == 0.0 && number.starts_with('-') {
                    return Some((JsonFaultKind::NegativeZero, at));
                }
                at += number.len();
            }
            _ => at += 1,
        }
    }
    None
}

fn number_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    let is_part = |char: char| char.is_ascii_digit() || "+-.eE".contains(char);
    &rest[..rest.find(|char| !is_part(char)).unwrap_or(rest.len())]
}

/// The pointer of a fault leads to the number that stands at its byte. A cut pointer and one through a name that
/// comes twice lead elsewhere.
fn check_path(text: &str, byte: usize, path: &str) {
    let Some(value) = read(text) else { return };
    let members = members_of(&value);
    if path.ends_with('…') || names_in(text) != members {
        return;
    }
    // serde_json writes exponents in its own way.
    let plain = |number: &str| number.to_lowercase().replace('+', "");
    let found = value.pointer(path).map(|found| plain(&found.to_string()));
    assert_eq!(found, Some(plain(number_at(text, byte))), "path {path}");
}

/// What `serde_json` reads, unless it is too deep, has a lone surrogate, or may be one of its own markers.
fn read(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text)
        .ok()
        .filter(|_| !text.contains("private"))
}

fn names_in(text: &str) -> usize {
    let (mut names, mut is_string, mut is_escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_string = !is_string,
            b':' if !is_string => names += 1,
            _ => {}
        }
    }
    names
}

fn members_of(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Object(members) => {
            members.len() + members.values().map(members_of).sum::<usize>()
        }
        serde_json::Value::Array(elements) => elements.iter().map(members_of).sum(),
        _ => 0,
    }
}

fn compare(text: &str) {
    let Some(theirs) = read(text) else { return };
    let ours = Value::parse(text).unwrap();
    assert_eq!(ours.text(), text.trim_matches([' ', '\t', '\r', '\n']));
    compare_values(ours, &theirs);
    let rewritten = theirs.to_string();
    let again = Value::parse(&rewritten).unwrap();
    assert!(ours.same(again), "not the same as {rewritten}");
    assert!(again.same(ours), "not the same as {rewritten}");
    assert!(ours.same_in_order(again), "not in the order of {rewritten}");
}

fn compare_values(ours: Value<'_>, theirs: &serde_json::Value) {
    match theirs {
        serde_json::Value::Null => assert!(ours.is_null()),
        serde_json::Value::Bool(value) => {
            assert_eq!(
                (ours.kind(), ours.text()),
                (Kind::Bool, value.to_string().as_str())
            );
        }
        serde_json::Value::Number(number) => {
            assert_eq!(ours.kind(), Kind::Number);
            let double: f64 = number.to_string().parse().unwrap();
            assert_eq!(ours.as_f64(), Some(double));
            let is_safe = double.fract() == 0.0 && double.abs() < 9_007_199_254_740_992.0;
            assert_eq!(ours.as_safe_integer(), is_safe.then_some(double as i64));
        }
        serde_json::Value::String(text) => {
            let said = ours.as_text().unwrap();
            assert_eq!(said.decode().as_deref(), Some(text.as_str()));
            assert!(said.is(text) && ours.is_str(text));
            assert!(!said.is(&format!("{text}x")));
            let quoted = json::quote(text);
            assert!(Value::parse(&quoted).unwrap().as_text().unwrap().same(said));
        }
        serde_json::Value::Array(elements) => {
            assert_eq!(ours.kind(), Kind::Array);
            assert_eq!(ours.elements().count(), elements.len());
            for (ours, theirs) in ours.elements().zip(elements) {
                compare_values(ours, theirs);
            }
        }
        serde_json::Value::Object(members) => {
            assert_eq!(ours.kind(), Kind::Object);
            assert!(ours.members().count() >= members.len());
            for (name, _) in ours.members() {
                assert!(members.contains_key(name.decode_lossy().as_ref()));
            }
            for (name, theirs) in members {
                compare_values(ours.get(name).unwrap(), theirs);
            }
        }
    }
}
