//! Opening a stored session in its three modes, after clean ends and after crashes.

use annals_store::OpenMode;

use crate::support::*;

const OPEN_TAIL: &str = concat!(
    r#"{"type":"turn/start","seq":3,"time":9,"data":{"turn":2,"trigger":{"kind":"message","source":{"kind":"user"}}}}"#,
    "\n",
    r#"{"type":"user/message","seq":4,"time":9,"data":{"content":[{"type":"text","text":"again"}],"source":{"kind":"user"}},"surfaceOp":"append"}"#,
    "\n",
);

fn interrupted() -> String {
    format!("{}{OPEN_TAIL}", stored_turn(0, "hi"))
}

#[test]
fn resume_loads_bytes_and_never_stores_them_again() {
    let (mut store, medium, _) = setting();
    medium.plant("a", &stored_turn(0, "hi"), 3);
    let (key, repair) = store.open("a", OpenMode::Resume).unwrap();
    assert_eq!(
        (repair.cut_bytes, repair.cut_events, repair.closers),
        (0, 0, 0)
    );
    assert!(repair.notes.is_empty());
    assert_eq!(
        store.events(key, 0, u32::MAX).unwrap().lines,
        stored_turn(0, "hi")
    );
    store.flush(key).unwrap();
    assert_eq!(medium.count("append") + medium.count("create"), 0);
    store.append(key, &turn("more"), 8).unwrap();
    store.close(key).unwrap();
    assert_eq!(medium.count("append"), 1);
    assert_eq!(medium.lines("a").lines().count(), 6);
    assert!(medium.lines("a").starts_with(&stored_turn(0, "hi")));
}

#[test]
fn a_log_longer_than_a_page_loads_whole() {
    let (mut store, medium, _) = setting();
    let text = "x".repeat(700_000);
    let lines: String = (0..6).map(|turn| stored_turn(turn * 3, &text)).collect();
    medium.plant("a", &lines, 18);
    let (key, _) = store.open("a", OpenMode::Resume).unwrap();
    assert_eq!(store.next_seq(key), Some(18));
    assert!(medium.count("load") > 4);
    let mut read = String::new();
    let mut start = Some(0);
    while let Some(seq) = start {
        let page = store.events(key, seq, 100_000).unwrap();
        read.push_str(&page.lines);
        start = page.next;
    }
    assert_eq!(read, lines);
}

#[test]
fn resume_closes_an_interrupted_turn_durably() {
    let (mut store, medium, recorder) = setting();
    medium.plant("a", &interrupted(), 5);
    let (key, repair) = store.open("a", OpenMode::Resume).unwrap();
    assert_eq!(repair.closers, 1);
    assert_eq!(store.next_seq(key), Some(6));
    let lines = medium.lines("a");
    assert!(lines.starts_with(&interrupted()));
    assert!(
        lines.lines().last().unwrap().contains(r#""time":9"#),
        "closers take the last event's time"
    );
    assert_eq!(recorder.take(), ["created a"]);
    store.close(key).unwrap();
    let (_, repair) = store.open("a", OpenMode::Resume).unwrap();
    assert_eq!(repair.closers, 0);
}

#[test]
fn continue_leaves_an_open_turn_to_its_author() {
    let (mut store, medium, _) = setting();
    medium.plant("a", &interrupted(), 5);
    let (key, repair) = store.open("a", OpenMode::Continue).unwrap();
    assert_eq!(repair.closers, 0);
    assert_eq!(medium.lines("a"), interrupted());
    let end = END.replace("\"turn\":1", "\"turn\":2");
    let batch = store.append(key, &end, 11).unwrap();
    assert_eq!(
        (batch.first_seq, batch.count, batch.last_time_ms),
        (5, 1, 11)
    );
    store.close(key).unwrap();
    assert_eq!(medium.lines("a").lines().count(), 6);
}

#[test]
fn inspect_writes_nothing_and_says_what_resume_would_do() {
    let (mut store, medium, _) = setting();
    let lines = format!("{}{{oops\n", interrupted());
    medium.plant("a", &lines, 6);
    let (key, repair) = store.open("a", OpenMode::Inspect).unwrap();
    assert_eq!(
        (repair.cut_bytes, repair.cut_events, repair.closers),
        (6, 0, 1)
    );
    assert_eq!(repair.notes.len(), 2);
    assert_eq!(store.next_seq(key), Some(5));
    assert_eq!(
        label(store.append(key, &turn("x"), 1)),
        "ReadOnly session-read-only"
    );
    store.flush(key).unwrap();
    store.renew().unwrap();
    store.close(key).unwrap();
    assert_eq!(medium.lines("a"), lines);
    for call in [
        "acquire", "append", "create", "truncate", "release", "renew", "update",
    ] {
        assert_eq!(medium.count(call), 0, "{call}");
    }
}

#[test]
fn a_bad_tail_is_cut_and_kept_beside_the_log() {
    let (mut store, medium, _) = setting();
    let bad = "{\"type\":\"step/start\",\"seq\":7,\"time\":9,\"data\":{}}\nrubbish\n";
    medium.plant("a", &format!("{}{bad}", interrupted()), 7);
    let (key, repair) = store.open("a", OpenMode::Continue).unwrap();
    assert_eq!((repair.cut_bytes, repair.cut_events), (bad.len() as u64, 1));
    assert!(repair.notes[0].contains("line 7"), "{:?}", repair.notes);
    assert_eq!(medium.lines("a"), interrupted());
    assert_eq!(
        store.read_cut("a", 0, u32::MAX).unwrap().raw.unwrap(),
        bad.as_bytes()
    );
    store
        .append(key, &END.replace("\"turn\":1", "\"turn\":2"), 11)
        .unwrap();
    store.close(key).unwrap();
}

#[test]
fn damage_before_the_last_turn_end_is_refused_in_every_mode_and_read_goes_past_it() {
    let (mut store, medium, _) = setting();
    let lines = format!(
        "{}rubbish\n{}",
        stored_turn(0, "hi"),
        stored_turn(3, "again")
    );
    medium.plant("a", &lines, 7);
    for mode in [OpenMode::Resume, OpenMode::Continue, OpenMode::Inspect] {
        let error = store.open("a", mode).unwrap_err();
        assert_eq!(error.reason, "log-corrupt-unparsable");
        let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
        assert_eq!(detail["line"], 5);
        assert!(detail["byte"].is_u64());
    }
    assert_eq!(store.read("a", 0, u32::MAX).unwrap().lines, lines);
    assert_eq!(medium.lines("a"), lines);
    // the lease went back each time
    assert_eq!(medium.count("acquire"), medium.count("release"));
    assert!(store.live().is_empty());
}

#[test]
fn what_is_not_there_leaves_no_lease_behind() {
    let (mut store, medium, _) = setting();
    assert_eq!(
        label(store.open("a", OpenMode::Resume)),
        "NotFound session-not-found"
    );
    assert_eq!(
        label(store.open("a", OpenMode::Inspect)),
        "NotFound session-not-found"
    );
    assert_eq!(label(store.delete("a")), "NotFound session-not-found");
    assert_eq!(medium.count("acquire"), 0);
}

#[test]
fn a_live_session_is_not_opened_or_deleted() {
    let (mut store, _, _) = setting();
    let key = flushed(&mut store, "a", "hi");
    assert_eq!(
        label(store.open("a", OpenMode::Inspect)),
        "AlreadyExists session-already-exists"
    );
    assert_eq!(label(store.delete("a")), "Busy session-live");
    store.close(key).unwrap();
    store.delete("a").unwrap();
    assert!(!store.has("a").unwrap());
    flushed(&mut store, "a", "again");
}

#[test]
fn another_version_is_refused_before_anything_else() {
    let (mut store, medium, _) = setting();
    medium.plant("a", "rubbish\n", 1);
    medium.0.borrow_mut().mangle = Some(Box::new(|_, mut page| {
        if let Some(header) = &mut page.header {
            header.version = 1;
            header.id = "b".into();
        }
        page
    }));
    assert_eq!(
        label(store.open("a", OpenMode::Inspect)),
        "UnsupportedVersion log-version-unsupported"
    );
    medium.0.borrow_mut().mangle = Some(Box::new(|_, mut page| {
        page.header = None;
        page.lines.clear();
        page.raw = Some(b"{\"type\":\"session\",\"version\":3}\n".to_vec());
        page
    }));
    assert_eq!(
        label(store.open("a", OpenMode::Resume)),
        "UnsupportedVersion log-version-unsupported"
    );
}

#[test]
fn a_header_line_that_is_none_is_corrupt() {
    let (mut store, medium, _) = setting();
    medium.plant("a", "", 0);
    for (raw, expected) in [
        (&b""[..], "Corrupt log-empty"),
        (b"hello\n", "Corrupt log-header-not-json"),
        (b"\xff\n", "Corrupt log-header-not-json"),
        (b"{}\n", "Corrupt log-header-invalid"),
    ] {
        medium.0.borrow_mut().mangle = Some(Box::new(move |_, mut page| {
            page.header = None;
            page.raw = Some(raw.to_vec());
            page
        }));
        assert_eq!(label(store.open("a", OpenMode::Resume)), expected);
    }
}

#[test]
fn a_seed_rule_broken_in_what_is_stored_is_corrupt() {
    let (mut store, medium, _) = setting();
    let lines = stored_turn(0, "hi").replace(",\"surfaceOp\":\"append\"", "");
    medium.plant("a", &lines, 3);
    let error = store.open("a", OpenMode::Resume).unwrap_err();
    assert_eq!(error.reason, "surface-op-missing");
    assert_eq!(error.code, annals_sdk::types::ErrorCode::Corrupt);
    assert!(error.detail.contains("\"line\":3"), "{}", error.detail);
}
