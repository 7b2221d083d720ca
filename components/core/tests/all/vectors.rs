//! Reads conformance vectors, where there are some.

use serde_json::Value;

/// The cases of one suite that JSON can express; none, and a printed line, without `ANNALS_VECTORS`.
pub fn cases(suite: &str) -> Vec<Value> {
    let Some(folder) = std::env::var_os("ANNALS_VECTORS") else {
        println!("left out: vectors of {suite} (ANNALS_VECTORS is not set)");
        return Vec::new();
    };
    let path = std::path::Path::new(&folder).join(format!("{suite}.json"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut suite: Value = serde_json::from_str(&text).unwrap();
    let Value::Array(cases) = suite["cases"].take() else {
        panic!("{}: no cases", path.display())
    };
    cases
        .into_iter()
        .filter(|case| case["host_values"] != Value::Bool(true))
        .collect()
}

/// The label that a vector's error kind has here.
pub fn label(kind: &Value) -> String {
    kind.as_str().unwrap().replace('_', "-")
}

/// An array of events as JSON Lines.
pub fn lines(events: &Value) -> String {
    let events = events.as_array().map(Vec::as_slice).unwrap_or_default();
    events.iter().map(|event| format!("{event}\n")).collect()
}

/// The elements of a JSON array, as written, as JSON Lines.
pub fn elements(array_text: &str) -> String {
    let array: Vec<Box<serde_json::value::RawValue>> = serde_json::from_str(array_text).unwrap();
    array
        .iter()
        .map(|element| format!("{}\n", element.get()))
        .collect()
}

/// Whether both are the same as the vectors compare: numbers by their double, members in any order.
pub fn same(left: &Value, right: &Value) -> bool {
    let (left, right) = (left.to_string(), right.to_string());
    let parse = |text| annals_core::json::Value::parse(text).unwrap();
    parse(&left).same(parse(&right))
}

/// Standard base64 with padding.
pub fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = DIGITS.iter().position(|known| *known == byte).unwrap();
        (bits, count) = ((bits << 6) | digit as u32, count + 6);
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}

/// The folder of recorded logs, or of `dsh-logs` in it; none, said aloud, where `ANNALS_FIXTURES` is not set.
pub fn fixtures() -> Option<std::path::PathBuf> {
    let Some(folder) = std::env::var_os("ANNALS_FIXTURES").map(std::path::PathBuf::from) else {
        println!("left out: recorded logs (ANNALS_FIXTURES is not set)");
        return None;
    };
    let inner = folder.join("dsh-logs");
    Some(if inner.is_dir() { inner } else { folder })
}
