use annals_core::json::Value as Json;
use annals_core::prompt::{display_prompt, last_message_turn_end};
use serde_json::Value;

use crate::vectors::{cases, label, lines, same};

#[test]
fn helps_as_the_vectors_do() {
    for case in cases("turn-and-prompt-helpers") {
        let (name, input, expect) = (&case["name"], &case["input"], &case["expect"]);
        let data = input["data"].to_string();
        let log = lines(&input["events"]);
        let found = match case["op"].as_str().unwrap() {
            "display_prompt_content" => {
                Ok(display_prompt(Json::parse(&data).unwrap()).map(Json::text))
            }
            "find_last_message_turn_end" => last_message_turn_end(&log),
            op => panic!("{name}: no runner for {op}"),
        };
        match found {
            Ok(found) => {
                let found: Value = serde_json::from_str(found.unwrap_or("null")).unwrap();
                assert!(same(&found, &expect["ok"]), "{name}: {found}");
            }
            Err(fault) => assert_eq!(
                fault.reason.label(),
                label(&expect["error"]["kind"]),
                "{name}"
            ),
        }
    }
}

#[test]
fn display_keeps_bytes() {
    let cases = [
        (r#"{"content": [ "\u0041" ]}"#, Some(r#"[ "\u0041" ]"#)),
        (r#"{"content":"x","envelope":null}"#, Some("\"x\"")),
        (r#"{"envelope":{"displayContent":[1.0]}}"#, Some("[1.0]")),
        (r#"{"envelope":{"displayContent":null}}"#, None),
        ("[]", None),
    ];
    for (data, expected) in cases {
        assert_eq!(
            display_prompt(Json::parse(data).unwrap()).map(Json::text),
            expected,
            "{data}"
        );
    }
}

#[test]
fn a_turn_end_needs_the_start_before_it() {
    let start = |turn: &str, kind: &str| {
        format!(
            "{{\"type\":\"turn/start\",\"data\":{{\"turn\":{turn},\"trigger\":{{\"kind\":\"{kind}\"}}}}}}\n"
        )
    };
    let end = |turn: &str| format!("{{\"type\":\"turn/end\",\"data\":{{\"turn\":{turn}}}}}\n");
    let row = "{\"type\":\"text-chunks\",\"seq0\":1,\"time0\":0,\"data\":{}}\n";
    let cases = [
        (
            format!("{}{row}{}", start("1", "message"), end("1.0")),
            Some(end("1.0")),
        ),
        (format!("{}{}", start("1", "message"), end("\"1\"")), None),
        (
            format!(
                "{}{}{}",
                start("1", "message"),
                start("2", "goal"),
                end("1")
            ),
            None,
        ),
        (
            format!("{}{}{}", start("1", "message"), end("1"), end("1")),
            Some(end("1")),
        ),
    ];
    for (log, expected) in cases {
        let found = last_message_turn_end(&log).unwrap();
        assert_eq!(found, expected.as_deref().map(str::trim_end), "{log}");
    }
    let fault = last_message_turn_end("{}\n{\n").unwrap_err();
    assert_eq!(
        (fault.reason.label(), fault.number_of("line")),
        ("json-syntax", Some(2))
    );
}
