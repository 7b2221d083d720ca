use annals_core::event::{
    check_appended, check_seed_event, check_seed_line, is_surface_eligible_type, is_surface_event,
};
use annals_core::fault::{Fault, Reason};
use annals_core::header::check_header;
use annals_core::json::Value;

use crate::vectors;

/// The seed and header of a case, up to the first fault that is not the surface's.
fn construct(input: &serde_json::Value) -> Result<(), Fault> {
    for (seq, event) in input["seed"].as_array().into_iter().flatten().enumerate() {
        check_seed_event(Value::parse(&event.to_string()).unwrap(), seq as u64)?;
    }
    match input.get("header") {
        None => Ok(()),
        Some(header) => {
            let text = header.to_string();
            check_header(Value::parse(&text).unwrap(), input["id"].as_str().unwrap()).map(|_| ())
        }
    }
}

#[test]
fn vectors_of_session_construct() {
    for case in vectors::cases("session-construct") {
        let error = &case["expect"]["error"];
        let mut input = case["input"].clone();
        if error["wrapped_as"] == "seed_surface_invalid" {
            // The surface's own rules are not held here: all up to the event that breaks one must pass.
            let message = error["message"].as_str().unwrap();
            let (_, rest) = message.split_once("at index ").unwrap();
            let index: usize = rest.split(':').next().unwrap().parse().unwrap();
            input["seed"].as_array_mut().unwrap().truncate(index + 1);
            input.as_object_mut().unwrap().remove("header");
            assert_eq!(construct(&input), Ok(()), "{}", case["name"]);
        } else if error["kind"] == "host_type_error" {
            assert!(construct(&input).is_err(), "{}", case["name"]);
        } else if error.is_null() {
            assert_eq!(construct(&input), Ok(()), "{}", case["name"]);
        } else {
            let fault = construct(&input).unwrap_err();
            assert_eq!(
                fault.reason.label(),
                vectors::label(&error["kind"]),
                "{}",
                case["name"]
            );
        }
    }
}

#[test]
fn vectors_of_surface_types() {
    for case in vectors::cases("surface-fold") {
        let (input, expected) = (&case["input"], &case["expect"]["ok"]);
        if case["op"] == "is_surface_eligible_type" {
            assert_eq!(
                *expected,
                is_surface_eligible_type(input["type"].as_str().unwrap()),
                "{}",
                case["name"]
            );
        } else if case["op"] == "is_surface_event" {
            let event = input["event"].to_string();
            assert_eq!(
                *expected,
                is_surface_event(Value::parse(&event).unwrap()),
                "{}",
                case["name"]
            );
        }
    }
}

#[test]
fn a_line_is_kept_as_written() {
    let line = r#" {"time":1e3,"\u0074ype":"user/message","seq":2.0, "data" : {"a": 1.50} ,"surfaceOp":null} "#;
    let event = check_seed_line(line, 2).unwrap();
    assert_eq!(
        (event.event_type.as_ref(), event.seq, event.time_ms),
        ("user/message", 2, 1000)
    );
    assert_eq!(event.data.unwrap().text(), r#"{"a": 1.50}"#);
    assert!(event.surface_op.unwrap().is_null());
    assert!(event.source_event_seqs.is_none());
}

#[test]
fn seed_lines_are_refused_in_order() {
    let cases = [
        (
            r#"{"type":"request/header-delta","seq":-0}"#,
            Reason::SeedNotJson,
        ),
        (
            r#"{"type":"request/header-delta"}"#,
            Reason::LegacyHeaderDelta,
        ),
        (r#"{"type":"turn/start","seq":0"#, Reason::SeedNotJson),
        ("[]", Reason::SeedEnvelopeInvalid),
        ("null", Reason::SeedEnvelopeInvalid),
        (
            r#"{"type":"a","seq":1,"time":1,"data":{}}"#,
            Reason::SeedSeqNotContiguous,
        ),
    ];
    for (line, reason) in cases {
        let fault = check_seed_line(line, 0).unwrap_err();
        assert_eq!(fault.reason, reason, "{line}");
        assert_eq!(fault.number_of("index"), Some(0), "{line}");
    }
}

#[test]
fn old_formats_are_not_appended() {
    let data =
        Value::parse(r#"{"header":{"config":{"provider":"p","model":"m"}},"reason":"fallback"}"#)
            .unwrap();
    let reason = |event_type| check_appended(event_type, data, 0).map_err(|fault| fault.reason);
    assert_eq!(
        reason("request/header-delta"),
        Err(Reason::LegacyHeaderDelta)
    );
    assert_eq!(reason("request/header"), Err(Reason::LegacyHeaderFallback));
    assert_eq!(reason("turn/start"), Ok(()));
}

#[test]
fn labels_are_kebab_case_and_unique() {
    let mut labels: Vec<_> = Reason::ALL.iter().map(|reason| reason.label()).collect();
    assert!(labels.iter().all(|label| {
        label
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'0')
    }));
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), Reason::ALL.len());
}
