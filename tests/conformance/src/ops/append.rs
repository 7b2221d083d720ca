//! `append_script`.

use serde_json::{Value, json};

use super::construct::add_request_header;
use super::messages::history;
use super::{Answered, NOW_MS, Stop, field, parsed, seeded, text_field};
use crate::host::{Host, Sessions};
use crate::host_value;
use crate::vector::{Case, items, lines, set};

pub fn script<H: Host>(host: &H, case: &Case) -> Answered {
    let seed = lines(case.input.get("seed").map_or(&[][..], items));
    let mut store = host.alone()?;
    let key = seeded(&mut store, &seed)?;
    let mut steps = Vec::new();
    for (step, number) in items(field(&case.input, "steps")?).iter().zip(1..) {
        if step.get("derive").is_some() {
            steps.push(json!({ "ok": history(&mut store, &key)? }));
            continue;
        }
        let appended = store.append(&key, &line(step)?, NOW_MS + 1000 * number);
        steps.push(match appended {
            Ok(lines) => json!({ "ok": parsed(&lines)?.first() }),
            Err(Stop::Refused(refusal)) => json!({ "error": refusal.value() }),
            Err(stop) => return Err(stop),
        });
    }
    let mut shown = end(host, &mut store, &key)?;
    set(&mut shown, "seq", store.next_seq(&key)?);
    Ok(json!({ "steps": steps, "final": shown }))
}

/// What a session shows at the end of a script, its seq excepted.
pub(super) fn end<H: Host, S: Sessions>(host: &H, store: &mut S, key: &S::Key) -> Answered {
    let mut shown = history(store, key)?;
    add_request_header(host, &mut shown, store, key)?;
    Ok(shown)
}

/// The step as a line for `append`.
pub(super) fn line(step: &Value) -> Result<String, Stop> {
    let mut line = format!("{{\"type\":{}", Value::from(text_field(step, "type")?));
    if let Some(data) = step.get("data") {
        line.push_str(&format!(",\"data\":{}", host_value::text(data)?));
    }
    let options = step.get("opts").and_then(Value::as_object);
    for (name, value) in options.into_iter().flatten() {
        line.push_str(&format!(",\"{name}\":{}", host_value::text(value)?));
    }
    line.push_str("}\n");
    Ok(line)
}
