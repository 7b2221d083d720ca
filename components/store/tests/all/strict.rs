//! Strict mode: what is written has to tell a well-formed story.

use annals_store::{OpenMode, StoreOptions};

use crate::support::*;

fn strict() -> StoreOptions {
    StoreOptions {
        strict: true,
        ..opted_in()
    }
}

fn strict_on(medium: &Medium) -> TestStore {
    let mut store = store_on(medium);
    store.configure("{}", strict(), Some(Vec::new())).unwrap();
    store
}

fn turn_of(number: u64) -> String {
    turn("hi").replace("\"turn\":1", &format!("\"turn\":{number}"))
}

/// Nothing of `call` is left: no event, no node, no message, nothing stored.
fn leaves_no_trace(store: &mut TestStore, lines: &str, expected: &str) {
    let key = store.key_of("a").unwrap();
    let shown = |store: &mut TestStore| {
        format!(
            "{:?} {:?} {:?}",
            store.events(key, 0, u32::MAX).unwrap().lines,
            store.surface(key),
            store.messages(key, 0, u32::MAX).unwrap().lines
        )
    };
    let before = shown(store);
    assert_eq!(label(store.append(key, lines, 9)), expected);
    assert_eq!(shown(store), before);
}

#[test]
fn an_append_that_breaks_the_trace_is_refused_whole() {
    let mut store = strict_on(&Medium::default());
    let key = store.create(options("a"), 1).unwrap();
    store.append(key, &turn_of(1), 2).unwrap();
    let batches = [
        (turn_of(1), "Invalid trace-turn-number"),
        (
            format!("{}{}", turn_of(2), turn_of(2)),
            "Invalid trace-turn-number",
        ),
        (user("outside"), "Invalid trace-outside-turn"),
        (
            format!("{}{{\"type\":\"x\",\"data\":{{}}}}\n", turn_of(2)),
            "Invalid trace-outside-turn",
        ),
        // what a line is comes before how it relates
        (
            "{\"type\":\"user/message\",\"data\":{}}\n".into(),
            "Invalid surface-op-missing",
        ),
        // a batch that fits, and then is no JSON
        (format!("{}x\n", turn_of(2)), "Invalid json-syntax"),
    ];
    for (lines, expected) in batches {
        leaves_no_trace(&mut store, &lines, expected);
    }
    let error = store.append(key, &format!("{}{}", turn_of(2), turn_of(2)), 9);
    let detail: serde_json::Value = serde_json::from_str(&error.unwrap_err().detail).unwrap();
    assert_eq!((&detail["line"], &detail["seq"]), (&4.into(), &6.into()));
    // the refused batches count for nothing
    store.append(key, &turn_of(2), 3).unwrap();
    assert_eq!(store.next_seq(key), Some(6));
}

#[test]
fn without_it_the_same_is_taken() {
    let mut store = store_on(&Medium::default());
    let key = store.create(options("a"), 1).unwrap();
    store.append(key, &turn_of(7), 2).unwrap();
    store.append(key, &user("outside"), 2).unwrap();
}

#[test]
fn a_seed_that_breaks_the_trace_makes_no_session() {
    let mut store = strict_on(&Medium::default());
    let mut given = options("a");
    given.seed = Some(format!("{}{}", stored_turn(0, "hi"), stored_turn(3, "hi")));
    let error = store.create(given.clone(), 1).unwrap_err();
    let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
    assert_eq!(
        (error.reason.as_str(), &detail["index"]),
        ("trace-turn-number", &3.into())
    );
    assert_eq!(label(store.prepare(given, 1)), "Invalid trace-turn-number");
    assert!(store.live().is_empty());
}

#[test]
fn a_stored_log_that_breaks_it_can_be_read_and_not_written() {
    let medium = Medium::default();
    let torn = "{\"type\":\"turn/start\"\n";
    let lines = format!("{}{}{torn}", stored_turn(0, "hi"), stored_turn(3, "more"));
    medium.plant("a", &lines, 6);
    let mut store = strict_on(&medium);
    for mode in [OpenMode::Resume, OpenMode::Continue] {
        let error = store.open("a", mode).unwrap_err();
        let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
        assert_eq!(
            format!("{:?} {}", error.code, error.reason),
            "ErrorCode::Corrupt trace-turn-number"
        );
        assert_eq!((&detail["line"], &detail["seq"]), (&5.into(), &3.into()));
    }
    // nothing was repaired, and nobody keeps the lease
    assert_eq!(medium.lines("a"), lines);
    assert_eq!(medium.count("truncate") + medium.count("append"), 0);
    let (key, repair) = store.open("a", OpenMode::Inspect).unwrap();
    assert_eq!(repair.refusal.unwrap().reason, "trace-turn-number");
    assert_eq!(store.messages(key, 0, u32::MAX).unwrap().total, 2);
    assert_eq!(
        label(store.append(key, &turn_of(2), 9)),
        "ReadOnly session-read-only"
    );
    // up to where it is well-formed it can go on elsewhere
    assert_eq!(
        label(store.fork("a", Some(5), None, None, 9)),
        "Invalid trace-turn-number"
    );
    let child = store.fork("a", Some(2), None, None, 9).unwrap();
    store.append(child, &turn_of(2), 9).unwrap();
    let mut lenient = store_on(&medium);
    let (_, repair) = lenient.open("a", OpenMode::Resume).unwrap();
    assert_eq!((repair.refusal, repair.cut_bytes > 0), (None, true));
}

#[test]
fn an_interrupted_turn_is_closed_and_counted_on() {
    let medium = Medium::default();
    let step = concat!(
        r#"{"type":"step/start","data":{"turn":2,"step":1}}"#,
        "\n",
        r#"{"type":"assistant/message","data":{"turn":2,"step":1,"content":[{"type":"tool-call","id":"c","name":"n","args":{}},{"type":"tool-call","id":"d","name":"n","args":{}}],"provenance":{"provider":"p","model":"m"}},"surfaceOp":"append"}"#,
        "\n",
        r#"{"type":"tool/call","data":{"turn":2,"step":1,"callId":"c"}}"#,
        "\n",
    );
    let mut store = strict_on(&medium);
    let key = flushed(&mut store, "a", "hi");
    let start = START.replace("\"turn\":1", "\"turn\":2");
    store.append(key, &format!("{start}\n{step}"), 3).unwrap();
    store.close(key).unwrap();
    let (key, repair) = store.open("a", OpenMode::Resume).unwrap();
    assert_eq!(repair.closers, 4);
    store.append(key, &turn_of(3), 4).unwrap();
    let note = r#"{"type":"plugin/note","data":{"v":1}}"#;
    store.append_out_of_band(key, note, "{}", 5).unwrap();
    assert_eq!(store.next_turn(key), Some(5));
}

#[test]
fn a_store_that_becomes_strict_looks_at_what_is_live() {
    let mut store = store_on(&Medium::default());
    let good = store.create(options("a"), 1).unwrap();
    let bad = store.create(options("b"), 1).unwrap();
    store.append(good, &turn_of(1), 2).unwrap();
    store.append(bad, &turn_of(2), 2).unwrap();
    store.configure("{}", strict(), Some(Vec::new())).unwrap();
    store.append(good, &turn_of(2), 3).unwrap();
    for _ in 0..2 {
        assert_eq!(
            label(store.append(bad, &turn_of(1), 3)),
            "Corrupt trace-turn-number"
        );
    }
    assert_eq!(store.next_seq(bad), Some(3));
    store.flush(bad).unwrap();
    // not strict any more: whatever comes in between is looked at when it is again
    store.configure("{}", opted_in(), Some(Vec::new())).unwrap();
    store.append(bad, &turn_of(1), 3).unwrap();
    store.append(good, &turn_of(7), 3).unwrap();
    store.configure("{}", strict(), Some(Vec::new())).unwrap();
    assert_eq!(
        label(store.append(good, &turn_of(8), 3)),
        "Corrupt trace-turn-number"
    );
}
