use annals_core::event::{is_surface_eligible_type, is_surface_event};
use annals_core::fault::Reason;
use annals_core::json::Value as Json;
use annals_core::surface::fold_surface;
use serde_json::{Value, json};

use crate::vectors::{cases, elements, label, lines, same};

#[test]
fn folds_as_the_vectors_do() {
    for case in cases("surface-fold") {
        let (name, input, expect) = (&case["name"], &case["input"], &case["expect"]);
        match case["op"].as_str().unwrap() {
            "fold_surface" => {
                let text = match input["events_text"].as_str() {
                    Some(text) => elements(text),
                    None => lines(&input["events"]),
                };
                fold(name, &text, expect);
            }
            "is_surface_eligible_type" => {
                let is_eligible = is_surface_eligible_type(input["type"].as_str().unwrap());
                assert_eq!(expect["ok"], Value::Bool(is_eligible), "{name}");
            }
            "is_surface_event" => {
                let text = input["event"].to_string();
                assert_eq!(
                    expect["ok"],
                    Value::Bool(is_surface_event(Json::parse(&text).unwrap())),
                    "{name}"
                );
            }
            op => panic!("{name}: no runner for {op}"),
        }
    }
}

fn fold(name: &Value, text: &str, expect: &Value) {
    match fold_surface(text) {
        Ok((nodes, replacements)) => {
            let replacements = replacements.iter().map(|replacement| {
                json!({
                    "seq": replacement.seq,
                    "start": replacement.start,
                    "end": replacement.end,
                    "shadowedSeqs": replacement.shadowed,
                })
            });
            let found = json!({ "nodes": nodes, "replacements": replacements.collect::<Vec<_>>() });
            assert!(same(&found, &expect["ok"]), "{name}: {found}");
        }
        Err(fault) => {
            assert_eq!(
                fault.reason.label(),
                label(&expect["error"]["kind"]),
                "{name}: {fault}"
            );
            assert_eq!(
                fault.number_of("index"),
                expect["error"]["at_index"].as_u64(),
                "{name}: {fault}"
            );
        }
    }
}

#[test]
fn a_rewrite_of_a_large_result_is_linear() {
    // Names compared pairwise took a second for data of this size.
    let members: String = (0..20_000)
        .map(|number| format!(r#","m{number}":{number}"#))
        .collect();
    let data = format!(r#"{{"callId":"c","content":"x"{members}}}"#);
    let first =
        format!(r#"{{"type":"tool/result","seq":0,"time":0,"data":{data},"surfaceOp":"append"}}"#);
    let second = format!(
        r#"{{"type":"tool/result","seq":1,"time":0,"data":{data},"sourceEventSeqs":[0],"surfaceOp":{{"op":"replace","start":0,"end":0}}}}"#
    );
    let (nodes, _) = fold_surface(&format!("{first}\n{second}\n")).unwrap();
    assert_eq!(nodes, [1]);
}

// Fuzzing: data that is no object has no members, so one such result could be rewritten to any other.
#[test]
fn a_rewrite_of_data_without_members_changes_nothing() {
    let result = |seq: u64, data: &str, surface: &str| {
        format!("{{\"type\":\"tool/result\",\"seq\":{seq},\"time\":0,\"data\":{data},{surface}}}\n")
    };
    let replace = r#""sourceEventSeqs":[0],"surfaceOp":{"op":"replace","start":0,"end":0}"#;
    for (old, new, is_accepted) in [
        ("[1]", "[2]", false),
        ("\"a\"", "\"b\"", false),
        ("null", "{\"content\":1}", false),
        ("{\"content\":1}", "[]", false),
        ("[1]", "[ 1.0 ]", true),
        ("{\"content\":1}", "{}", true),
    ] {
        let log = result(0, old, r#""surfaceOp":"append""#) + &result(1, new, replace);
        let reason = fold_surface(&log).err().map(|fault| fault.reason);
        let expected = (!is_accepted).then_some(Reason::ToolRewriteChangesMoreThanContent);
        assert_eq!(reason, expected, "{old} to {new}");
    }
}
