//! The request header: everything of a model request but the history, as the log records it.
//!
//! A `request/header` event holds a whole snapshot, so the newest one is the present one; nothing is merged.

use crate::fault::{Fault, Reason};
use crate::json::Value;

/// The canonical form of a request header, as the text of one JSON object: `config` as written, then `system`,
/// `tools` and `messagePrefix` where they are not empty; other members are dropped. None when there is no `config`.
pub fn canonical(header: Value<'_>) -> Option<String> {
    let mut out = format!("{{\"config\":{}", header.get("config")?.text());
    for name in ["system", "tools", "messagePrefix"] {
        if let Some(value) = header.get(name).filter(|value| !is_empty(*value)) {
            out.push_str(&format!(",\"{name}\":{}", value.text()));
        }
    }
    out.push('}');
    Some(out)
}

fn is_empty(value: Value<'_>) -> bool {
    value.is_null()
        || value.is_str("")
        || (value.text().starts_with('[') && value.elements().next().is_none())
}

/// The newest request header of event lines in its canonical form; none when no event is a `request/header`.
///
/// Lines of other types, and lines that are no JSON, are passed over. Fault: the newest `request/header` has no
/// header with a config.
pub fn newest(lines: &str) -> Result<Option<String>, Fault> {
    for line in lines.lines().rev() {
        let Ok(event) = Value::parse(line) else {
            continue;
        };
        if !event
            .get("type")
            .is_some_and(|name| name.is_str("request/header"))
        {
            continue;
        }
        let header = event.get("data").and_then(|data| data.get("header"));
        return match header.and_then(canonical) {
            Some(text) => Ok(Some(text)),
            None => Err(Fault::new(
                Reason::SeedHeaderWithoutProviderModel,
                "the newest request/header holds no header with a config",
            )),
        };
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_snapshot_wins_whole() {
        let line = |header: &str| {
            format!("{{\"type\":\"request/header\",\"data\":{{\"header\":{header}}}}}\n")
        };
        let first = line(r#"{"config":{"model":"m"},"system":"s","tools":[1]}"#);
        let second = line(r#"{"x":1,"messagePrefix":[],"system":"","config":{"model":"n"}}"#);
        let other = "{\"type\":\"turn/end\",\"data\":{}}\n";
        let newest = |lines: &str| newest(lines).map_err(|fault| fault.reason);
        assert_eq!(newest(other), Ok(None));
        let log = format!("{first}{other}");
        let whole = r#"{"config":{"model":"m"},"system":"s","tools":[1]}"#;
        assert_eq!(newest(&log), Ok(Some(whole.to_owned())));
        let log = format!("{first}{second}{other}");
        assert_eq!(
            newest(&log),
            Ok(Some(r#"{"config":{"model":"n"}}"#.to_owned()))
        );
        let log = format!("{second}{{\"type\":\"request/header\",\"data\":\"x\"}}\n");
        assert_eq!(newest(&log), Err(Reason::SeedHeaderWithoutProviderModel));
    }
}
