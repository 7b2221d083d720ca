//! `pack_chunk_runs`, `decode_storage_record`.

use serde_json::{Value, json};

use super::{Answered, event_lines, field, parsed};
use crate::host::Rules;
use crate::vector::Case;

pub fn pack(rules: &dyn Rules, case: &Case) -> Answered {
    let events = event_lines(case)?;
    let records = rules.pack(&events)?;
    Ok(json!({
        "records": parsed(&records)?,
        "round_trips": rules.unpack(&records)? == events,
    }))
}

pub fn decode(rules: &dyn Rules, case: &Case) -> Answered {
    let text = match case.input.get("value_text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => field(&case.input, "value")?.to_string(),
    };
    let events = rules.unpack(&format!("{text}\n"))?;
    Ok(json!({ "events": parsed(&events)? }))
}
