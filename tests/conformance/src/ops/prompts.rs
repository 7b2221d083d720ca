//! `display_prompt_content`, `find_last_message_turn_end`; `canonical_header`, `header_equals`, `fold_request_header`.

use serde_json::Value;

use super::{Answered, event_lines, field, maybe};
use crate::host::Rules;
use crate::vector::Case;

pub fn display(rules: &dyn Rules, case: &Case) -> Answered {
    let data = field(&case.input, "data")?.to_string();
    maybe(rules.display_prompt(&data)?)
}

pub fn last_message_turn_end(rules: &dyn Rules, case: &Case) -> Answered {
    maybe(rules.last_message_turn_end(&event_lines(case)?)?)
}

pub fn canonical_header(rules: &dyn Rules, case: &Case) -> Answered {
    let header = field(&case.input, "header")?.to_string();
    maybe(rules.canonical_header(&header)?)
}

pub fn header_equals(rules: &dyn Rules, case: &Case) -> Answered {
    let (a, b) = (field(&case.input, "a")?, field(&case.input, "b")?);
    Ok(rules.headers_equal(&a.to_string(), &b.to_string())?.into())
}

pub fn fold_request_header(rules: &dyn Rules, case: &Case) -> Answered {
    let from = case.input.get("from").map(Value::to_string);
    maybe(rules.request_header(&event_lines(case)?, from.as_deref())?)
}
