//! Events from outside the loop.

use annals_sdk::types::ErrorCode;

use crate::support::*;

const NOTE: &str = r#"{"type":"plugin/note","data":{"v":1}}"#;
const TRIGGER: &str = "{\"kind\":\"injection\",\n \"source\":{\"kind\":\"plugin\"}}";

fn prepared() -> (TestStore, Medium, Recorder) {
    let (mut store, medium, recorder) = setting();
    store.configure("{}", opted_in(), Some(Vec::new())).unwrap();
    (store, medium, recorder)
}

fn types(lines: &str) -> Vec<String> {
    let parsed = lines.lines().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["type"].as_str().unwrap().to_owned()
    });
    parsed.collect()
}

#[test]
fn outside_a_turn_it_gets_one_of_its_own() {
    let (mut store, medium, recorder) = prepared();
    let key = flushed(&mut store, "a", "hi");
    recorder.take();
    let batch = store.append_out_of_band(key, NOTE, TRIGGER, 9).unwrap();
    assert_eq!(
        (batch.first_seq, batch.count, batch.last_time_ms),
        (4, 1, 9)
    );
    assert_eq!(
        recorder.take(),
        [
            "appended a 3+1",
            "appended a 4+1",
            "appended a 5+1",
            "flushed a"
        ]
    );
    let stored = medium.lines("a");
    assert_eq!(
        types(&stored)[3..],
        ["turn/start", "plugin/note", "turn/end"]
    );
    let start = stored.lines().nth(3).unwrap();
    assert!(
        start.contains(r#""turn":2,"trigger":{"kind":"injection","#),
        "{start}"
    );
}

#[test]
fn in_an_open_turn_it_goes_in_as_it_is() {
    let (mut store, medium, recorder) = prepared();
    let key = store.create(options("a"), 1).unwrap();
    store.append(key, START, 1).unwrap();
    recorder.take();
    let batch = store.append_out_of_band(key, NOTE, TRIGGER, 9).unwrap();
    assert_eq!(batch.first_seq, 1);
    assert_eq!(recorder.take(), ["appended a 1+1"]);
    assert_eq!(medium.count("create"), 0);
}

#[test]
fn a_refused_event_closes_and_flushes_its_turn() {
    let (mut store, medium, _) = prepared();
    let key = store.create(options("a"), 1).unwrap();
    let lossy = r#"{"type":"plugin/note","data":-0}"#;
    assert_eq!(
        label(store.append_out_of_band(key, lossy, TRIGGER, 1)),
        "Invalid append-data-not-json"
    );
    assert_eq!(types(&medium.lines("a")), ["turn/start", "turn/end"]);
    let surface = r#"{"type":"plugin/note","data":0,"surfaceOp":"append"}"#;
    assert_eq!(
        label(store.append_out_of_band(key, surface, TRIGGER, 1)),
        "Invalid surface-op-on-log-only-event"
    );
    assert_eq!(store.next_seq(key), Some(4));
    // the turn is there for the next one to count on
    store.append_out_of_band(key, NOTE, "1", 1).unwrap();
    assert!(medium.lines("a").contains(r#"{"turn":3,"trigger":1}"#));
}

#[test]
fn what_cannot_begin_leaves_no_trace() {
    let (mut store, medium, _) = prepared();
    let key = store.create(options("a"), 1).unwrap();
    let two = format!("{NOTE}\n{NOTE}\n");
    for (event, trigger, expected) in [
        (END, TRIGGER, "Invalid out-of-band-type"),
        (r#"{"data":1}"#, TRIGGER, "Invalid out-of-band-type"),
        (&two, TRIGGER, "Invalid append-envelope-invalid"),
        ("", TRIGGER, "Invalid append-envelope-invalid"),
        ("{", TRIGGER, "Invalid json-syntax"),
        (NOTE, "", "Invalid append-data-not-json"),
        (NOTE, "1}", "Invalid append-data-not-json"),
        (NOTE, "{\"x\":-0}", "Invalid append-data-not-json"),
    ] {
        let result = store.append_out_of_band(key, event, trigger, 1);
        assert_eq!(label(result), expected, "{event} {trigger}");
    }
    assert_eq!(store.next_seq(key), Some(0));
    assert_eq!(medium.count("create"), 0);
    store.detach(key).unwrap();
    assert_eq!(
        label(store.append_out_of_band(key, NOTE, TRIGGER, 1)),
        "NotFound session-not-live-in-store"
    );
}

#[test]
fn a_failed_flush_keeps_the_events() {
    let (mut store, medium, _) = prepared();
    let key = store.create(options("a"), 1).unwrap();
    medium.fail("create", Failure::Before, ErrorCode::NoSpace);
    let error = store.append_out_of_band(key, NOTE, TRIGGER, 1).unwrap_err();
    assert_eq!(error.code, ErrorCode::NoSpace);
    assert_eq!(store.next_seq(key), Some(3));
    store.append_out_of_band(key, NOTE, TRIGGER, 1).unwrap();
    assert_eq!(types(&medium.lines("a")).len(), 6);
}

// The lease was taken by the flush at the end: busy left three events behind, which a second try doubled.
#[test]
fn a_lease_that_is_taken_leaves_no_trace() {
    let (mut store, medium, recorder) = prepared();
    let key = store.create(options("a"), 1).unwrap();
    let mut rival = store_on(&medium);
    let theirs = rival.create(options("a"), 1).unwrap();
    rival.persist(theirs).unwrap();
    recorder.take();
    let error = store.append_out_of_band(key, NOTE, TRIGGER, 1).unwrap_err();
    assert_eq!(error.code, ErrorCode::Busy);
    assert_eq!(store.next_seq(key), Some(0));
    assert!(recorder.take().is_empty());
    // a trigger that is refused takes no lease either
    let before = medium.count("acquire");
    store.append_out_of_band(key, NOTE, "1}", 1).unwrap_err();
    assert_eq!(medium.count("acquire"), before);
}

// The start of the turn fitted and its end did not, so the turn stayed open.
#[test]
fn a_turn_that_cannot_be_closed_does_not_begin() {
    let (mut store, medium, recorder) = setting();
    medium.0.borrow_mut().promise = Some(Box::new(|mut info| {
        info.record_bytes_max = 84;
        info
    }));
    store.configure("{}", opted_in(), Some(Vec::new())).unwrap();
    let key = store.create(options("a"), 1).unwrap();
    recorder.take();
    assert_eq!(
        label(store.append_out_of_band(key, NOTE, "1", 1)),
        "Limit record-too-long"
    );
    assert_eq!(store.next_seq(key), Some(0));
    assert_eq!(medium.count("acquire"), 0);
    assert!(recorder.take().is_empty());
}

// At the limit of all sessions together its turn began and could not be closed, and the flush stored it so.
#[test]
fn a_turn_of_its_own_that_has_no_room_to_end_does_not_begin() {
    let (mut store, medium, _) = prepared();
    flushed(&mut store, "other", "hi");
    let key = flushed(&mut store, "a", "hi");
    let stored = medium.lines("a");
    let mut refused = 0;
    for bytes_max in (500..4000).step_by(10) {
        store.set_sessions_bytes_max(bytes_max);
        let Err(error) = store.append_out_of_band(key, NOTE, TRIGGER, 9) else {
            break;
        };
        assert_eq!(error.code, ErrorCode::Limit, "{bytes_max}: {error:?}");
        assert_eq!(medium.lines("a"), stored, "{bytes_max}");
        assert_eq!(store.next_seq(key).unwrap(), 3, "{bytes_max}");
        refused += 1;
    }
    assert!(refused > 0);
    assert!(medium.lines("a").trim_end().ends_with('}'));
    assert_eq!(
        types(&medium.lines("a"))[3..],
        ["turn/start", "plugin/note", "turn/end"]
    );
}
