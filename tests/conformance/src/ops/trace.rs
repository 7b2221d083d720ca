//! `check_trace`.

use annals_core::trace::check_trace;
use serde_json::Value;

use super::{Answered, Stop, field, refusal};
use crate::vector::{Case, items, lines};

pub fn check(case: &Case) -> Answered {
    let events = lines(items(field(&case.input, "events")?));
    check_trace(&events).map_err(|fault| {
        let mut refusal = refusal(&fault);
        let index = fault.number_of("index");
        refusal.at_index = index.and_then(|index| usize::try_from(index).ok());
        Stop::Refused(refusal)
    })?;
    Ok(Value::Null)
}
