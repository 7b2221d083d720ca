//! `check_trace`.

use serde_json::Value;

use super::{Answered, event_lines};
use crate::host::Rules;
use crate::vector::Case;

pub fn check(rules: &dyn Rules, case: &Case) -> Answered {
    rules.check_trace(&event_lines(case)?)?;
    Ok(Value::Null)
}
