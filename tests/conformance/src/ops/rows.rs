//! `pack_chunk_runs`, `decode_storage_record`.

use annals_core::chunk_rows::{expand_row, is_row, pack as pack_lines, unpack};
use annals_core::event::Envelope;
use annals_core::json;
use serde_json::{Value, json};

use super::{Answered, Stop, field, parsed};
use crate::vector::{Case, items, lines};

pub fn pack(case: &Case) -> Answered {
    let events = lines(items(field(&case.input, "events")?));
    let records = pack_lines(&events)?;
    Ok(json!({
        "records": parsed(&records)?,
        "round_trips": unpack(&records)? == events,
    }))
}

pub fn decode(case: &Case) -> Answered {
    let text = match case.input.get("value_text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => field(&case.input, "value")?.to_string(),
    };
    let value = json::Value::parse(&text).map_err(|fault| Stop::Misread(fault.to_string()))?;
    let mut events = String::new();
    if is_row(&Envelope::of(value)) {
        expand_row(value, &mut events)?;
    } else {
        events.push_str(value.text());
    }
    Ok(json!({ "events": parsed(&events)? }))
}
