//! The events of the story, as an agent loop would append them.

use serde_json::{Error, Value, json};

fn event(event_type: &str, data: &Value) -> String {
    format!("{}\n", json!({"type": event_type, "data": data}))
}

fn on_surface(event_type: &str, data: &Value) -> String {
    format!(
        "{}\n",
        json!({"type": event_type, "data": data, "surfaceOp": "append"})
    )
}

fn turn_start(turn: u32) -> String {
    event(
        "turn/start",
        &json!({"turn": turn, "trigger": {"kind": "message", "source": {"kind": "user"}}}),
    )
}

fn turn_end(turn: u32) -> String {
    event(
        "turn/end",
        &json!({"turn": turn, "reason": {"kind": "completed"}}),
    )
}

fn step(edge: &str, turn: u32, step: u32) -> String {
    event(
        &format!("step/{edge}"),
        &json!({"turn": turn, "step": step}),
    )
}

fn user(text: &str) -> String {
    on_surface(
        "user/message",
        &json!({"content": [{"type": "text", "text": text}], "source": {"kind": "user"}}),
    )
}

fn assistant(turn: u32, step: u32, content: &Value) -> String {
    let provenance = json!({"provider": "demo", "model": "demo-1"});
    let data = json!({"turn": turn, "step": step, "content": content, "provenance": provenance});
    on_surface("assistant/message", &data)
}

fn call(id: &str, command: &str) -> Value {
    let arguments = json!({"command": command}).to_string();
    json!({"type": "tool-call", "id": id, "name": "shell", "arguments": arguments})
}

fn tool_call(turn: u32, step: u32, id: &str, command: &str) -> String {
    let arguments = json!({"command": command}).to_string();
    event(
        "tool/call",
        &json!({"turn": turn, "step": step, "callId": id, "name": "shell", "arguments": arguments}),
    )
}

fn tool_result(turn: u32, step: u32, id: &str, text: &str) -> String {
    let content = json!([{"type": "text", "text": text}]);
    let data =
        json!({"turn": turn, "step": step, "callId": id, "content": content, "isError": false});
    on_surface("tool/result", &data)
}

/// What the recorder appends, one batch at a time. The last batch starts a tool that never answers.
pub fn recorded() -> Vec<String> {
    vec![
        [
            turn_start(1),
            user("Why does the contact page answer 404?"),
            step("start", 1, 1),
            assistant(1, 1, &json!([call("c1", "grep -n contact routes.txt")])),
            tool_call(1, 1, "c1", "grep -n contact routes.txt"),
        ]
        .concat(),
        [
            tool_result(1, 1, "c1", "17: /contcat -> contact.html"),
            step("end", 1, 1),
            step("start", 1, 2),
            assistant(
                1,
                2,
                &json!([{"type": "text", "text": "Line 17 of routes.txt has a typo: /contcat."}]),
            ),
            step("end", 1, 2),
            turn_end(1),
        ]
        .concat(),
        [
            turn_start(2),
            user("Fix it and publish the site."),
            step("start", 2, 1),
            assistant(
                2,
                1,
                &json!([
                    call("c2", "sed -i s/contcat/contact/ routes.txt"),
                    call("c3", "publish")
                ]),
            ),
            tool_call(2, 1, "c2", "sed -i s/contcat/contact/ routes.txt"),
            tool_result(2, 1, "c2", "done"),
            tool_call(2, 1, "c3", "publish"),
        ]
        .concat(),
    ]
}

/// One message in the place of the surface entries `summarised`, which it names as its sources.
pub fn compaction(summarised: &[u64]) -> Result<String, Error> {
    let text = "Summary: /contact answered 404 because of a typo in line 17 of routes.txt.";
    let (start, end) = (summarised.first(), summarised.last());
    let line = json!({
        "type": "user/message",
        "data": {"content": [{"type": "text", "text": text}], "source": {"kind": "plugin", "plugin": "compact"}},
        "surfaceOp": {"op": "replace", "start": start, "end": end},
        "sourceEventSeqs": summarised,
    });
    serde_json::to_string(&line).map(|line| line + "\n")
}

/// A turn without a tool.
pub fn last_turn() -> String {
    [
        turn_start(3),
        user("Was it published?"),
        step("start", 3, 1),
        assistant(
            3,
            1,
            &json!([{"type": "text", "text": "Nobody knows yet. I will look before I try again."}]),
        ),
        step("end", 3, 1),
        turn_end(3),
    ]
    .concat()
}
