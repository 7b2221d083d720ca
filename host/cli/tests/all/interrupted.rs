//! Turns that a crash cut short, and sessions that go on in two places.

use crate::support::{Place, TURN, json};

const START: &str = r#"{"type":"turn/start","data":{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}}
{"type":"step/start","data":{"turn":1,"step":1}}
"#;

fn assistant(content: &str) -> String {
    format!(
        "{{\"type\":\"assistant/message\",\"data\":{{\"turn\":1,\"step\":1,\"content\":{content},\"provenance\":{{\"provider\":\"p\",\"model\":\"m\"}}}},\"surfaceOp\":\"append\"}}\n"
    )
}

fn call(id: &str) -> String {
    format!("{{\"type\":\"tool-call\",\"id\":\"{id}\",\"name\":\"bash\",\"arguments\":\"{{}}\"}}")
}

fn started(id: &str) -> String {
    format!(
        "{{\"type\":\"tool/call\",\"data\":{{\"turn\":1,\"step\":1,\"callId\":\"{id}\",\"name\":\"bash\",\"arguments\":\"{{}}\"}}}}\n"
    )
}

fn answered(id: &str) -> String {
    format!(
        "{{\"type\":\"tool/result\",\"data\":{{\"turn\":1,\"step\":1,\"callId\":\"{id}\",\"content\":[]}},\"surfaceOp\":\"append\"}}\n"
    )
}

/// Session `a1` with these events after its turn and step began.
fn crashed(events: &str) -> Place {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", &format!("{START}{events}"));
    place
}

/// What `resume` appended, after a check that a second one appends nothing.
fn resumed(place: &Place) -> Vec<serde_json::Value> {
    let before = place.ok(&["show", "a1", "--format", "jsonl"]);
    place.ok(&["resume", "a1"]);
    let after = place.ok(&["show", "a1", "--format", "jsonl"]);
    let again = place.ok(&["resume", "a1"]);
    assert!(again.starts_with("nothing to repair"), "{again}");
    assert_eq!(place.ok(&["show", "a1", "--format", "jsonl"]), after);
    after
        .strip_prefix(&before)
        .unwrap()
        .lines()
        .map(json)
        .collect()
}

/// PI#4189, goose#2951, CC#39316: two calls, one answered; the repair doubled results, or the model refused the history.
#[test]
fn only_the_call_without_a_result_gets_one_and_only_once() {
    let asked = assistant(&format!("[{},{}]", call("c1"), call("c2")));
    let place = crashed(&format!("{asked}{}{}", started("c1"), answered("c1")));
    let closers = resumed(&place);
    let results: Vec<_> = closers
        .iter()
        .filter(|event| event["type"] == "tool/result")
        .collect();
    assert_eq!(
        (results.len(), &results[0]["data"]["callId"]),
        (1, &"c2".into())
    );
    assert_eq!(results[0]["data"]["error"]["code"], "TOOL_NOT_STARTED");
    assert_eq!(
        (&closers[0]["type"], closers.len()),
        (&"tool/result".into(), 3)
    );
}

/// claude-agent-sdk-ts#289: a call was recorded as started, and its repaired result said that it had failed.
#[test]
fn of_a_call_that_was_started_the_outcome_is_unknown() {
    let place = crashed(&format!(
        "{}{}",
        assistant(&format!("[{}]", call("c1"))),
        started("c1")
    ));
    let closers = resumed(&place);
    assert_eq!(closers[0]["data"]["error"]["code"], "TOOL_OUTCOME_UNKNOWN");
    assert_eq!(closers[0]["sourceEventSeqs"], json("[3]"));
}

/// OMP#4456: an assistant message with empty content broke the next request.
#[test]
fn an_assistant_message_without_content_stays_and_shows_nothing() {
    let place = crashed(&assistant("[]"));
    assert_eq!(place.ok(&["messages", "a1"]), "");
    let shown = place.ok(&["show", "a1", "--format", "jsonl"]);
    assert!(shown.contains("\"assistant/message\""), "{shown}");
    resumed(&place);
    assert_eq!(place.ok(&["messages", "a1"]), "");
}

/// CC#85875: the second fork of one session was cut short.
#[test]
fn two_forks_of_one_session_are_both_complete() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    let events = place.ok(&["show", "a1", "--format", "jsonl"]);
    for id in ["one", "other"] {
        place.ok(&["fork", "a1", "--id", id]);
        place.append(id, &TURN.replace("\"turn\":1", "\"turn\":2"));
    }
    for id in ["one", "other"] {
        let shown = place.ok(&["show", id, "--format", "jsonl"]);
        assert!(shown.starts_with(&events), "{shown}");
        assert_eq!(shown.lines().count(), 6);
    }
    assert_eq!(place.ok(&["show", "a1", "--format", "jsonl"]), events);
}
