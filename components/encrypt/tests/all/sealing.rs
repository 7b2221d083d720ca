//! What goes down and what comes up again.

use std::fs;

use annals_core::record::read_record;
use annals_core::sealed::Sealed;
use annals_sdk::Persistence;
use annals_sdk::types::{Batch, ErrorCode, SessionHeader, SessionSummary};

use crate::support::{
    acquire, batch, event, files, header, lines, lines_of, mixed, over_files, over_memory, refused,
    root_with, stored,
};

#[test]
fn what_was_given_comes_back_byte_for_byte() {
    let mut backend = over_memory();
    let token = acquire(&mut backend, "a");
    backend.create(&header("a"), &token, &mixed()).unwrap();
    backend.append("a", &token, &batch(7, 3)).unwrap();
    backend
        .append(
            "a",
            &token,
            &Batch {
                count: 0,
                lines: String::new(),
                ..batch(10, 0)
            },
        )
        .unwrap();
    let page = backend.load("a", 0, u32::MAX).unwrap();
    assert_eq!(page.header, Some(header("a")));
    assert_eq!(
        page.lines,
        format!("{}{}", mixed().lines, batch(7, 3).lines)
    );
    assert_eq!((page.raw, page.next, page.at_byte), (None, None, None));
}

#[test]
fn a_header_comes_back_as_it_was_given() {
    let mut backend = over_memory();
    for (number, extra) in [None, Some("{\"x\":{\"y\":[-0.5e3,\"\\ud83d\"]}}")]
        .into_iter()
        .enumerate()
    {
        let id = format!("s{number}");
        let given = SessionHeader {
            extra: extra.map(str::to_owned),
            parent_session: Some("p\"".to_owned()),
            seed_length: Some(3),
            delegation_depth: Some(1),
            ..header(&id)
        };
        let token = acquire(&mut backend, &id);
        backend.create(&given, &token, &batch(0, 0)).unwrap();
        assert_eq!(backend.load(&id, 0, 1).unwrap().header, Some(given.clone()));
        let listed = backend.list(None, 10).unwrap().sessions;
        assert_eq!(listed[number].header, Some(given));
    }
}

/// The backend sees what it needs to see of a record, and so does everything that reads its medium.
#[test]
fn each_line_is_one_record_that_stands_for_the_same_events() {
    let (_root, log) = root_with(&mixed());
    let stored = lines_of(&log);
    assert_eq!(stored.len(), 1 + 5);
    assert!(stored[0].starts_with(
        r#"{"type":"session","version":0,"id":"a","createdAt":42,"cwd":"/w","a":1.0,"#
    ));
    for (line, plain) in stored[1..].iter().zip(mixed().lines.lines()) {
        let sealed = read_record(line.trim_end()).unwrap();
        assert_eq!(sealed, read_record(plain).unwrap());
        assert!(Sealed::read(line.trim_end()).is_some(), "{line}");
    }
}

#[test]
fn nothing_on_the_medium_says_what_was_said() {
    let (root, _) = root_with(&mixed());
    let mut backend = over_files(root.path());
    let summary = SessionSummary {
        title: Some("secret title".to_owned()),
        first_prompt: Some("secret prompt".to_owned()),
    };
    backend.update("a", &summary).unwrap();
    let token = acquire(&mut backend, "a");
    backend.append("a", &token, &batch(7, 2)).unwrap();
    backend.truncate("a", &token, 5).unwrap();
    let files = files(root.path());
    let names: Vec<_> = files.keys().filter_map(|path| path.extension()).collect();
    for due in ["jsonl", "summary", "torn"] {
        assert!(names.iter().any(|name| *name == due), "{names:?}");
    }
    for (path, bytes) in files {
        let text = String::from_utf8_lossy(&bytes);
        for word in ["secret", "text-chunks", "\\u0062", "prompt\""] {
            assert!(!text.contains(word), "{word} is in {}", path.display());
        }
    }
}

#[test]
fn the_same_text_is_never_sealed_the_same_way() {
    let (root, log) = root_with(&batch(0, 1));
    stored(&mut over_files(root.path()), "b", &batch(0, 1));
    let other = crate::support::log_of(root.path(), "b");
    assert_ne!(lines_of(&log)[1], lines_of(&other)[1]);
}

/// Written by the first version: what it stored opens for ever.
#[test]
fn a_log_of_the_first_format_opens() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("_no-cwd");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("kept.jsonl"), include_str!("kept.jsonl")).unwrap();
    let mut backend = over_files(root.path());
    assert_eq!(lines(&mut backend, "kept").unwrap(), mixed().lines);
}

#[test]
fn a_batch_that_is_none_is_refused() {
    let mut backend = over_memory();
    let token = acquire(&mut backend, "a");
    for (lines, count) in [
        (event(0).trim_end().to_owned(), 1),
        ("{\n".to_owned(), 1),
        (event(1), 1),
        ([event(0), event(2)].concat(), 2),
    ] {
        let batch = Batch {
            lines,
            count,
            ..batch(0, 0)
        };
        let created = backend.create(&header("a"), &token, &batch);
        refused(created, ErrorCode::Invalid, "batch-invalid");
    }
    let created = backend.create(&header("a"), &token, &batch(1, 1));
    refused(created, ErrorCode::SeqConflict, "append-seq-mismatch");
    let extra = Some("{".to_owned());
    let created = backend.create(
        &SessionHeader {
            extra,
            ..header("a")
        },
        &token,
        &batch(0, 1),
    );
    refused(created, ErrorCode::Invalid, "header-not-json");
    assert!(!backend.has("a").unwrap());
}

// Such a line is no record, so the batch was called invalid before the backend was asked.
#[test]
fn a_batch_beyond_every_log_is_a_gap_like_any_other() {
    let root = tempfile::tempdir().unwrap();
    let mut backend = over_files(root.path());
    stored(&mut backend, "a", &batch(0, 2));
    let token = acquire(&mut backend, "b");
    let before = files(root.path());
    let of_one = |first_seq: u64| Batch {
        first_seq,
        lines: event(first_seq),
        ..batch(0, 1)
    };
    for first_seq in [3, 1 << 53, u64::MAX / 2] {
        let created = backend.create(&header("b"), &token, &of_one(first_seq));
        assert_eq!(created.unwrap_err().code, ErrorCode::SeqConflict);
        assert_eq!(files(root.path()), before);
    }
    backend.release(Some("b"), &token).unwrap();
    let token = acquire(&mut backend, "a");
    for first_seq in [3, 1 << 53, u64::MAX / 2] {
        let appended = backend.append("a", &token, &of_one(first_seq));
        assert_eq!(appended.unwrap_err().code, ErrorCode::SeqConflict);
        assert_eq!(lines(&mut backend, "a").unwrap(), batch(0, 2).lines);
    }
}
