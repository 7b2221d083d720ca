//! Interface `log`: what it adds to the rules of core, which are tested there, is the shape of its answers.

use annals_store::log;

use crate::support::label;

const ROW: &str = r#"{"type":"text-chunks","seq0":0,"time0":0,"data":{"turn":1,"step":1,"index":0,"dt":[0,0],"texts":["a","b","c"]}}"#;

fn detail(error: &annals_sdk::types::Error) -> serde_json::Value {
    serde_json::from_str(&error.detail).unwrap()
}

#[test]
fn failures_are_records_with_the_rule_as_their_reason() {
    let table = [
        (
            label(log::fold_surface("{\"seq\":1}\n")),
            "Invalid seq-not-contiguous",
        ),
        (label(log::is_surface_event("{")), "Invalid json-syntax"),
        (label(log::message_of("{")), "Invalid json-syntax"),
        (
            label(log::message_of(r#"{"type":"user/message"}"#)),
            "Corrupt message-invalid",
        ),
        (label(log::closers("{}\n")), "Invalid seed-envelope-invalid"),
        (
            label(log::check_trace(
                r#"{"type":"x","seq":0,"time":0,"data":{}}"#,
            )),
            "Invalid trace-outside-turn",
        ),
        (
            label(log::request_header(r#"{"type":"request/header"}"#, None)),
            "Invalid seed-header-without-provider-model",
        ),
        (
            label(log::canonical_header("-0")),
            "Invalid json-number-lossy",
        ),
        (label(log::headers_equal("{}", "x")), "Invalid json-syntax"),
        (
            label(log::last_message_turn_end("\n{")),
            "Invalid json-syntax",
        ),
        (label(log::display_prompt("")), "Invalid json-syntax"),
        (label(log::pack("{}\nx\n")), "Invalid json-syntax"),
        (label(log::unpack("x\n")), "Invalid json-syntax"),
        (label(log::check_trace("x\n")), "Invalid json-syntax"),
        (
            label(log::check_trace("{}\n")),
            "Invalid seed-envelope-invalid",
        ),
        (
            label(log::check_trace(&ROW.replace("[0,0]", "[0]"))),
            "Invalid row-dt-length",
        ),
        (
            label(log::unpack(&ROW.replace("[0,0]", "[0]"))),
            "Invalid row-dt-length",
        ),
        (
            label(log::check_json("[1e999]")),
            "Invalid json-number-lossy",
        ),
        (
            label(log::check_header("[-0]", "s")),
            "Invalid header-not-json",
        ),
        (
            label(log::check_header("[]", "s")),
            "Invalid header-not-record",
        ),
        (
            label(log::check_header(r#"{"version":1}"#, "s")),
            "UnsupportedVersion header-version",
        ),
    ];
    for (found, expected) in table {
        assert_eq!(found, expected);
    }
}

#[test]
fn facts_say_where() {
    let error = log::unpack(&format!("{{}}\n{}\n", ROW.replace("[0,0]", "[]"))).unwrap_err();
    assert_eq!(detail(&error)["line"], 2);
    let error = log::check_json(r#"{"a":[1,-0]}"#).unwrap_err();
    assert_eq!(detail(&error)["path"], "/a/1");
    assert_eq!(detail(&error)["byte"], 8);
    let lines = "{\"type\":\"turn/start\",\"seq\":4,\"time\":0,\"data\":{\"turn\":1}}\n";
    let error = log::check_trace(&format!("{lines}{lines}")).unwrap_err();
    assert_eq!(
        (&detail(&error)["index"], &detail(&error)["seq"]),
        (&1.into(), &4.into())
    );
}

#[test]
fn a_row_comes_back_as_its_events_and_goes_again() {
    let events = log::unpack(&format!("{ROW}\n")).unwrap();
    assert_eq!(events.lines().count(), 3);
    assert_eq!(log::pack(&events).unwrap(), format!("{ROW}\n"));
}

#[test]
fn a_header_comes_back_with_its_members() {
    let text = r#"{"version":0,"id":"s","createdAt":5,"cwd":"/w","more":1}"#;
    let header = log::check_header(text, "s").unwrap();
    assert_eq!(
        (header.created_at_ms, header.cwd.as_deref()),
        (5, Some("/w"))
    );
    assert_eq!(header.extra.as_deref(), Some(r#"{"more":1}"#));
}
