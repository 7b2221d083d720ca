//! Listing.

use std::fs;
use std::rc::Rc;

use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, SessionEntry, SessionStatus};

use crate::support::{Fate, Faulty, Stand, batch, event, header, refused};

fn listed(stand: &mut Stand, count_max: u32) -> Vec<SessionEntry> {
    let mut entries = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let listing = stand.backend.list(cursor.as_deref(), count_max).unwrap();
        assert!(listing.sessions.len() <= count_max.max(1) as usize);
        entries.extend(listing.sessions);
        match listing.next {
            Some(next) => cursor = Some(next),
            None => return entries,
        }
    }
}

#[test]
fn pages_hold_every_session_once_by_place_and_name() {
    let mut stand = Stand::new();
    let places = [
        (None, "b"),
        (None, "a"),
        (None, "a-b"),
        (Some("/w"), "z"),
        (Some("/"), "y"),
    ];
    for (cwd, id) in places {
        let token = stand.acquire(id);
        let mut header = header(id);
        header.cwd = cwd.map(str::to_owned);
        stand.backend.create(&header, &token, &batch(0, 2)).unwrap();
    }
    // no logs
    stand.write("_no-cwd/readme.txt", "x");
    stand.write("_no-cwd/s.jsonl.0123.tmp", "x");
    stand.write("top.jsonl", "x");
    fs::create_dir_all(stand.path("cwd-empty")).unwrap();
    fs::create_dir_all(stand.path("zzz")).unwrap();
    for count_max in [0, 1, 2, 3, 5, 100] {
        let entries = listed(&mut stand, count_max);
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["a", "a-b", "b", "y", "z"], "{count_max}");
        for entry in entries {
            assert_eq!((entry.status, entry.note), (SessionStatus::Ok, None));
            assert_eq!(entry.updated_at_ms, Some(1001));
            assert_eq!(entry.header.unwrap().id, entry.id);
        }
    }
    // a cursor works in a backend that did not give it, also when its session is gone
    let next = stand.backend.list(None, 2).unwrap().next.unwrap();
    fs::remove_file(stand.path("_no-cwd/a-b.jsonl")).unwrap();
    let rest = stand.other().list(Some(&next), 9).unwrap();
    let ids: Vec<&str> = rest
        .sessions
        .iter()
        .map(|entry| entry.id.as_str())
        .collect();
    assert_eq!(ids, ["b", "y", "z"]);
    for cursor in ["", "x", "a/b/c"] {
        refused(
            stand.backend.list(Some(cursor), 9),
            ErrorCode::Invalid,
            "cursor-invalid",
        );
    }
}

type Case = (&'static str, Vec<u8>, SessionStatus, Option<u64>);

fn bad_and_odd_sessions() -> [Case; 12] {
    let head = |id: &str| {
        format!("{{\"type\":\"session\",\"version\":0,\"id\":{id:?},\"createdAt\":42}}\n")
    };
    let version = "{\"type\":\"session\",\"version\":3,\"id\":\"h\",\"createdAt\":42}\n";
    let long = format!(
        "{{\"type\":\"x\",\"seq\":0,\"time\":7,\"data\":\"{}\"}}\n",
        "y".repeat(100_000)
    );
    [
        ("a", vec![], SessionStatus::Damaged, None),
        ("b", head("b").into_bytes(), SessionStatus::Ok, None),
        ("c", b"{oops\n".to_vec(), SessionStatus::Damaged, None),
        (
            "d",
            head("d").trim_end().as_bytes().to_vec(),
            SessionStatus::Damaged,
            None,
        ),
        ("e", b"\xff\n".to_vec(), SessionStatus::Damaged, None),
        (
            "f",
            format!("{}{}torn", head("f"), event(0)).into_bytes(),
            SessionStatus::Damaged,
            None,
        ),
        (
            "g",
            format!("{}{}{{oops\n", head("g"), event(0)).into_bytes(),
            SessionStatus::Damaged,
            None,
        ),
        (
            "h",
            version.as_bytes().to_vec(),
            SessionStatus::Unsupported,
            None,
        ),
        (
            "i",
            head("other").into_bytes(),
            SessionStatus::Damaged,
            None,
        ),
        (
            "j",
            format!("{}{}", head("j"), event(3)).into_bytes(),
            SessionStatus::Ok,
            Some(1003),
        ),
        (
            "k",
            format!("{}{long}", head("k")).into_bytes(),
            SessionStatus::Ok,
            None,
        ),
        ("x/y", b"{oops\n".to_vec(), SessionStatus::Damaged, None),
    ]
}

// kern-ai#300: an empty file failed the whole list. CC#53821: a file with a header alone is a session.
#[test]
fn bad_sessions_are_listed_as_bad() {
    let mut stand = Stand::new();
    let table = bad_and_odd_sessions();
    for (id, content, _, _) in &table {
        let name = annals_jsonl::paths::encode_id(id).unwrap();
        stand.write(&format!("_no-cwd/{name}.jsonl"), content);
    }
    stand.write("_no-cwd/j.summary", "{}");
    let entries = listed(&mut stand, 100);
    assert_eq!(entries.len(), table.len());
    for (entry, (id, _, status, updated_at_ms)) in entries.iter().zip(&table) {
        assert_eq!(
            (entry.id.as_str(), entry.status),
            (*id, *status),
            "{entry:?}"
        );
        assert_eq!(entry.updated_at_ms, *updated_at_ms, "{entry:?}");
        assert_eq!(entry.note.is_some(), *status != SessionStatus::Ok);
        assert!(stand.backend.has(id).unwrap());
    }
    stand.write("_no-cwd/j.summary", "{oops");
    let entry = &listed(&mut stand, 100)[9];
    assert_eq!(entry.status, SessionStatus::Damaged);
    assert!(entry.note.as_ref().unwrap().contains("j.summary"));
}

#[test]
fn listing_reads_little_of_long_logs() {
    let mut stand = Stand::new();
    for session in 0..10 {
        let token = stand.stored(&format!("s{session}"), 20_000);
        let body = "y".repeat(session * 10_000);
        let line = format!("{{\"type\":\"x\",\"seq\":20000,\"time\":7,\"data\":\"{body}\"}}\n");
        let last = annals_sdk::types::Batch {
            first_seq: 20_000,
            count: 1,
            last_time_ms: 7,
            lines: line,
        };
        stand
            .backend
            .append(&format!("s{session}"), &token, &last)
            .unwrap();
    }
    let files = Rc::new(Faulty::new(u64::MAX, Fate::Fail));
    let bytes_read = Rc::clone(&files.bytes_read);
    stand.backend = crate::support::backend(stand.root.path(), files, &[]);
    assert_eq!(listed(&mut stand, 100).len(), 10);
    assert!(bytes_read.get() < 10 * (72 << 10), "{}", bytes_read.get());
}
