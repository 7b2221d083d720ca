//! Listing costs by the number of sessions, not by their length.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::command::{annals, log_path};
use crate::trace::trace;

const SESSIONS: usize = 10;
const LOG_BYTES: u64 = 100_000_000;
const LISTING_BYTES_MAX: u64 = 1 << 20;

/// Lengthen a header-only log to `LOG_BYTES` with events whose seqs follow each other.
fn fill(log: &Path) {
    let before = log.metadata().unwrap().len();
    let mut file = BufWriter::new(OpenOptions::new().append(true).open(log).unwrap());
    let text = "x".repeat(32_000);
    let mut bytes = before;
    let mut seq = 0_u64;
    while bytes < LOG_BYTES {
        let line = format!(
            "{{\"type\":\"note\",\"seq\":{seq},\"time\":{},\"data\":{{\"text\":\"{text}\"}}}}\n",
            1_700_000_000_000 + seq
        );
        file.write_all(line.as_bytes()).unwrap();
        bytes += line.len() as u64;
        seq += 1;
    }
    file.flush().unwrap();
}

#[test]
fn listing_ten_logs_of_a_hundred_megabytes_reads_less_than_a_mebibyte() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for n in 0..SESSIONS {
        annals(&root, &format!("create --id long-{n}"), "");
        fill(&log_path(&root, &format!("long-{n}")));
    }

    let (calls, printed) = trace(&root, "list --format jsonl", "");
    assert_eq!(printed.lines().count(), SESSIONS, "{printed}");
    for line in printed.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(entry["status"], "ok", "{line}");
        assert!(
            entry["updatedAt"].as_u64().is_some(),
            "the last event's time is shown: {line}"
        );
    }

    let in_root = || {
        let files = calls
            .iter()
            .filter_map(|call| Some((call, call.file.as_deref()?)));
        files
            .filter(|(_, file)| file.starts_with(&root))
            .map(|(call, _)| call)
    };
    let read: u64 = in_root()
        .filter(|call| call.reads())
        .map(|call| call.result)
        .sum();
    assert!(read > 0, "the reads were seen");
    assert!(
        read < LISTING_BYTES_MAX,
        "{read} bytes read to list {SESSIONS} sessions"
    );
    assert!(
        !in_root().any(|call| call.name == "mmap"),
        "nothing is read past the counter"
    );
    assert!(
        !in_root().any(|call| call.writes() || call.syncs()),
        "listing never writes"
    );
}
