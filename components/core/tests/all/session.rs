use annals_core::fault::Reason;
use annals_core::fault::{Class, Fault};
use annals_core::header::Header;
use annals_core::session::Session;
use serde_json::{Value, json};

use crate::vectors::{cases, fixtures, label, lines, same};

fn header() -> Header {
    Header {
        id: "s".into(),
        ..Header::default()
    }
}

fn seeded(text: &str) -> Session {
    Session::from_seed(header(), text).unwrap()
}

#[test]
fn constructs_as_the_vectors_do() {
    for case in cases("session-construct") {
        let (name, input, expect) = (&case["name"], &case["input"], &case["expect"]);
        if !input["header"].is_null() && !expect["ok"].is_object() {
            continue;
        }
        match Session::from_seed(header(), &lines(&input["seed"])) {
            Ok(session) => {
                let expect = &expect["ok"];
                assert_eq!(
                    expect["seq"].as_u64(),
                    Some(session.next_seq()),
                    "{name}: {expect}"
                );
                assert_eq!(
                    json!(session.surface().nodes().collect::<Vec<_>>()),
                    expect["nodes"],
                    "{name}"
                );
                assert_eq!(
                    json!(session.surface().generation()),
                    expect["replaceGeneration"],
                    "{name}"
                );
            }
            Err(fault) if expect["error"]["kind"] == "host_type_error" => drop(fault),
            Err(fault) => assert_eq!(
                fault.reason.label(),
                label(&expect["error"]["kind"]),
                "{name}: {fault}"
            ),
        }
    }
}

/// The reference takes these in and then refuses to load its own log; what Annals accepts opens again.
#[test]
fn what_loading_refuses_is_refused_at_append() {
    let cases = [
        (
            r#"{"type":"assistant/message","data":{"content":[]},"surfaceOp":"append"}"#,
            Reason::SeedAssistantWithoutProvenance,
        ),
        (
            r#"{"type":"request/header","data":{"header":{"config":{}}}}"#,
            Reason::SeedHeaderWithoutProviderModel,
        ),
        (
            r#"{"type":"turn/end","data":{"reason":{"kind":"aborted","reason":"user"}}}"#,
            Reason::SeedLegacyAborted,
        ),
        // A stored line of such a type is a packed row, and no event is one.
        (
            r#"{"type":"text-chunks","data":{}}"#,
            Reason::AppendEnvelopeInvalid,
        ),
        (
            r#"{"type":"tool\u002dcall-chunks","data":{}}"#,
            Reason::AppendEnvelopeInvalid,
        ),
    ];
    for (line, reason) in cases {
        let mut session = seeded("");
        assert_eq!(
            session.append(line, 5).unwrap_err().reason,
            reason,
            "{line}"
        );
        assert_eq!(session.next_seq(), 0, "{line}");
    }
}

fn derived(session: &mut Session) -> Value {
    let page = session.messages(0, u32::MAX).unwrap();
    let messages: Vec<Value> = page
        .lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    json!({ "messages": messages, "nodes": session.surface().nodes().collect::<Vec<_>>(), "replaceGeneration": page.generation })
}

#[test]
fn fixture_logs_give_what_is_expected() {
    let Some(folder) = fixtures() else { return };
    let expected: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("expected.json")).unwrap())
            .unwrap();
    for log in expected["logs"].as_array().unwrap() {
        let name = log["file"].as_str().unwrap();
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let body = text.split_once('\n').unwrap().1;
        let mut session = match Session::from_seed(header(), body) {
            Ok(session) => session,
            Err(fault) => {
                assert_eq!(
                    fault.reason.label(),
                    label(&log["seed"]["error"]["kind"]),
                    "{name}: {fault}"
                );
                continue;
            }
        };
        assert_eq!(log["seed"], "accepted", "{name}");
        assert_eq!(log["events"].as_u64(), Some(session.next_seq()), "{name}");
        assert_eq!(session.stored_from(0).lines, body, "{name}");
        let found = derived(&mut session);
        assert!(same(&found["messages"], &log["messages"]), "{name}");
        assert!(same(&found["nodes"], &log["surface"]), "{name}");
        let found = session.closers();
        let found = Value::Array(
            found
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
        );
        assert!(same(&found, &log["closers"]), "{name}");
    }
}

const TURN: &str = r#"{"type":"turn/start","data":{"turn":1}}
{"type":"user/message","data":{"content":"hi","source":{"kind":"user"}},"surfaceOp":"append"}
{"type":"turn/end","data":{"turn":1}}
"#;

#[test]
fn a_refused_batch_leaves_no_trace() {
    let mut session = Session::new(header()).unwrap();
    session.append(TURN, 5).unwrap();
    assert_eq!(session.messages(0, 100).unwrap().total, 1);
    let before = (
        session.stored_from(0).lines.into_owned(),
        session.surface().clone(),
        session.last_time_ms(),
    );
    let rewrite = r#"{"type":"user/message","data":{"content":"x"},"sourceEventSeqs":[1],"surfaceOp":{"op":"replace","start":1,"end":1}}"#;
    let fault = session
        .append(&format!("{TURN}{rewrite}\n{rewrite}\n"), 9)
        .unwrap_err();
    assert_eq!(
        (fault.reason.label(), fault.number_of("line")),
        ("replace-start-not-found", Some(5))
    );
    let after = (
        session.stored_from(0).lines.into_owned(),
        session.surface().clone(),
        session.last_time_ms(),
    );
    assert_eq!(before, after);
    assert_eq!(session.messages(0, 100).unwrap().total, 1);
    assert_eq!(session.append(TURN, 9).unwrap().first_seq, 3);
}

#[test]
fn what_is_no_event_to_append_is_named() {
    let cases: &[(&str, &str)] = &[
        ("{", "json-syntax"),
        ("", "json-syntax"),
        ("[]", "append-envelope-invalid"),
        (r#"{"data":1}"#, "append-envelope-invalid"),
        (r#"{"type":1,"data":1}"#, "append-envelope-invalid"),
        (r#"{"type":"x","data":1,"id":1}"#, "append-envelope-invalid"),
        (
            r#"{"type":"x","data":1,"time":-1}"#,
            "append-envelope-invalid",
        ),
        (
            r#"{"type":"x","data":1,"time":9007199254740992}"#,
            "append-envelope-invalid",
        ),
        (
            r#"{"type":"x","data":1,"seq":"0"}"#,
            "append-envelope-invalid",
        ),
        (r#"{"type":"x","data":1,"seq":1}"#, "append-seq-mismatch"),
        (r#"{"type":"x"}"#, "append-data-not-json"),
        (r#"{"type":"x","data":{"a":[-0]}}"#, "append-data-not-json"),
        (r#"{"type":"x","data":1e999}"#, "append-data-not-json"),
        (
            r#"{"type":"user/message","data":1,"surfaceOp":{"end":-0}}"#,
            "append-surface-metadata-not-json",
        ),
        (
            r#"{"type":"x","data":1,"seq":-0}"#,
            "append-envelope-invalid",
        ),
    ];
    let mut session = Session::new(header()).unwrap();
    for (line, reason) in cases {
        let fault = session.append(&format!("{line}\n"), 1).unwrap_err();
        assert_eq!(fault.reason.label(), *reason, "{line}: {fault}");
    }
    let path = |fault: Fault| {
        fault
            .facts
            .iter()
            .find(|(name, _)| *name == "path")
            .cloned()
    };
    let fault = session
        .append("{\"type\":\"x\",\"data\":{\"a\":[-0]}}\n", 1)
        .unwrap_err();
    assert!(
        fault.message.contains("\"x\"")
            && path(fault.clone())
                .is_some_and(|(_, fact)| format!("{fact:?}").contains("/data/a/0"))
    );
    assert_eq!(
        session
            .append("{\"type\":\"x\",\"data\":1,\"seq\":1}", 1)
            .unwrap_err()
            .class(),
        Class::SeqConflict
    );
    assert_eq!(session.next_seq(), 0);
}

#[test]
fn parts_of_an_appended_line_keep_their_bytes() {
    let mut session = Session::new(header()).unwrap();
    let line = "{ \"surfaceOp\" : \"append\", \"data\": {\"n\":1.50, \"s\":\"\\ud83d\"} , \"time\":7.0, \"type\":\"user\\/message\",\"seq\":0}\r\n";
    let appended = session.append(line, 1).unwrap();
    assert_eq!(
        appended.lines,
        "{\"type\":\"user\\/message\",\"seq\":0,\"time\":7,\"data\":{\"n\":1.50, \"s\":\"\\ud83d\"},\"surfaceOp\":\"append\"}\n"
    );
    assert_eq!(
        (
            appended.count,
            appended.last_time_ms,
            session.surface().nodes().collect::<Vec<_>>()
        ),
        (1, 7, vec![0])
    );
    assert_eq!(session.append("", 1).unwrap().count, 0);
}

#[test]
fn pages_are_bounded_and_whole() {
    let row = r#"{"type":"text-chunks","seq0":3,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c"]}}"#;
    let mut session = Session::new(header()).unwrap();
    let first = session.append(TURN, 5).unwrap().lines;
    let mut session = seeded(&format!("{first}{row}\n"));
    let all = session.events(0, u32::MAX).unwrap();
    assert_eq!((all.lines.lines().count(), all.next), (6, None));
    for bytes_max in [0, 1, 100, 200, 1000] {
        let (mut text, mut next) = (String::new(), Some(0));
        while let Some(start) = next {
            let page = session.events(start, bytes_max).unwrap();
            assert!(page.lines.lines().count() == 1 || page.lines.len() <= bytes_max as usize);
            text.push_str(&page.lines);
            next = page.next;
        }
        assert_eq!(text, all.lines, "{bytes_max}");
    }
    assert_eq!(session.events(6, 1).unwrap().next, None);
    assert_eq!(
        session.events(7, 1).unwrap_err().reason.label(),
        "start-beyond-end"
    );
    assert_eq!(session.messages(1, 1).unwrap().lines, "");
    assert_eq!(
        session.messages(2, 1).unwrap_err().reason.label(),
        "start-beyond-end"
    );
    let stored = session.stored_from(3);
    assert_eq!(
        (stored.first_seq, stored.count, stored.last_time_ms),
        (3, 3, 3)
    );
    assert_eq!(stored.lines, format!("{row}\n"));
}

/// A row can stand for far more bytes than it has: a page of it takes the time and memory of a page.
#[test]
fn a_page_of_a_long_row_expands_no_more_than_it_shows() {
    let count = 300_000;
    let row = format!(
        r#"{{"type":"text-chunks","seq0":0,"time0":1,"data":{{"turn":1,"step":1,"index":0,"dt":[{}],"texts":[{}]}}}}"#,
        vec!["1"; count - 1].join(","),
        vec!["\"\""; count].join(",")
    );
    let session = seeded(&row);
    let all = session.events(0, u32::MAX).unwrap().lines;
    for start in [0, 1, 150_000, 299_999] {
        let page = session.events(start, 1000).unwrap();
        let whole = all.lines().nth(start as usize).unwrap();
        assert_eq!(page.lines.lines().next(), Some(whole));
        assert!(page.lines.capacity() < 4096, "{}", page.lines.capacity());
        assert!(
            page.next
                .is_none_or(|next| next > start && next < start + 20)
        );
    }
}

#[test]
fn a_fork_takes_whole_turns() {
    let mut session = Session::new(header()).unwrap();
    assert_eq!(session.prefix(None).unwrap().count, 0);
    assert_eq!(
        session.prefix(Some(0)).unwrap_err().reason.label(),
        "fork-invalid-boundary"
    );
    let first = session.append(TURN, 5).unwrap().lines;
    session.append(TURN, 6).unwrap();
    assert_eq!(session.prefix(None).unwrap().count, 6);
    let prefix = session.prefix(Some(2)).unwrap();
    assert_eq!((prefix.count, prefix.last_time_ms), (3, 5));
    assert_eq!(prefix.lines, first);
    assert_eq!(
        session.prefix(Some(1)).unwrap_err().reason.label(),
        "fork-open-turn"
    );
    assert_eq!(
        session.prefix(Some(6)).unwrap_err().reason.label(),
        "fork-invalid-boundary"
    );
    session
        .append("{\"type\":\"turn/start\",\"data\":{\"turn\":3}}", 7)
        .unwrap();
    assert_eq!(
        session.prefix(None).unwrap_err().reason.label(),
        "fork-open-turn"
    );
}

#[test]
fn the_first_prompt_is_cut_at_200_characters() {
    let mut session = Session::new(header()).unwrap();
    assert_eq!(session.first_prompt(), None);
    for (length, expected) in [(200, 200), (201, 200)] {
        let text = "é".repeat(length);
        let mut session = session.clone();
        let line = format!(
            r#"{{"type":"user/message","data":{{"content":"{text}","source":{{"kind":"user"}}}},"surfaceOp":"append"}}"#
        );
        session.append(&line, 1).unwrap();
        assert_eq!(session.first_prompt().unwrap().chars().count(), expected);
    }
    let mut later = session.clone();
    let line = r#"{"type":"user/message","data":{"content":"p","source":{"kind":"user"}},"surfaceOp":"append"}"#;
    later.append(&format!("{line}\n{line}\n"), 1).unwrap();
    let seqs = [(0..0, false), (0..1, true), (1..2, true), (2..9, false)];
    for (seqs, is_there) in seqs {
        assert_eq!(later.first_prompt_in(seqs).is_some(), is_there);
    }
    session.append("{\"type\":\"user/message\",\"data\":{\"content\":\"n\",\"source\":{\"kind\":\"plugin\"}},\"surfaceOp\":\"append\"}", 1).unwrap();
    assert_eq!(session.first_prompt(), None);
}
