//! `fold_surface`, `is_surface_eligible_type`, `is_surface_event`.

use annals_core::event;
use annals_core::fault::Fault;
use annals_core::json;
use annals_core::surface::fold_surface;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Answered, Stop, field, refusal, text_field};
use crate::vector::{Case, items};

pub fn fold(case: &Case) -> Answered {
    let events = event_texts(case)?;
    let lines = |count: usize| -> String {
        let kept = events.iter().take(count);
        kept.map(|event| format!("{event}\n")).collect()
    };
    match fold_surface(&lines(events.len())) {
        Ok((nodes, replacements)) => {
            let replacements: Vec<Value> = replacements
                .iter()
                .map(|replacement| {
                    json!({
                        "seq": replacement.seq,
                        "start": replacement.start,
                        "end": replacement.end,
                        "shadowedSeqs": replacement.shadowed,
                    })
                })
                .collect();
            Ok(json!({ "nodes": nodes, "replacements": replacements }))
        }
        Err(fault) => Err(first_refused(&fault, events.len(), |count| {
            fold_surface(&lines(count)).is_ok()
        })),
    }
}

/// The rejection with the index of the first event that no longer is accepted after those before it.
fn first_refused(fault: &Fault, count: usize, accepted: impl Fn(usize) -> bool) -> Stop {
    let mut refusal = refusal(fault);
    refusal.at_index = (0..count).find(|index| !accepted(index + 1));
    Stop::Refused(refusal)
}

fn event_texts(case: &Case) -> Result<Vec<String>, Stop> {
    match case.input.get("events_text").and_then(Value::as_str) {
        Some(text) => {
            let events: Vec<&RawValue> = serde_json::from_str(text)?;
            Ok(events.iter().map(|event| event.get().to_owned()).collect())
        }
        None => Ok(items(field(&case.input, "events")?)
            .iter()
            .map(Value::to_string)
            .collect()),
    }
}

pub fn is_eligible_type(case: &Case) -> Answered {
    let name = text_field(&case.input, "type")?;
    Ok(event::is_surface_eligible_type(name).into())
}

pub fn is_event(case: &Case) -> Answered {
    let text = field(&case.input, "event")?.to_string();
    let value = json::Value::parse(&text).map_err(|fault| Stop::Misread(fault.to_string()))?;
    Ok(event::is_surface_event(value).into())
}
