//! Scripts on a backend.

use serde_json::{Map, Value, json};

use super::loads;
use crate::files;
use crate::vector::{Case, items, set};

/// The outcome of every step, those inside `concurrently` too, after `change`; none when nothing changed.
fn changed(case: &Case, mut change: impl FnMut(&Value, &Value) -> Option<Value>) -> Option<Value> {
    if case.op != "backend_script" {
        return None;
    }
    let mut expect = case.expect.clone();
    let outcomes = expect.pointer_mut("/ok/steps")?.as_array_mut()?;
    let mut has_changed = false;
    for (step, outcome) in items(case.input.get("steps")?).iter().zip(outcomes) {
        let inner = outcome.get_mut("ok").and_then(Value::as_array_mut);
        match (step.get("steps"), inner) {
            (Some(steps), Some(outcomes)) => {
                for (step, outcome) in items(steps).iter().zip(outcomes) {
                    has_changed |= replaced(outcome, change(step, outcome));
                }
            }
            _ => has_changed |= replaced(outcome, change(step, outcome)),
        }
    }
    has_changed.then_some(expect)
}

fn replaced(outcome: &mut Value, by: Option<Value>) -> bool {
    match by {
        Some(value) if value != *outcome => {
            *outcome = value;
            true
        }
        _ => false,
    }
}

fn error(kind: &str) -> Option<Value> {
    Some(json!({ "error": { "kind": kind, "message": "" } }))
}

fn kind(outcome: &Value) -> Option<&str> {
    outcome.pointer("/error/kind")?.as_str()
}

pub(super) fn one_label(case: &Case) -> Option<Value> {
    changed(case, |step, outcome| match kind(outcome)? {
        "create_already_tracked" | "create_already_persisted" => error("session_already_exists"),
        // the recorded label depends on whether the log was loaded before, not on what is different
        "live_collision" | "live_collision_seed" => {
            let has_one = has_one_header(case, step.get("as")?);
            error(if has_one {
                "live_collision_seed"
            } else {
                "live_collision"
            })
        }
        damage if damage.starts_with("log_") && step.get("op")? == "create" => {
            error("session_already_exists")
        }
        "meta_not_json" => error("header_not_json"),
        "append_batch_not_json" => error("append_data_not_json"),
        _ => None,
    })
}

/// Whether the session that a step makes live has the header that another step stored under its id.
fn has_one_header(case: &Case, id: &Value) -> bool {
    let created_at = |value: &Value| value.get("createdAt").cloned();
    let steps = || case.input.get("steps").map_or(&[][..], items).iter();
    let live = steps()
        .filter(|step| step.get("as") == Some(id))
        .find_map(|step| created_at(step.get("meta")?));
    let mut stored = steps().filter_map(|step| {
        let written = files::given(step).and_then(|bytes| loads::header_members(&bytes));
        let header = written
            .map(Value::Object)
            .or_else(|| step.get("meta").cloned())?;
        (header.get("id") == Some(id)).then(|| created_at(&header))
    });
    stored.any(|stored| stored == live)
}

pub(super) fn seq_may_be_absent(case: &Case) -> Option<Value> {
    changed(case, |step, outcome| {
        let lacks_seq = |event: &Value| event.get("seq").is_none();
        let is_refused = kind(outcome)? == "append_seq_mismatch";
        let absent = is_refused && items(step.get("events")?).iter().any(lacks_seq);
        absent.then(|| json!({ "ok": null }))
    })
}

pub(super) fn checked_when_appended(case: &Case) -> Option<Value> {
    const MEMBERS: [&str; 6] = [
        "type",
        "seq",
        "time",
        "data",
        "surfaceOp",
        "sourceEventSeqs",
    ];
    let is_event = |event: &Value| {
        let members = event.as_object();
        members.is_some_and(|members| {
            let is_known = members.keys().all(|name| MEMBERS.contains(&name.as_str()));
            is_known && members.contains_key("type") && members.contains_key("data")
        })
    };
    let appends = items(case.input.get("steps")?).iter();
    let is_only = appends
        .filter(|step| step.get("op") == Some(&json!("append")))
        .count()
        == 1;
    let mut is_refused = false;
    changed(case, |step, outcome| match step.get("op")?.as_str()? {
        "append" if outcome.get("ok").is_some() && is_only => {
            is_refused = !items(step.get("events")?).iter().all(is_event);
            if is_refused {
                error("append_envelope_invalid")
            } else {
                None
            }
        }
        "files" | "list" if is_refused => Some(json!({ "ok": [] })),
        "load" if is_refused => error("session_not_found"),
        _ => None,
    })
}

pub(super) fn judged_listing(case: &Case) -> Option<Value> {
    changed(case, |step, outcome| {
        let listed = outcome.get("ok")?.as_array()?;
        let is_read = |header: &&Value| header.get("version").and_then(Value::as_f64) == Some(0.0);
        let kept: Vec<Value> = listed.iter().filter(is_read).cloned().collect();
        (step.get("op")? == "list").then(|| json!({ "ok": kept }))
    })
}

pub(super) fn long_names(case: &Case) -> Option<Value> {
    changed(case, |_, outcome| {
        (kind(outcome)? == "io_name_too_long").then(|| json!({ "ok": null }))
    })
}

pub(super) fn newer_closers(case: &Case) -> Option<Value> {
    let given = case.input.to_string();
    changed(case, |step, outcome| match step.get("op")?.as_str()? {
        "load" => {
            let mut outcome = outcome.clone();
            for event in outcome.pointer_mut("/ok/events")?.as_array_mut()? {
                if !given.contains(&event.to_string()) {
                    *event = newer(event);
                }
            }
            Some(outcome)
        }
        "files" => each_file(outcome, |text| {
            let lines = text.split_inclusive('\n').map(|line| {
                let quoted = Value::from(line.trim_end()).to_string();
                match serde_json::from_str::<Value>(line) {
                    Ok(event) if !given.contains(quoted.trim_matches('"')) => {
                        format!("{}\n", newer(&event))
                    }
                    _ => line.to_owned(),
                }
            });
            files::comparable(&lines.collect::<String>())
        }),
        _ => None,
    })
}

/// A closer of the older revision in the words of the newer one. The older one, too, says which call was recorded.
fn newer(event: &Value) -> Value {
    let mut event = event.clone();
    if event.pointer("/data/error/name") != Some(&json!("InterruptedError")) {
        return event;
    }
    let (text, name, code) = match event.get("sourceEventSeqs") {
        Some(_) => (
            "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is \
             unknown. Decide whether to retry from the tool semantics: retry only if the operation is read-only or \
             idempotent; if it may have side effects, first verify external state or ask the user. Do not retry \
             blindly.",
            "ToolOutcomeUnknownError",
            "TOOL_OUTCOME_UNKNOWN",
        ),
        None => (
            "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.",
            "ToolNotStartedError",
            "TOOL_NOT_STARTED",
        ),
    };
    if let Some(data) = event.get_mut("data") {
        set(data, "content", json!([{ "type": "text", "text": text }]));
        set(data, "error", json!({ "name": name, "code": code }));
    }
    event
}

/// `files` with the text of each file after `change`.
fn each_file(outcome: &Value, change: impl Fn(&str) -> String) -> Option<Value> {
    let mut outcome = outcome.clone();
    for file in outcome.get_mut("ok")?.as_array_mut()? {
        if let Some(text) = file.get("utf8").and_then(Value::as_str).map(&change) {
            set(file, "utf8", text);
        }
    }
    Some(outcome)
}

pub(super) fn header_members_kept(case: &Case) -> Option<Value> {
    let mut given: Vec<Map<String, Value>> = Vec::new();
    for step in items(case.input.get("steps")?) {
        let mut meta = step.get("meta").and_then(Value::as_object).cloned();
        if let (Some(meta), Some(id)) = (&mut meta, step.get("id")) {
            meta.insert("id".to_owned(), id.clone());
        }
        let written = files::given(step).and_then(|bytes| loads::header_members(&bytes));
        given.extend(meta.or(written));
    }
    let completed = |header: &Value| {
        let mut header = header.clone();
        let meta = given.iter().find(|meta| meta.get("id") == header.get("id"));
        if let (Some(meta), Some(header)) = (meta, header.as_object_mut()) {
            for (name, value) in meta {
                header.entry(name.as_str()).or_insert_with(|| value.clone());
            }
        }
        header
    };
    changed(case, |step, outcome| match step.get("op")?.as_str()? {
        "load" => {
            let mut outcome = outcome.clone();
            let meta = outcome.pointer_mut("/ok/meta")?;
            *meta = completed(meta);
            Some(outcome)
        }
        "list" => {
            let listed = outcome.get("ok")?.as_array()?;
            Some(json!({ "ok": listed.iter().map(completed).collect::<Vec<_>>() }))
        }
        "files" => each_file(outcome, |text| match text.split_once('\n') {
            Some((line, rest)) => match serde_json::from_str::<Value>(line) {
                Ok(header) if completed(&header) != header => {
                    format!("{}\n{rest}", completed(&header))
                }
                _ => text.to_owned(),
            },
            None => text.to_owned(),
        }),
        _ => None,
    })
}
