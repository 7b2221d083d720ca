//! `append_script`.

use annals_core::session::Session;
use serde_json::{Value, json};

use super::construct::{NOW_MS, add_request_header};
use super::messages::{header, history};
use super::{Answered, Stop, field, parsed, refusal, text_field};
use crate::host_value;
use crate::vector::{Case, items, lines, set};

pub fn script(case: &Case) -> Answered {
    let seed = lines(case.input.get("seed").map_or(&[][..], items));
    let mut session = Session::from_seed(header("s"), &seed)?;
    let mut steps = Vec::new();
    for (step, number) in items(field(&case.input, "steps")?).iter().zip(1..) {
        if step.get("derive").is_some() {
            steps.push(json!({ "ok": history(&mut session)? }));
            continue;
        }
        steps.push(match session.append(&line(step)?, NOW_MS + 1000 * number) {
            Ok(appended) => json!({ "ok": parsed(&appended.lines)?.first() }),
            Err(fault) => json!({ "error": refusal(&fault).value() }),
        });
    }
    let mut end = history(&mut session)?;
    set(&mut end, "seq", session.next_seq());
    add_request_header(&mut end, &session)?;
    Ok(json!({ "steps": steps, "final": end }))
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
