//! Storing more.

use std::fs;
use std::rc::Rc;

use annals_sdk::Persistence;
use annals_sdk::types::{Batch, ErrorCode};

use crate::support::{Fate, Faulty, Stand, batch, event, lines, refused, row};

#[test]
fn batches_follow_each_other() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 2);
    stand.backend.append("s", &token, &batch(2, 3)).unwrap();
    stand.backend.append("s", &token, &batch(5, 0)).unwrap();
    for wrong in [4, 6] {
        let result = stand.backend.append("s", &token, &batch(wrong, 1));
        let error = refused(result, ErrorCode::SeqConflict, "append-seq-mismatch");
        assert_eq!(
            error.detail,
            format!(r#"{{"id":"s","expected":5,"actual":{wrong}}}"#)
        );
    }
    let packed = Batch {
        first_seq: 5,
        count: 3,
        last_time_ms: 0,
        lines: row(5),
    };
    stand.backend.append("s", &token, &packed).unwrap();
    assert_eq!(
        lines(&mut stand.other(), "s"),
        format!("{}{}", batch(0, 5).lines, row(5))
    );
}

#[test]
fn the_next_seq_is_the_one_on_the_medium() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 0);
    for seq in 0..4 {
        // nothing is remembered by a new backend, not even the lease
        let mut other = stand.other();
        let result = other.append("s", &token, &batch(seq + 1, 1));
        refused(result, ErrorCode::SeqConflict, "append-seq-mismatch");
        other.append("s", &token, &batch(seq, 1)).unwrap();
    }
    stand.backend.append("s", &token, &batch(4, 1)).unwrap();
    // a last line longer than any block
    let long = format!(
        "{{\"type\":\"x\",\"seq\":5,\"time\":1,\"data\":\"{}\"}}\n",
        "y".repeat(300_000)
    );
    let long = Batch {
        first_seq: 5,
        count: 1,
        last_time_ms: 1,
        lines: long,
    };
    stand.backend.append("s", &token, &long).unwrap();
    stand.other().append("s", &token, &batch(6, 1)).unwrap();
}

#[test]
fn a_bad_end_is_corrupt_and_stays_as_it_is() {
    let head = "{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":42}\n";
    let table: [(&[u8], &str); 5] = [
        (b"{\"type\":\"x\",\"se", "log-torn"),
        (b"{oops\n", "log-corrupt-unparsable"),
        (b"\n", "log-corrupt-unparsable"),
        (b"\xff\n", "log-corrupt-unparsable"),
        (b"\0\0\0\0", "log-torn"),
    ];
    for (bad, reason) in table {
        let mut stand = Stand::new();
        let content = [head.as_bytes(), event(0).as_bytes(), bad].concat();
        stand.write("_no-cwd/s.jsonl", &content);
        let token = stand.acquire("s");
        let result = stand.backend.append("s", &token, &batch(1, 1));
        refused(result, ErrorCode::Corrupt, reason);
        assert_eq!(fs::read(stand.path("_no-cwd/s.jsonl")).unwrap(), content);
    }
    let mut stand = Stand::new();
    stand.write("_no-cwd/s.jsonl", "");
    let token = stand.acquire("s");
    refused(
        stand.backend.append("s", &token, &batch(0, 1)),
        ErrorCode::Corrupt,
        "log-empty",
    );
    let unknown = stand.acquire("t");
    refused(
        stand.backend.append("t", &unknown, &batch(0, 1)),
        ErrorCode::NotFound,
        "session-not-found",
    );
}

// CX#24425: a write failed within a batch, the retry left two fused copies. GEM#27277: a full disk went unnoticed.
#[test]
fn a_batch_that_failed_is_taken_back_and_can_be_retried() {
    for at in 0..2 {
        let mut stand = Stand::new();
        let token = stand.stored("s", 2);
        let before = stand.text("_no-cwd/s.jsonl");
        let files = Rc::new(Faulty::new(at, Fate::Fail));
        let mut backend = crate::support::backend(stand.root.path(), files, &[]);
        let result = backend.append("s", &token, &batch(2, 2));
        refused(result, ErrorCode::NoSpace, "io-no-space");
        assert_eq!(stand.text("_no-cwd/s.jsonl"), before, "{at}");
        backend.append("s", &token, &batch(2, 2)).unwrap();
        assert_eq!(lines(&mut stand.other(), "s"), batch(0, 4).lines);
    }
}

/// Whoever is told to try again would store twice what the medium kept.
#[test]
fn a_batch_that_could_not_be_taken_back_is_said_to_be_there_perhaps() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 2);
    let files = Rc::new(Faulty::new(0, Fate::Tear));
    let mut backend = crate::support::backend(stand.root.path(), files, &[]);
    let error = backend.append("s", &token, &batch(2, 2)).unwrap_err();
    assert!(error.message.contains("may be stored"), "{}", error.message);
}

// kern-ai#305: an append to a long session read all of it.
#[test]
fn an_append_reads_only_the_end() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 40_000);
    let files = Rc::new(Faulty::new(u64::MAX, Fate::Fail));
    let bytes_read = Rc::clone(&files.bytes_read);
    let mut backend = crate::support::backend(stand.root.path(), files, &[]);
    backend.append("s", &token, &batch(40_000, 1)).unwrap();
    assert!(bytes_read.get() < 64 << 10, "{}", bytes_read.get());
    let before = bytes_read.get();
    backend.append("s", &token, &batch(40_001, 1)).unwrap();
    assert!(bytes_read.get() - before < 1 << 10);
}
