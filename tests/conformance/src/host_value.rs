//! Host values of the reference as JSON text: the nearest thing that text can express.

use serde_json::{Map, Value};

use crate::answer::Skip;

/// The text of a value of a case with `host_values`. Numbers that are no JSON become tokens that a reader must
/// refuse for the same reason: `-0`, and `1e999` for every number that is not finite.
///
/// Errors: a value that no text stands for.
pub fn text(value: &Value) -> Result<String, Skip> {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(text).collect::<Result<_, _>>()?;
            Ok(format!("[{}]", items.join(",")))
        }
        Value::Object(members) => match members.get("$js").and_then(Value::as_str) {
            Some(kind) => special(kind, members),
            None => object(members),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value.to_string()),
    }
}

fn object(members: &Map<String, Value>) -> Result<String, Skip> {
    let mut out = Vec::new();
    for (key, value) in members {
        out.push(format!("{}:{}", Value::from(key.as_str()), text(value)?));
    }
    Ok(format!("{{{}}}", out.join(",")))
}

fn special(kind: &str, members: &Map<String, Value>) -> Result<String, Skip> {
    match kind {
        "-0" => Ok("-0".to_owned()),
        "NaN" | "Infinity" => Ok("1e999".to_owned()),
        "-Infinity" => Ok("-1e999".to_owned()),
        "null-prototype" | "frozen" | "proxy" => text(members.get("value").ok_or(Skip::HostValue)?),
        "utf16" => units(members),
        "utf16-key" => Ok(format!("{{{}:1}}", units(members)?)),
        "nested" => nested(members),
        _ => Err(Skip::HostValue),
    }
}

/// A string of UTF-16 units, each of them escaped.
fn units(members: &Map<String, Value>) -> Result<String, Skip> {
    let units = members.get("units").and_then(Value::as_array);
    let mut out = String::from("\"");
    for unit in units.ok_or(Skip::HostValue)? {
        let unit = unit.as_u64().ok_or(Skip::HostValue)?;
        out.push_str(&format!("\\u{unit:04x}"));
    }
    out.push('"');
    Ok(out)
}

fn nested(members: &Map<String, Value>) -> Result<String, Skip> {
    let depth = members.get("depth").and_then(Value::as_u64);
    let depth = depth.and_then(|depth| usize::try_from(depth).ok());
    let depth = depth.ok_or(Skip::HostValue)?;
    let leaf = text(members.get("leaf").unwrap_or(&Value::Null))?;
    let (open, close) = match members.get("shape").and_then(Value::as_str) {
        Some("array") => ("[".repeat(depth), "]".repeat(depth)),
        Some("object") => ("{\"a\":".repeat(depth), "}".repeat(depth)),
        Some("mixed") => {
            let odd = depth % 2;
            let pairs = depth / 2;
            (
                "[{\"a\":".repeat(pairs) + &"[".repeat(odd),
                "]".repeat(odd) + &"}]".repeat(pairs),
            )
        }
        _ => return Err(Skip::HostValue),
    };
    Ok(format!("{open}{leaf}{close}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_text_can_express() {
        let table = [
            (
                r#"{"a":[{"$js":"-0"},{"$js":"NaN"}]}"#,
                Some(r#"{"a":[-0,1e999]}"#),
            ),
            (
                r#"{"$js":"nested","shape":"mixed","depth":3,"leaf":1}"#,
                Some(r#"[{"a":[1]}]"#),
            ),
            (r#"{"$js":"utf16","units":[55296]}"#, Some(r#""\ud800""#)),
            (r#"{"$js":"frozen","value":{"a":1}}"#, Some(r#"{"a":1}"#)),
            (r#"[{"$js":"date"}]"#, None),
        ];
        for (value, expected) in table {
            let value = serde_json::from_str(value).unwrap();
            assert_eq!(text(&value).ok().as_deref(), expected);
        }
    }
}
