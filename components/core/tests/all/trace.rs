use annals_core::chunk_rows::pack;
use annals_core::event::{Envelope, Event};
use annals_core::fault::Fault;
use annals_core::header::Header;
use annals_core::json::Value as Json;
use annals_core::session::Session;
use annals_core::trace::{Trace, check_trace};

use crate::scan::header;
use crate::vectors::{cases, fixtures, label, lines};

fn reason(result: Result<(), Fault>) -> Result<(), (&'static str, Option<u64>)> {
    result.map_err(|fault| (fault.reason.label(), fault.number_of("index")))
}

/// Event by event, by the incremental form.
fn observe_all(log: &str) -> Result<(), Fault> {
    let mut trace = Trace::default();
    for line in log.lines() {
        let envelope = Envelope::read(line).unwrap();
        let seq = envelope.seq.and_then(Json::as_seq).unwrap();
        let before = format!("{trace:?}");
        trace.observe(&Event::of(&envelope, seq)).inspect_err(|_| {
            assert_eq!(before, format!("{trace:?}"), "a refused event left a trace");
        })?;
    }
    Ok(())
}

#[test]
fn checks_as_the_vectors_do() {
    for case in cases("invariant-trace") {
        let (name, expect) = (&case["name"], &case["expect"]);
        let log = lines(&case["input"]["events"]);
        let expected = match expect.get("error") {
            None => Ok(()),
            Some(error) => Err((label(&error["kind"]), error["at_index"].as_u64())),
        };
        let packed = pack(&log).unwrap();
        for found in [check_trace(&log), observe_all(&log), check_trace(&packed)] {
            let found = reason(found).map_err(|(reason, index)| (reason.to_owned(), index));
            assert_eq!(found, expected, "{name}");
        }
    }
}

const OPEN_STEP: &str = r#"{"type":"turn/start","seq":0,"time":0,"data":{"turn":1}}
{"type":"step/start","seq":1,"time":0,"data":{"turn":1.0,"step":1e0}}
"#;

fn row(seq0: u64, turn: &str, step: &str) -> String {
    format!(
        r#"{{"type":"text-chunks","seq0":{seq0},"time0":0,"data":{{"turn":{turn},"step":{step},"index":0,"dt":[0,0],"texts":["a","b","c"]}}}}"#
    )
}

#[test]
fn a_row_stands_for_its_events() {
    let end =
        |seq| format!(r#"{{"type":"step/end","seq":{seq},"time":0,"data":{{"turn":1,"step":1}}}}"#);
    let cases = [
        (format!("{}\n{}\n", row(2, "1", "1"), end(5)), Ok(())),
        (format!("{}\n{}\n", row(2, "1.0", "1"), end(9)), Ok(())),
        (
            format!("{}\n{}\n", row(2, "1", "1"), end(4)),
            Err(("trace-seq-not-increasing", Some(5))),
        ),
        (row(1, "1", "1"), Err(("trace-seq-not-increasing", Some(2)))),
        (row(2, "1", "2"), Err(("trace-not-in-open-step", Some(2)))),
        (row(2, "2", "1"), Err(("trace-not-in-open-step", Some(2)))),
        (
            format!("{}\n{}\n", end(2), row(3, "1", "1")),
            Err(("trace-not-in-open-step", Some(3))),
        ),
        (
            row(2, "1", "1").replace("[0,0]", "[0]"),
            Err(("log-corrupt-unparsable", Some(2))),
        ),
    ];
    for (tail, expected) in cases {
        assert_eq!(
            reason(check_trace(&format!("{OPEN_STEP}{tail}"))),
            expected,
            "{tail}"
        );
    }
}

#[test]
fn numbers_are_numbers_and_ids_are_strings() {
    let event = |event_type: &str, data: &str| {
        format!(r#"{{"type":"{event_type}","seq":7,"time":0,"data":{data}}}"#)
    };
    let call = event("tool/call", r#"{"turn":1,"step":1,"callId":"\u0061"}"#).replace(":7", ":2");
    let cases = [
        (event("turn/end", "null"), "trace-turn-end-mismatch"),
        (
            event("step/end", r#"{"turn":"1","step":1}"#),
            "trace-not-in-open-step",
        ),
        (
            event("tool/result", r#"{"turn":1,"step":1}"#),
            "trace-result-without-call",
        ),
        (
            event(
                "tool/result",
                r#"{"turn":1,"step":1,"callId":"b","isError":"true","error":{"code":"TOOL_NOT_STARTED"}}"#,
            ),
            "trace-result-without-call",
        ),
        (
            event("tool/result", r#"{"turn":1,"step":1,"callId":"a"}"#),
            "ok",
        ),
        (
            r#"{"type":"user/message"}"#.to_owned(),
            "seed-envelope-invalid",
        ),
        ("{".to_owned(), "log-corrupt-unparsable"),
    ];
    for (line, expected) in cases {
        let found = reason(check_trace(&format!("{OPEN_STEP}{call}\n{line}\n")));
        assert_eq!(
            found.err().map_or("ok", |(reason, _)| reason),
            expected,
            "{line}"
        );
    }
}

#[test]
fn a_message_quotes_a_piece_of_what_it_was_given() {
    let turn = "9".repeat(300);
    let line = format!(r#"{{"type":"turn/start","seq":0,"time":0,"data":{{"turn":"{turn}"}}}}"#);
    let fault = check_trace(&line).unwrap_err();
    assert!(fault.message.len() < 200, "{fault}");
}

#[test]
fn fixtures_tell_a_well_formed_story() {
    let Some(folder) = fixtures() else { return };
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, log) = text.split_once('\n').unwrap();
        // a log of chunks alone, made for a replay, tells no story
        if log.contains("\"turn/start\"") {
            check_trace(log).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
            checked += 1;
        }
    }
    assert!(checked > 0);
}

/// A session keeps the trace up as the whole log is checked, and closing what is open never breaks it.
#[test]
fn a_session_demands_what_the_whole_check_does() {
    for case in cases("invariant-trace") {
        let log = lines(&case["input"]["events"]);
        let header = Header {
            id: "s".to_owned(),
            ..Header::default()
        };
        let Ok(mut session) = Session::from_seed(header.clone(), &log) else {
            continue;
        };
        let whole = reason(check_trace(&log));
        assert_eq!(reason(session.demand_trace()), whole, "{}", case["name"]);
        assert_eq!(reason(session.demand_trace()), whole, "asked again");
        let mut piecewise = Session::new(header).unwrap();
        piecewise.demand_trace().unwrap();
        let appended = log
            .split_inclusive('\n')
            .try_for_each(|line| piecewise.append(line, 1).map(drop));
        assert_eq!(reason(appended), whole, "{}", case["name"]);
        if whole.is_err() {
            assert_eq!(
                reason(session.append("{\"type\":\"x\",\"data\":1}", 1).map(drop)),
                whole
            );
            session.forget_trace();
        }
        if session.has_open_turn() && whole.is_ok() {
            session.close_turn().unwrap();
            let page = session.events(0, u32::MAX).unwrap();
            check_trace(&page.lines).unwrap();
        }
    }
}

/// What a refused call of append did to the trace is taken back, whatever it was.
/// Deltas are appended on a way of their own, where nobody asks for the trace.
#[test]
fn a_delta_outside_of_a_step_is_refused_where_the_trace_is_demanded() {
    let delta = r#"{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"a"}}}"#;
    let mut session = Session::new(header()).unwrap();
    session.demand_trace().unwrap();
    let fault = session.append(delta, 5).unwrap_err();
    assert!(fault.reason.label().starts_with("trace-"), "{fault}");
    assert_eq!(session.next_seq(), 0);
    session.forget_trace();
    session.append(delta, 5).unwrap();
    assert_eq!(session.next_seq(), 1);
}

#[test]
fn a_refused_append_takes_its_calls_back() {
    let in_step = |event_type: &str, more: &str| {
        format!("{{\"type\":\"{event_type}\",\"data\":{{\"turn\":1,\"step\":1{more}}}}}\n")
    };
    let call = |id: &str| in_step("tool/call", &format!(",\"callId\":\"{id}\""));
    let result = |id: &str| {
        let line = in_step(
            "tool/result",
            &format!(",\"callId\":\"{id}\",\"content\":[]"),
        );
        line.replace("}}\n", "},\"surfaceOp\":\"append\"}\n")
    };
    let start = "{\"type\":\"turn/start\",\"data\":{\"turn\":1}}\n";
    let end = "{\"type\":\"turn/end\",\"data\":{\"turn\":1}}\n";
    let header = Header {
        id: "s".into(),
        ..Header::default()
    };
    let mut session = Session::new(header).unwrap();
    session.demand_trace().unwrap();
    let begun = [start, &in_step("step/start", ""), &call("a"), &call("b")].concat();
    session.append(&begun, 0).unwrap();
    let step_end = in_step("step/end", "");
    for refused in [
        [&result("a"), &call("c"), &call("b"), &step_end, end, end].concat(),
        [call("c"), result("c"), call("c"), result("d")].concat(),
        [&step_end, end, start].concat(),
    ] {
        session.append(&refused, 0).unwrap_err();
        assert_eq!(session.next_seq(), 4);
    }
    let fault = session.append(&result("c"), 0).unwrap_err();
    assert_eq!(fault.reason.label(), "trace-result-without-call");
    assert_eq!(fault.number_of("index"), Some(4));
    let answered = [&result("b"), &result("a"), &step_end, end].concat();
    session.append(&answered, 0).unwrap();
    session.append(&call("a"), 0).unwrap_err();
}

/// What a salvage says of itself stands where it was found, also where no turn is open.
#[test]
fn what_a_salvage_says_stands_anywhere() {
    let log = concat!(
        r#"{"type":"salvage/gap","seq":0,"time":0,"data":{"reason":"x"}}"#,
        "\n",
        r#"{"type":"turn/start","seq":1,"time":0,"data":{"turn":1}}"#,
        "\n",
        r#"{"type":"salvage/gap","seq":2,"time":0,"data":{}}"#,
        "\n",
        r#"{"type":"turn/end","seq":3,"time":0,"data":{"turn":1}}"#,
        "\n",
        r#"{"type":"salvage/set-aside","seq":4,"time":0,"data":{"line":""}}"#,
        "\n",
    );
    assert_eq!(reason(check_trace(log)), Ok(()));
    assert_eq!(reason(observe_all(log)), Ok(()));
    let other = log.replace("salvage/set-aside", "salvage/other");
    let outside = Err(("trace-outside-turn", Some(4)));
    assert_eq!(reason(check_trace(&other)), outside);
}
