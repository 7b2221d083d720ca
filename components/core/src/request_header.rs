//! The request header: everything of a model request but the history, as the log records it.
//!
//! A `request/header` event holds a whole snapshot, so the newest one is the present one; nothing is merged.

use crate::event::Envelope;
use crate::fault::{Fault, Reason};
use crate::json::Value;

/// The type of the events that hold a snapshot.
pub const REQUEST_HEADER: &str = "request/header";

/// The canonical form of a request header, as the text of one JSON object: `config` as written, then `system`,
/// `tools` and `messagePrefix` where they are not empty; other members are dropped. None when there is no `config`.
pub fn canonical(header: Value<'_>) -> Option<String> {
    let mut out = format!("{{\"config\":{}", header.get("config")?.text());
    for name in ["system", "tools", "messagePrefix"] {
        if let Some(value) = non_empty(header, name) {
            out.push_str(&format!(",\"{name}\":{}", value.text()));
        }
    }
    out.push('}');
    Some(out)
}

fn non_empty<'a>(header: Value<'a>, name: &str) -> Option<Value<'a>> {
    header.get(name).filter(|value| !is_empty(*value))
}

fn is_empty(value: Value<'_>) -> bool {
    value.is_null()
        || value.is_str("")
        || (value.text().starts_with('[') && value.elements().next().is_none())
}

/// Whether two headers, each in its canonical form, ask for the same: a change between them needs a new snapshot.
///
/// `config` and `system` compare by value, an absent member differs from an empty one. `tools` and `messagePrefix` go
/// to the model as text, so the order of names counts in them; absent and empty are one. Other members do not count.
pub fn headers_equal(a: Value<'_>, b: Value<'_>) -> bool {
    let by_value = |name| match (a.get(name), b.get(name)) {
        (Some(a), Some(b)) => a.same(b),
        (a, b) => a.is_none() && b.is_none(),
    };
    let as_written = |name| match (non_empty(a, name), non_empty(b, name)) {
        (Some(a), Some(b)) => a.same_in_order(b),
        (a, b) => a.is_none() && b.is_none(),
    };
    by_value("config") && by_value("system") && as_written("tools") && as_written("messagePrefix")
}

/// The request header after event lines, in its canonical form: the newest of their snapshots, else `from`, the
/// canonical one before them.
///
/// Lines of other types, packed rows too, and lines that are no JSON are passed over. Fails as [`of_event`] does at
/// the newest `request/header`.
pub fn fold_request_header(lines: &str, from: Option<&str>) -> Result<Option<String>, Fault> {
    for line in lines.lines().rev() {
        let Ok(event) = Envelope::read(line) else {
            continue;
        };
        if event.is_type(REQUEST_HEADER) {
            return of_event(&event).map(Some);
        }
    }
    Ok(from.map(str::to_owned))
}

/// The header that a `request/header` event holds, in its canonical form.
///
/// Fails with [`Reason::SeedHeaderWithoutProviderModel`] when it holds no header with a config.
pub fn of_event(event: &Envelope<'_>) -> Result<String, Fault> {
    let header = event.data.and_then(|data| data.get("header"));
    header.and_then(canonical).ok_or_else(|| {
        Fault::new(
            Reason::SeedHeaderWithoutProviderModel,
            "the newest request/header holds no header with a config; append a whole one",
        )
    })
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
        let newest = |lines: &str| fold_request_header(lines, None).map_err(|fault| fault.reason);
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
