//! `fold_surface`, `is_surface_eligible_type`, `is_surface_event`.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Answered, Stop, event_lines, field, text_field};
use crate::host::Rules;
use crate::vector::Case;

pub fn fold(rules: &dyn Rules, case: &Case) -> Answered {
    let fold = rules.fold_surface(&texts(case)?)?;
    let replacements = fold.replacements.into_iter().map(|replacement| {
        json!({
            "seq": replacement.seq,
            "start": replacement.start,
            "end": replacement.end,
            "shadowedSeqs": replacement.shadowed,
        })
    });
    Ok(json!({ "nodes": fold.nodes, "replacements": replacements.collect::<Vec<_>>() }))
}

fn texts(case: &Case) -> Result<String, Stop> {
    match case.input.get("events_text").and_then(Value::as_str) {
        Some(text) => {
            let events: Vec<&RawValue> = serde_json::from_str(text)?;
            Ok(events.iter().map(|event| format!("{event}\n")).collect())
        }
        None => event_lines(case),
    }
}

pub fn is_eligible_type(rules: &dyn Rules, case: &Case) -> Answered {
    let name = text_field(&case.input, "type")?;
    Ok(rules.is_surface_type(name)?.into())
}

pub fn is_event(rules: &dyn Rules, case: &Case) -> Answered {
    let event = field(&case.input, "event")?.to_string();
    Ok(rules.is_surface_event(&event)?.into())
}
