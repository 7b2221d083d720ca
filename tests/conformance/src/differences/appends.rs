//! Appending to a session.

use annals_core::event::check_seed_line;
use serde_json::{Value, json};

use crate::ops::after_seed;
use crate::vector::{Case, items, lines, set};

/// A recorded event that no seed may hold is refused, and what follows is as if its step were not there.
pub(super) fn checked_when_appended(case: &Case) -> Option<Value> {
    if case.op != "append_script" {
        return None;
    }
    let mut expect = case.expect.clone();
    let mut log: Vec<Value> = case
        .input
        .get("seed")
        .map_or(Vec::new(), |seed| items(seed).to_vec());
    let mut has_refused = false;
    for outcome in expect.pointer_mut("/ok/steps")?.as_array_mut()? {
        let Some(answer) = outcome.get_mut("ok") else {
            continue;
        };
        if answer.get("messages").is_some() {
            if has_refused {
                *answer = shown(&log)?;
                answer.as_object_mut()?.shift_remove("requestHeader");
            }
            continue;
        }
        set(answer, "seq", log.len());
        match check_seed_line(&answer.to_string(), log.len() as u64) {
            Ok(_) => log.push(answer.clone()),
            Err(fault) => {
                let kind = fault.reason.label().replace('-', "_");
                *outcome = json!({ "error": { "kind": kind, "message": fault.message } });
                has_refused = true;
            }
        }
    }
    let end = expect.pointer_mut("/ok/final")?;
    *end = shown(&log)?;
    set(end, "seq", log.len());
    has_refused.then_some(expect)
}

fn shown(log: &[Value]) -> Option<Value> {
    after_seed(&lines(log))
}
