use annals_core::chunk_rows::{RUN_EVENTS_MAX, Row, expand_row, pack, unpack};
use annals_core::fault::Reason;
use annals_core::json::Value;
use annals_core::record::{Record, read_record};
use proptest::prelude::*;

use crate::vectors;

/// JSON values as JSON Lines.
fn lines(values: &serde_json::Value) -> String {
    values
        .as_array()
        .unwrap()
        .iter()
        .map(|value| format!("{value}\n"))
        .collect()
}

fn assert_same(ours: &str, expected: &serde_json::Value, name: &serde_json::Value) {
    let expected = lines(expected);
    assert_eq!(
        ours.lines().count(),
        expected.lines().count(),
        "{name}\n{ours}"
    );
    for (ours, expected) in ours.lines().zip(expected.lines()) {
        let same = Value::parse(ours)
            .unwrap()
            .same(Value::parse(expected).unwrap());
        assert!(same, "{name}\n{ours}\n{expected}");
    }
}

#[test]
fn vectors_of_packing() {
    for case in vectors::cases("chunk-rows") {
        if case["op"] != "pack_chunk_runs" {
            continue;
        }
        let events = lines(&case["input"]["events"]);
        let packed = pack(&events).unwrap();
        assert_eq!(unpack(&packed).unwrap(), events, "{}", case["name"]);
        // Where the reference does not give back the bytes, it packs what stays unpacked here.
        if case["expect"]["ok"]["round_trips"] == true {
            assert_same(&packed, &case["expect"]["ok"]["records"], &case["name"]);
        }
    }
}

#[test]
fn vectors_of_decoding() {
    for case in vectors::cases("chunk-rows") {
        if case["op"] != "decode_storage_record" {
            continue;
        }
        let input = &case["input"];
        let line = input["value_text"]
            .as_str()
            .map_or_else(|| input["value"].to_string(), str::to_owned);
        let expect = &case["expect"];
        match expect["error"].as_object() {
            None => assert_same(
                &unpack(&line).unwrap(),
                &expect["ok"]["events"],
                &case["name"],
            ),
            Some(error) => {
                let mut out = String::from("kept");
                let fault = expand_row(Value::parse(&line).unwrap(), &mut out).unwrap_err();
                assert_eq!(
                    fault.reason.label(),
                    vectors::label(&error["kind"]),
                    "{}",
                    case["name"]
                );
                assert_eq!(out, "kept");
                assert_eq!(
                    unpack(&line).unwrap_err().reason,
                    Reason::LogCorruptUnparsable
                );
            }
        }
    }
}

const ROW: &str = r#"{"type":"text-chunks","seq0":7,"time0":100,"data":{"turn":1,"step":2,"index":0,"dt":[5,-9,2],"texts":["a","\u0062","é",""]}}"#;

#[test]
fn rows_are_read_alike_in_any_spelling() {
    let canonical = Row::read_canonical(ROW).unwrap();
    assert_eq!(
        (
            canonical.seq0,
            canonical.count,
            canonical.last_time_ms,
            canonical.min_time_ms
        ),
        (7, 4, 98, 96)
    );
    let spaced = ROW
        .replace(':', " : ")
        .replace("\"dt\" : [5,-9,2],", "")
        .replace("\"index\"", "\"dt\":[5.0,-9,2e0],\"index\"");
    assert!(Row::read_canonical(&spaced).is_none());
    let read = Row::read(Value::parse(&spaced).unwrap()).unwrap();
    let (mut one, mut other) = (String::new(), String::new());
    canonical.expand(&mut one);
    read.expand(&mut other);
    assert_eq!(one, other);
    assert_eq!(
        one.lines().nth(1).unwrap(),
        r#"{"type":"assistant/chunk","seq":8,"time":105,"data":{"turn":1,"step":2,"chunk":{"type":"text-delta","index":0,"text":"\u0062"}}}"#
    );
    assert_eq!(pack(&one).unwrap(), format!("{ROW}\n"));
}

#[test]
fn records() {
    let event = |ends_turn| Record {
        first_seq: 3,
        count: 1,
        last_time_ms: 9,
        is_row: false,
        ends_turn,
    };
    assert_eq!(
        read_record(r#"{"type":"turn/start","seq":3,"time":9,"data":-0}"#),
        Ok(event(false))
    );
    assert_eq!(
        read_record(r#"{"time":9.0,"seq":3.0,"type":"turn\/end","data":{}}"#),
        Ok(event(true))
    );
    assert_eq!(
        read_record(ROW),
        Ok(Record {
            first_seq: 7,
            count: 4,
            last_time_ms: 98,
            is_row: true,
            ends_turn: false
        })
    );
    let reason = |line: &str| read_record(line).unwrap_err().reason;
    assert_eq!(reason("null"), Reason::LogCorruptSeqGap);
    assert_eq!(
        reason(r#"{"type":"session","version":0}"#),
        Reason::LogCorruptSeqGap
    );
    assert_eq!(reason(r#"{"seq":3"#), Reason::LogCorruptUnparsable);
    assert_eq!(
        reason(r#"{"type":"text-chunks","seq0":1}"#),
        Reason::LogCorruptUnparsable
    );
}

fn delta() -> impl Strategy<Value = (u8, u8, i64, String)> {
    // Few kinds, steps and spellings, so that runs come about.
    (0u8..12, 0u8..8, -50i64..50, any::<String>())
}

proptest! {
    #[test]
    fn what_was_packed_expands_to_the_same_bytes(deltas in prop::collection::vec(delta(), 0..60)) {
        let mut lines = String::new();
        let mut time = 1000;
        for (seq, (kind, spelling, step, text)) in deltas.iter().enumerate() {
            time += step;
            let text = serde_json::Value::from(text.as_str());
            let chunk = match kind {
                0..=7 => format!("{{\"type\":\"text-delta\",\"index\":0,\"text\":{text}}}"),
                8 => format!("{{\"type\":\"tool-call-delta\",\"index\":0,\"id\":\"c\",\"argumentsDelta\":{text}}}"),
                9 => format!("{{\"type\":\"tool-call-delta\",\"index\":0,\"id\":\"c\",\"name\":\"n\",\"argumentsDelta\":{text}}}"),
                10 => format!("{{\"index\":0,\"type\":\"text-delta\",\"text\":{text}}}"),
                _ => format!("{{\"type\":\"text-delta\",\"index\":0,\"text\":{text},\"x\":-0}}"),
            };
            let step = if *spelling == 0 { "1.0" } else { "1" };
            lines += &format!("{{\"type\":\"assistant/chunk\",\"seq\":{seq},\"time\":{time},\"data\":{{\"turn\":1,\"step\":{step},\"chunk\":{chunk}}}}}\n");
        }
        let packed = pack(&lines).unwrap();
        prop_assert!(packed.len() <= lines.len());
        prop_assert_eq!(unpack(&packed).unwrap(), lines);
        prop_assert_eq!(pack(&packed).unwrap(), packed);
    }
}

// A whole stream became one row of megabytes, and each page of events read all of it.
#[test]
fn a_row_stands_for_a_limited_number_of_events() {
    let delta = |seq: usize| {
        format!(
            "{{\"type\":\"assistant/chunk\",\"seq\":{seq},\"time\":1,\"data\":{{\"turn\":1,\"step\":1,\"chunk\":{{\"type\":\"text-delta\",\"index\":0,\"text\":\"a\"}}}}}}\n"
        )
    };
    for (events, records) in [
        (RUN_EVENTS_MAX, 1),
        (RUN_EVENTS_MAX + 1, 2),
        (RUN_EVENTS_MAX + 3, 2),
        (2 * RUN_EVENTS_MAX + 1, 3),
    ] {
        let lines: String = (0..events).map(delta).collect();
        let packed = pack(&lines).unwrap();
        assert_eq!(packed.lines().count(), records);
        assert!(unpack(&packed).unwrap() == lines);
    }
}
