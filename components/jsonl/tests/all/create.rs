//! Storing a new session.

use std::fs;

use annals_sdk::Persistence;
use annals_sdk::types::{Batch, ErrorCode, SessionStatus};

use crate::support::{Stand, batch, event, header, lines, refused};

#[test]
fn header_and_first_batch_are_one_file() {
    let mut stand = Stand::new();
    let token = stand.acquire("s");
    let mut header = header("s");
    header.cwd = Some("/w".to_owned());
    header.parent_session = Some("p".to_owned());
    header.seed_length = Some(2);
    header.delegation_depth = Some(3);
    header.extra = Some(r#"{"x":1.0}"#.to_owned());
    stand.backend.create(&header, &token, &batch(0, 2)).unwrap();
    assert_eq!(stand.files(), ["cwd-d1bb8ca35467/s.jsonl"]);
    let expected = concat!(
        r#"{"type":"session","version":0,"id":"s","createdAt":42,"cwd":"/w","parentSession":"p","#,
        r#""seedLength":2,"delegationDepth":3,"x":1.0}"#,
        "\n"
    );
    assert_eq!(
        stand.text("cwd-d1bb8ca35467/s.jsonl"),
        format!("{expected}{}{}", event(0), event(1))
    );
    let page = stand.backend.load("s", 0, 1 << 20).unwrap();
    assert_eq!(page.header, Some(header));
}

#[test]
fn an_empty_batch_stores_the_header_alone() {
    let mut stand = Stand::new();
    stand.stored("s", 0);
    assert_eq!(
        stand.text("_no-cwd/s.jsonl"),
        "{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":42}\n"
    );
}

#[test]
fn an_id_is_stored_once_whatever_its_cwd() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let before = stand.text("_no-cwd/s.jsonl");
    let mut elsewhere = header("s");
    elsewhere.cwd = Some("/w".to_owned());
    for header in [header("s"), elsewhere] {
        let again = stand.backend.create(&header, &token, &batch(0, 3));
        refused(again, ErrorCode::AlreadyExists, "session-already-exists");
    }
    assert_eq!(stand.files(), ["_no-cwd/s.jsonl"]);
    assert_eq!(stand.text("_no-cwd/s.jsonl"), before);
}

#[test]
fn what_breaks_a_rule_stores_nothing() {
    let mut stand = Stand::new();
    let token = stand.acquire("s");
    let mut relative = header("s");
    relative.cwd = Some("w".to_owned());
    let result = stand.backend.create(&relative, &token, &batch(0, 1));
    refused(result, ErrorCode::Invalid, "header-cwd-not-absolute");
    let result = stand.backend.create(&header("s"), &token, &batch(1, 1));
    refused(result, ErrorCode::SeqConflict, "append-seq-mismatch");
    let torn = Batch {
        lines: event(0).trim_end().to_owned(),
        ..batch(0, 1)
    };
    let result = stand.backend.create(&header("s"), &token, &torn);
    refused(result, ErrorCode::Invalid, "batch-invalid");
    let other = Batch {
        lines: event(5),
        ..batch(0, 1)
    };
    let result = stand.backend.create(&header("s"), &token, &other);
    refused(result, ErrorCode::Invalid, "batch-invalid");
    for line in [
        "no json\n",
        "{\"seq\":\"0\"}\n",
        "{\"type\":\"text-chunks\",\"seq\":0}\n",
    ] {
        let unreadable = Batch {
            lines: line.to_owned(),
            ..batch(0, 1)
        };
        // not corrupt: nothing is wrong with what is stored
        let result = stand.backend.create(&header("s"), &token, &unreadable);
        refused(result, ErrorCode::Invalid, "batch-invalid");
    }
    let mut long = header("s");
    long.extra = Some(format!("{{\"x\":\"{}\"}}", "x".repeat(16 << 20)));
    let result = stand.backend.create(&long, &token, &batch(0, 1));
    let error = refused(result, ErrorCode::Limit, "limit-reached");
    assert!(
        error.detail.contains("header-bytes-max"),
        "{}",
        error.detail
    );
    let result = stand.backend.create(&header("s"), "1.x", &batch(0, 1));
    refused(result, ErrorCode::Busy, "lease-lost");
    assert!(stand.files().is_empty());
    stand
        .backend
        .create(&header("s"), &token, &batch(0, 1))
        .unwrap();
}

#[test]
fn hostile_ids_stay_in_their_bucket() {
    let mut stand = Stand::new();
    let long = "é".repeat(5000);
    let ids = [
        "../x",
        "..",
        ".",
        "/etc/passwd",
        "a\0b",
        "con",
        "trailing.",
        "~root",
        "_leases",
        &long,
    ];
    for id in ids {
        let token = stand.stored(id, 2);
        stand.backend.append(id, &token, &batch(2, 1)).unwrap();
        let mut other = stand.other();
        assert!(other.has(id).unwrap());
        assert_eq!(lines(&mut other, id), batch(0, 3).lines);
    }
    let listing = stand.backend.list(None, 100).unwrap();
    let mut listed: Vec<&str> = listing
        .sessions
        .iter()
        .map(|entry| entry.id.as_str())
        .collect();
    listed.sort_unstable();
    let mut expected = ids.to_vec();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    for file in stand.files() {
        assert!(file.starts_with("_no-cwd/"), "{file}");
        assert!(file.len() - "_no-cwd/".len() < 143, "{file}");
    }
    refused(
        stand.backend.has(""),
        ErrorCode::Invalid,
        "empty-path-segment",
    );
}

#[test]
fn other_things_in_the_place_of_a_log_are_never_replaced() {
    let mut stand = Stand::new();
    fs::create_dir_all(stand.path("_no-cwd/s.jsonl")).unwrap();
    let token = stand.acquire("s");
    let result = stand.backend.create(&header("s"), &token, &batch(0, 1));
    refused(result, ErrorCode::AlreadyExists, "session-already-exists");
    stand.write("_no-cwd/t.jsonl", "garbage\n");
    let token = stand.acquire("t");
    let result = stand.backend.create(&header("t"), &token, &batch(0, 1));
    refused(result, ErrorCode::AlreadyExists, "session-already-exists");
    assert_eq!(stand.text("_no-cwd/t.jsonl"), "garbage\n");
    assert_eq!(stand.files(), ["_no-cwd/t.jsonl"]);
}

// A plugin can put a link into the root that points out of it: native code must not follow it.
#[cfg(unix)]
#[test]
fn a_link_out_of_the_root_is_not_followed() {
    let mut stand = Stand::new();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(
        &secret,
        "{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":1}\n",
    )
    .unwrap();
    fs::create_dir_all(stand.path("_no-cwd")).unwrap();
    std::os::unix::fs::symlink(&secret, stand.path("_no-cwd/s.jsonl")).unwrap();
    std::os::unix::fs::symlink(outside.path(), stand.path("cwd-0")).unwrap();
    let entries = stand.backend.list(None, 9).unwrap().sessions;
    let shown: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(shown, ["s", "cwd-0"]);
    for entry in entries {
        let note = entry.note.unwrap();
        assert!(
            note.contains("is a symbolic link") && note.contains("not followed"),
            "{note}"
        );
        assert_eq!((entry.status, entry.header), (SessionStatus::Damaged, None));
    }
    assert!(stand.backend.has("s").unwrap());
    let token = stand.acquire("s");
    let not_a_file = |result| refused(result, ErrorCode::Corrupt, "not-a-file");
    not_a_file(stand.backend.load("s", 0, 99).map(drop));
    not_a_file(stand.backend.append("s", &token, &batch(0, 1)));
    not_a_file(stand.backend.delete("s", &token));
    let created = stand.backend.create(&header("s"), &token, &batch(0, 1));
    refused(created, ErrorCode::AlreadyExists, "session-already-exists");
}

// CC#86707: session files were readable by everybody under umask 000.
#[cfg(unix)]
#[test]
fn files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let mut stand = Stand::new();
    stand.stored("s", 1);
    let mode = |path: &str| fs::metadata(stand.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("_no-cwd"), mode("_no-cwd/s.jsonl")), (0o700, 0o600));
}

/// Somebody made a FIFO where the log was due, and `create` waited for its other end for ever.
#[cfg(unix)]
#[test]
fn what_is_no_file_in_the_place_of_a_log_is_not_opened() {
    let mut stand = Stand::new();
    stand.stored("other", 0);
    let pipe = stand.path("_no-cwd/s.jsonl");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let token = stand.acquire("s");
    let created = stand.backend.create(&header("s"), &token, &batch(0, 1));
    refused(created, ErrorCode::AlreadyExists, "session-already-exists");
}
