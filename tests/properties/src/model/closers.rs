//! What a crash left open, and the events that close it.

use super::Event;
use crate::json::Json;

const NOT_STARTED: (&str, &str, &str) = (
    "ToolNotStartedError",
    "TOOL_NOT_STARTED",
    "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.",
);
const OUTCOME_UNKNOWN: (&str, &str, &str) = (
    "ToolOutcomeUnknownError",
    "TOOL_OUTCOME_UNKNOWN",
    "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is unknown. Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it may have side effects, first verify external state or ask the user. Do not retry blindly.",
);

/// A call that waits for its result.
struct Call {
    id: Json,
    step: Option<Json>,
}

/// The events of the last turn, if it has not ended.
fn open_turn(events: &[Event]) -> Option<(&Json, &[Event])> {
    let is_edge = |event: &Event| event.kind == "turn/start" || event.kind == "turn/end";
    let at = events.iter().rposition(is_edge)?;
    let turn = events[at].data.get("turn");
    (events[at].kind == "turn/start").then_some((turn?, &events[at + 1..]))
}

/// Whether the last turn has no end.
pub fn has_open_turn(events: &[Event]) -> bool {
    open_turn(events).is_some()
}

/// The lines that close the last turn: a result for each call that waits for one, the end of the step and of the turn.
pub fn closers(events: &[Event]) -> Vec<String> {
    let Some((turn, tail)) = open_turn(events) else {
        return Vec::new();
    };
    let after = tail
        .iter()
        .rposition(|event| event.kind == "step/end")
        .map_or(0, |at| at + 1);
    let tail = &tail[after..];
    let starts = tail.iter().rev().find(|event| event.kind == "step/start");
    let step = starts.and_then(|event| event.data.get("step"));
    let (next_seq, time_ms) = (events.len(), events[events.len() - 1].time_ms);
    let mut out = Vec::new();
    let mut push = |kind: &str, data: String, surface: &str| {
        let seq = next_seq + out.len();
        out.push(format!(
            r#"{{"type":"{kind}","seq":{seq},"time":{time_ms},"data":{{"turn":{}{data}}}{surface}}}"#,
            turn.text()
        ));
    };
    let in_step = |step: Option<&Json>| {
        step.map_or(String::new(), |step| format!(r#","step":{}"#, step.text()))
    };
    for call in waiting(tail) {
        let started = started(tail, &call.id);
        let (name, code, text) = if started.is_some() {
            OUTCOME_UNKNOWN
        } else {
            NOT_STARTED
        };
        let data = format!(
            r#"{},"callId":{},"content":[{{"type":"text","text":"{text}"}}],"isError":true,"error":{{"name":"{name}","code":"{code}"}}"#,
            in_step(call.step.as_ref()),
            call.id.text()
        );
        let sources = started.map_or(String::new(), |seq| {
            format!(r#","sourceEventSeqs":[{seq}]"#)
        });
        push(
            "tool/result",
            data,
            &format!(r#"{sources},"surfaceOp":"append""#),
        );
    }
    if step.is_some() {
        push("step/end", in_step(step), "");
    }
    push(
        "turn/end",
        r#","reason":{"kind":"interrupted"}"#.to_owned(),
        "",
    );
    out
}

/// Calls in the order in which they were asked for; one asked for again keeps its place.
fn waiting(tail: &[Event]) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for event in tail {
        if event.kind == "tool/result" {
            let id = event.data.get("callId").and_then(Json::units);
            calls.retain(|call| id.is_none() || call.id.units() != id);
        }
        if event.kind != "assistant/message" {
            continue;
        }
        for block in event.data.get("content").map_or(&[][..], Json::elements) {
            let is_call = block.get("type").is_some_and(|kind| kind.says("tool-call"));
            let Some(id) = block.get("id").filter(|id| is_call && id.units().is_some()) else {
                continue;
            };
            let call = Call {
                id: id.clone(),
                step: event.data.get("step").cloned(),
            };
            match calls
                .iter_mut()
                .find(|known| known.id.units() == id.units())
            {
                Some(known) => *known = call,
                None => calls.push(call),
            }
        }
    }
    calls
}

/// The newest record that the call began, after its last result.
fn started(tail: &[Event], id: &Json) -> Option<u64> {
    let is_of = |event: &Event| event.data.get("callId").and_then(Json::units) == id.units();
    let mut edges = tail
        .iter()
        .rev()
        .filter(|event| matches!(event.kind.as_str(), "tool/call" | "tool/result"));
    let newest = edges.find(|event| is_of(event))?;
    (newest.kind == "tool/call").then_some(newest.seq)
}
