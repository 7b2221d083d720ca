//! `display_prompt_content`, `find_last_message_turn_end`.

use annals_core::json;
use annals_core::prompt::{self, display_prompt};
use serde_json::Value;

use super::{Answered, Stop, field};
use crate::vector::{Case, items, lines};

pub fn display(case: &Case) -> Answered {
    let text = field(&case.input, "data")?.to_string();
    let data = json::Value::parse(&text).map_err(|fault| Stop::Misread(fault.to_string()))?;
    match display_prompt(data) {
        Some(content) => Ok(serde_json::from_str(content.text())?),
        None => Ok(Value::Null),
    }
}

pub fn last_message_turn_end(case: &Case) -> Answered {
    let events = lines(items(field(&case.input, "events")?));
    match prompt::last_message_turn_end(&events)? {
        Some(line) => Ok(serde_json::from_str(line)?),
        None => Ok(Value::Null),
    }
}
