//! What a shell's `ulimit` takes away: each is named with its cure in one line, and nothing is lost.

#![cfg(target_os = "linux")]

use std::fs;

use crate::support::{Place, Ran, cannot_run};

const EVENT: &str = "{\"type\":\"plugin/x\",\"data\":{}}\n";

/// A run after that `ulimit`; none where there is no such limit to set.
fn limited(limit: &str, place: &Place, args: &[&str], stdin: &str) -> Option<Ran> {
    let set = format!("ulimit {limit}");
    if cannot_run(&["bash", "-c", &set]) {
        return None;
    }
    let script = format!("{set}; exec \"$0\" \"$@\"");
    Some(place.under(&["bash", "-c", &script], args, stdin.as_bytes()))
}

/// Small numbers of open files ended in a panic, or in a hint to check the medium.
#[test]
fn open_files_that_run_out_are_named() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", EVENT);
    let before = fs::read(place.log()).unwrap();
    let mut stored = 1;
    for limit in 5..40 {
        for args in [&["append", "a1"][..], &["list"], &["doctor"]] {
            let limit = format!("-n {limit}");
            let Some(ran) = limited(&limit, &place, args, EVENT) else {
                return;
            };
            if ran.code == 0 {
                stored += usize::from(args.len() == 2);
            } else {
                ran.fails(1, &["too many open files", &limit, "raise ulimit -n"]);
            }
        }
    }
    assert!(stored > 10, "it works with more than that");
    let after = fs::read_to_string(place.log()).unwrap();
    assert!(after.as_bytes().starts_with(&before));
    assert_eq!(after.lines().count(), 1 + stored);
    place.ok(&["verify"]);
}

/// Too few addresses were called a backend that asks for more than it gets.
#[test]
fn memory_that_runs_out_is_named() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    for kibibytes in [200_000, 4_000_000, 8_000_000] {
        let Some(ran) = limited(&format!("-v {kibibytes}"), &place, &["append", "a1"], EVENT)
        else {
            return;
        };
        ran.fails(1, &["not enough memory", "ulimit -v"]);
    }
    assert_eq!(place.append("a1", EVENT), "0\n");
}

/// SIGXFSZ ended the command in the middle of a write, and the log had a torn end.
#[test]
fn a_file_that_may_not_grow_is_as_a_full_disk() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let long = format!("{{\"type\":\"x/y\",\"data\":\"{}\"}}\n", "z".repeat(1000)).repeat(500);
    // in units of 1024 bytes; the image of a component in memory is a file too
    let words = [
        "no file may be longer than ",
        "(ulimit -f)",
        "raise that limit",
    ];
    let mut stored = 0;
    for (limit, args) in [
        (400, &["append", "a1"][..]),
        (400, &["append", "a1", "--follow"]),
        (8, &["append", "a1"]),
        (1, &["append", "a1"]),
    ] {
        let Some(ran) = limited(&format!("-f {limit}"), &place, args, &long) else {
            return;
        };
        assert_eq!(ran.code, 1, "{limit}: {}", ran.err);
        for word in words {
            assert!(ran.err.contains(word), "{}", ran.err);
        }
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        let log = fs::read_to_string(place.log()).unwrap();
        assert!(log.ends_with('\n'), "rolled back");
        stored += ran.out.lines().count();
        assert_eq!(log.lines().count(), 1 + stored);
    }
    place.ok(&["verify"]);
    assert_eq!(place.append("a1", EVENT), format!("{stored}\n"));
}

/// The message named a temporary file that was gone by then.
#[test]
fn a_new_log_that_may_not_be_so_long_leaves_nothing() {
    let place = Place::new();
    place.ok(&["create", "--id", "other"]);
    let mut log =
        String::from("{\"type\":\"session\",\"version\":0,\"id\":\"i1\",\"createdAt\":7}\n");
    for seq in 0..500 {
        let data = "z".repeat(1000);
        log += &format!("{{\"type\":\"x/y\",\"seq\":{seq},\"time\":1,\"data\":\"{data}\"}}\n");
    }
    let file = place.file("log", &log);
    let Some(ran) = limited("-f 400", &place, &["import", &file], "") else {
        return;
    };
    ran.fails(1, &["\"i1\"", "no file may be longer", "i1.jsonl"]);
    assert!(!ran.err.contains(".tmp"), "{}", ran.err);
    place.ok(&["import", &file]);
    let out = place.dir.path().join("out").display().to_string();
    let Some(ran) = limited("-f 400", &place, &["salvage", "i1", "--out", &out], "") else {
        return;
    };
    ran.fails(1, &[&out, "File too large", "ulimit -f"]);
    assert!(!place.dir.path().join("out").exists());
}

/// A runtime that cannot start its threads panics.
#[test]
fn threads_that_run_out_are_named() {
    let place = Place::new();
    let root = place.root().display().to_string();
    place.ok(&["create", "--id", "a1"]);
    let user = ["setpriv", "--reuid=64999", "--clear-groups"];
    let annals = env!("CARGO_BIN_EXE_annals");
    if cannot_run(&[&user[..], &[annals, "--version"]].concat()) {
        return;
    }
    let chown = ["chown", "-R", "64999", place.dir.path().to_str().unwrap()];
    assert!(!cannot_run(&chown), "{root}");
    let mut done = 0;
    for threads in 2..16 {
        let script = format!("ulimit -u {threads} && exec \"$0\" \"$@\"");
        let starter = [&user[..], &["bash", "-c", &script]].concat();
        let ran = place.under(&starter, &["list"], b"");
        match ran.code {
            0 => done += 1,
            // the shell may not even start it, or not be that user's to start
            126 | 127 | 128.. => {}
            code => {
                assert_eq!(code, 1, "{threads}: {}", ran.err);
                assert!(ran.err.contains("threads"), "{threads}: {}", ran.err);
            }
        }
    }
    eprintln!("{done} of 14 had threads enough");
}
