//! `interrupted_turn_closers`.

use annals_core::closers::closers;
use annals_core::session::Session;
use serde_json::{Value, json};

use super::messages::header;
use super::{Answered, field, parsed, refusal};
use crate::vector::{Case, items, lines, set};

pub fn interrupted(case: &Case) -> Answered {
    let events = lines(items(field(&case.input, "events")?));
    let closers = closers(&events)?;
    let accepted = match Session::from_seed(header("s"), &format!("{events}{closers}")) {
        Ok(_) => Value::Bool(true),
        Err(fault) => json!({ "error": refusal(&fault).value() }),
    };
    let mut result = json!({
        "closers": parsed(&closers)?,
        "balanced_log_accepted_as_seed": accepted,
    });
    // What the older revision said is no part of this one's answer.
    if let Some(older) = case.expect.pointer("/ok/closers_july_13") {
        set(&mut result, "closers_july_13", older.clone());
    }
    Ok(result)
}
