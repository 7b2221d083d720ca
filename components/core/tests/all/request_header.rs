use annals_core::header::Header;
use annals_core::json::Value as Json;
use annals_core::request_header::{canonical, fold_request_header, headers_equal};
use annals_core::session::Session;
use serde_json::Value;

use crate::vectors::{cases, label, lines, same};

fn session(seed: &str) -> Session {
    let header = Header {
        id: "s".into(),
        ..Header::default()
    };
    Session::from_seed(header, seed).unwrap()
}

#[test]
fn folds_as_the_vectors_do() {
    for case in cases("request-header") {
        let (name, input, expect) = (&case["name"], &case["input"], &case["expect"]);
        let text = |member: &str| input[member].to_string();
        let value = |text: Option<String>| {
            text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
        };
        let found = match case["op"].as_str().unwrap() {
            "canonical_header" => Ok(value(canonical(Json::parse(&text("header")).unwrap()))),
            "header_equals" => {
                let (a, b) = (text("a"), text("b"));
                let (a, b) = (Json::parse(&a).unwrap(), Json::parse(&b).unwrap());
                assert_eq!(headers_equal(a, b), headers_equal(b, a), "{name}");
                Ok(Value::Bool(headers_equal(a, b)))
            }
            "fold_request_header" => {
                let from = input.get("from").map(Value::to_string);
                fold_request_header(&lines(&input["events"]), from.as_deref()).map(value)
            }
            op => panic!("{name}: no runner for {op}"),
        };
        match found {
            Ok(found) => assert!(same(&found, &expect["ok"]), "{name}: {found}"),
            Err(fault) => assert_eq!(
                fault.reason.label(),
                label(&expect["error"]["kind"]),
                "{name}"
            ),
        }
    }
}

#[test]
fn spelling_plays_no_part_in_equality_and_order_only_in_lists() {
    let cases = [
        (
            r#"{"config":{"a":1,"b":[]}}"#,
            r#"{"config": {"b": [], "\u0061": 1.0}}"#,
            true,
        ),
        (
            r#"{"config":{"x":{"a":1,"b":2}}}"#,
            r#"{"config":{"x":{"b":2,"a":1}}}"#,
            true,
        ),
        (
            r#"{"config":{},"tools":[{"a":1,"b":"c"}]}"#,
            r#"{"config":{},"tools":[ {"a":1e0, "b":"\u0063"} ]}"#,
            true,
        ),
        (
            r#"{"config":{},"tools":[{"p":{"a":1,"b":2}}]}"#,
            r#"{"config":{},"tools":[{"p":{"b":2,"a":1}}]}"#,
            false,
        ),
        (
            r#"{"config":{},"tools":[{"a":9,"b":2,"a":1}]}"#,
            r#"{"config":{},"tools":[{"a":1,"b":2}]}"#,
            true,
        ),
        (
            r#"{"config":{},"tools":[{"a":1}]}"#,
            r#"{"config":{},"tools":[{"a":1,"b":2}]}"#,
            false,
        ),
        (
            r#"{"config":{},"messagePrefix":null}"#,
            r#"{"config":{}}"#,
            true,
        ),
        (r#"{"config":{},"system":null}"#, r#"{"config":{}}"#, false),
        (
            r#"{"config":{},"system":"a"}"#,
            r#"{"system":"\u0061","config":{}}"#,
            true,
        ),
    ];
    for (a, b, expected) in cases {
        assert_eq!(
            headers_equal(Json::parse(a).unwrap(), Json::parse(b).unwrap()),
            expected,
            "{a} {b}"
        );
    }
}

#[test]
fn the_live_view_agrees_with_the_fold_on_every_prefix() {
    let draft = |model: &str| {
        format!(
            "{{\"type\":\"request/header\",\"data\":{{\"header\":{{\"config\":{{\"provider\":\"p\",\"model\":\"{model}\"}},\"tools\":[]}}}}}}\n"
        )
    };
    let start = "{\"type\":\"turn/start\",\"data\":{\"turn\":1}}\n".to_owned();
    let row = "{\"type\":\"text-chunks\",\"seq0\":0,\"time0\":5,\"data\":{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[0,0],\"texts\":[\"a\",\"b\",\"c\"]}}\n";
    let mut live = session(row);
    let mut log = row.to_owned();
    for drafts in [
        start.clone(),
        draft("m"),
        format!("{start}{}{start}", draft("n")),
        start,
    ] {
        log.push_str(&live.append(&drafts, 9).unwrap().lines);
        let folded = fold_request_header(&log, None).unwrap();
        assert_eq!(live.request_header().unwrap(), folded);
        assert_eq!(session(&log).request_header().unwrap(), folded);
        let refused = format!("{}{{\"type\":1}}\n", draft("refused"));
        live.append(&refused, 9).unwrap_err();
        assert_eq!(
            live.request_header().unwrap(),
            folded,
            "a refused append left a trace"
        );
    }
    let odd = live.append("{\"type\":\"request/header\",\"data\":\"x\"}\n", 9);
    odd.unwrap();
    let fault = live.request_header().unwrap_err();
    assert_eq!(fault.reason.label(), "seed-header-without-provider-model");
}

#[test]
fn the_last_turn_is_the_last_that_has_a_number() {
    let turn = |turn: &str| {
        format!(
            "{{\"type\":\"turn/start\",\"data\":{{\"turn\":{turn}}}}}\n{{\"type\":\"turn/end\",\"data\":{{\"turn\":{turn}}}}}\n"
        )
    };
    let mut live = session("");
    assert_eq!(live.last_turn(), None);
    for (number, expected) in [("1", 1), ("2.0", 2), ("\"x\"", 2), ("4", 4)] {
        live.append(&turn(number), 1).unwrap();
        live.append("{\"type\":\"note\",\"data\":{\"turn\":99}}\n", 1)
            .unwrap();
        assert_eq!(live.last_turn(), Some(expected), "{number}");
        let child = session(&live.prefix(Some(live.next_seq() - 2)).unwrap().lines);
        assert_eq!(child.last_turn(), Some(expected), "{number}");
    }
}
