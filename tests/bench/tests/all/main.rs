//! The bench runs and says what it is to say; times are judged by people who run it on a quiet machine.

// All of this is test code: a broken assumption ends the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::process::Command;

/// Needs the bundle: `cargo xtask build`.
#[test]
fn a_quick_run_prints_every_row_and_judges_nothing() {
    let output = Command::new(env!("CARGO_BIN_EXE_annals-bench"))
        .args(["core", "--quick"])
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");

    // The generator gives the same log everywhere: a changed fingerprint makes old figures incomparable.
    let logs = [
        "packed (sha256 710be6a4): 31980 events in 1680 lines",
        "unpacked (sha256 9253cd38): 31980 events in 31980 lines",
        "short (sha256 c8b3a765): 6396 events in 6396 lines",
        "new: 6396 events in batches of 100",
    ];
    for log in logs {
        assert!(printed.contains(log), "no {log:?} in {printed}");
    }
    let rows: Vec<Vec<&str>> = printed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for log in ["packed", "unpacked", "short"] {
        for work in ["load", "fold", "derive"] {
            check_row(&rows, log, work);
        }
    }
    check_row(&rows, "new", "append");
    check_row(&rows, "new", "flush");
    for small in [
        "sha256 ",
        "history after one append",
        "append of a message",
        "peak memory",
    ] {
        assert!(printed.contains(small), "no {small:?} in {printed}");
    }
    assert!(printed.contains("quick: nothing judged"), "{printed}");
    assert!(!printed.contains("FAIL"), "{printed}");
}

/// Log, work, then for either side time, lines, events and bytes a second, and the ratio: all positive numbers.
fn check_row(rows: &[Vec<&str>], log: &str, work: &str) {
    let row = rows.iter().find(|row| row.starts_with(&[log, work]));
    let row = row.unwrap_or_else(|| panic!("no row {log} {work}"));
    assert_eq!(row.len(), 11, "{row:?}");
    for number in &row[2..] {
        let number: f64 = number.trim_end_matches('M').parse().unwrap();
        assert!(number >= 0.0, "{row:?}");
    }
}

/// Needs the bundle, and the components beside it.
#[test]
fn each_way_of_linking_is_timed() {
    let output = Command::new(env!("CARGO_BIN_EXE_annals-bench"))
        .args(["link", "--quick"])
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    let through_the_store = [
        "hand over",
        "call, next-seq",
        "call, has",
        "batch, append ",
        "batch, append and flush",
        "batch, read",
    ];
    let alone = ["call, has", "batch, append "];
    let tables: [(&str, &[&str], usize); 4] = [
        ("memory ", &through_the_store, 7),
        ("jsonl, sync = never ", &through_the_store, 7),
        ("memory, the backend alone", &alone, 5),
        ("jsonl, sync = never, the backend alone", &alone, 5),
    ];
    for (name, works, numbers) in tables {
        let table = printed.split("\n\n").find(|table| table.starts_with(name));
        let table = table.unwrap_or_else(|| panic!("no table {name}: {printed}"));
        for work in works {
            let row = table.lines().find(|line| line.starts_with(work));
            let row = row.unwrap_or_else(|| panic!("no row {work}: {table}"));
            let cells = row.split_whitespace().map(str::parse::<f64>);
            let cells: Vec<f64> = cells.filter_map(Result::ok).collect();
            assert_eq!(cells.len(), numbers, "{row}");
            assert!(cells.iter().all(|cell| *cell >= 0.0), "{row}");
        }
    }
}
