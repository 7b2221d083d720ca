//! Stored logs that are damaged: reading commands say where, and change nothing.

use std::fs;

use crate::support::{Place, TURN, json};

/// A session `a1` of two turns, after `damage` was done to its log.
fn damaged(damage: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Place {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    place.append("a1", &TURN.replace("\"turn\":1", "\"turn\":2"));
    let log = place.log();
    fs::write(&log, damage(fs::read(&log).unwrap())).unwrap();
    place
}

fn at_line(bytes: Vec<u8>, line: usize, text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    lines[line - 1] = text;
    lines.concat()
}

fn reads_without_writing(place: &Place) {
    let before = place.everything();
    for args in [
        ["show", "a1", "--format", "text"],
        ["show", "a1", "--format", "jsonl"],
        ["show", "a1", "--format", "json"],
        ["show", "a1", "--expand", "--format=jsonl"],
        ["messages", "a1", "--format", "jsonl"],
        ["verify", "a1", "--format", "text"],
        ["list", "--format", "json", "--cwd=/x"],
    ] {
        place.run(&args);
        assert_eq!(place.everything(), before, "{args:?}");
    }
}

#[test]
fn a_line_in_the_middle() {
    let place = damaged(|bytes| at_line(bytes, 3, b"{\"type\":\n"));
    let before = fs::read(place.log()).unwrap();
    let byte = before.iter().position(|byte| *byte == b'\n').unwrap();
    let byte = byte
        + 1
        + before[byte + 1..]
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap()
        + 1;
    let ran = place.run(&["verify", "a1", "--format", "jsonl"]);
    assert_eq!(ran.code, 3);
    let verdict = json(&ran.out);
    assert_eq!(
        (&verdict["status"], &verdict["line"]),
        (&"damaged".into(), &3.into())
    );
    assert_eq!(verdict["byte"], byte);
    assert_eq!(verdict["reason"], "log-corrupt-unparsable");
    assert_eq!(ran.err.lines().count(), 1);
    for args in [["messages", "a1"], ["resume", "a1"], ["fork", "a1"]] {
        place.run(&args).fails(3, &["line 3"]);
    }
    place
        .feed(&["append", "a1"], TURN.as_bytes())
        .fails(3, &["line 3"]);
    let shown = place.ok(&["show", "a1", "--format", "jsonl"]);
    let header = before.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    assert_eq!(shown.as_bytes(), &before[header..]);
    reads_without_writing(&place);
}

#[test]
fn a_torn_last_line() {
    let place = damaged(|mut bytes| {
        bytes.extend(b"{\"type\":\"turn/st");
        bytes
    });
    let ran = place.run(&["verify"]);
    assert_eq!(ran.code, 3);
    assert!(ran.out.starts_with("damaged      a1"), "{}", ran.out);
    assert!(ran.out.contains("16 bytes"), "{}", ran.out);
    let verdict = json(&place.run(&["verify", "a1", "--format", "jsonl"]).out);
    let end = fs::read(place.log()).unwrap().len() as u64 - 16;
    assert_eq!(
        (&verdict["line"], &verdict["byte"]),
        (&8.into(), &end.into())
    );
    let shown = place.run(&["show", "a1", "--format", "jsonl"]);
    assert!(shown.out.ends_with("{\"type\":\"turn/st"), "{}", shown.out);
    assert_eq!(shown.err.lines().count(), 1, "{}", shown.err);
    let messages = place.run(&["messages", "a1"]);
    assert_eq!((messages.code, messages.out.lines().count()), (0, 2));
    assert!(messages.err.contains("16 bytes"), "{}", messages.err);
    reads_without_writing(&place);

    let did = json(&place.ok(&["resume", "a1", "--format", "json"]));
    assert_eq!((&did["cutBytes"], &did["closers"]), (&16.into(), &0.into()));
    assert_eq!(place.ok(&["verify", "a1"]), "ok           a1  6 events\n");
}

#[test]
fn a_header_of_another_version() {
    let place = damaged(|bytes| {
        let text = String::from_utf8(bytes).unwrap();
        text.replacen("\"version\":0", "\"version\":9", 1).into()
    });
    let list = json(&place.ok(&["list", "--format", "json"]));
    assert_eq!(
        (&list[0]["id"], &list[0]["status"]),
        (&"a1".into(), &"unsupported".into())
    );
    let ran = place.run(&["verify"]);
    assert_eq!(ran.code, 3);
    assert!(ran.out.starts_with("unsupported  a1"), "{}", ran.out);
    place.run(&["messages", "a1"]).fails(3, &["version"]);
    place
        .feed(&["append", "a1"], TURN.as_bytes())
        .fails(3, &["version"]);
    let shown = place.run(&["show", "a1", "--format", "jsonl"]);
    assert_eq!((shown.code, shown.out.lines().count()), (3, 6));
    reads_without_writing(&place);
}

#[test]
fn no_header_at_all() {
    for bytes in [&b""[..], b"\n", b"not a log\n", b"\xff\xfe\n"] {
        let place = damaged(|_| bytes.to_vec());
        let list = json(&place.ok(&["list", "--format", "json"]));
        assert_eq!(
            (&list[0]["id"], &list[0]["status"]),
            (&"a1".into(), &"damaged".into())
        );
        assert_eq!(place.run(&["verify"]).code, 3);
        assert_eq!(place.run(&["show", "a1"]).code, 3);
        place.run(&["resume", "a1"]).fails(3, &["a1"]);
        reads_without_writing(&place);
    }
}

/// A log that somebody else wrote may hold what append refuses: its history fails, and what is done about it is said.
#[test]
fn a_message_that_cannot_be_shown_is_named_and_replaced() {
    let place = Place::new();
    let file = place.file(
        "m.jsonl",
        concat!(
            r#"{"type":"session","version":0,"id":"m","createdAt":1}"#,
            "\n",
            r#"{"type":"user/message","seq":0,"time":1,"data":null,"surfaceOp":"append"}"#,
            "\n",
        ),
    );
    place.ok(&["import", &file]);
    let messages = place.run(&["messages", "m"]);
    assert_eq!((messages.code, messages.out.as_str()), (3, ""));
    for part in ["session \"m\": event 0", "replace it on the surface"] {
        assert!(messages.err.contains(part), "{}", messages.err);
    }
    assert!(!messages.err.contains("salvage"), "{}", messages.err);
    let refused = r#"{"type":"user/message","data":null,"surfaceOp":"append"}"#;
    let refused = place.feed(&["append", "m"], refused.as_bytes());
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert!(refused.err.contains("line 1"), "{}", refused.err);
    let replacing = r#"{"type":"user/message","data":{"content":"ok"},"sourceEventSeqs":[0],"surfaceOp":{"op":"replace","start":0,"end":0}}"#;
    place.append("m", replacing);
    assert_eq!(place.ok(&["messages", "m"]).lines().count(), 1);
}
