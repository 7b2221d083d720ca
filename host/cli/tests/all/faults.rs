//! A medium that fails: what is said to have failed is not stored, what is stored is said to be, and the next command
//! works. `strace` makes one system call fail; without it these tests say that they were left out.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Place, Ran, TURN, without_leases};

const EVENT: &str = "{\"type\":\"plugin/x\",\"data\":{}}\n";

/// One run in which that call fails with an I/O error, and whether there was such a call; none without `strace`.
fn inject(call: &str, when: u32, place: &Place, args: &[&str], stdin: &str) -> Option<(Ran, bool)> {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("left out: strace is missing");
        return None;
    }
    let trace = place.dir.path().join("trace");
    let inject = format!("inject={call}:error=EIO:when={when}");
    let strace = ["strace", "-f", "-o", trace.to_str().unwrap(), "-e", &inject];
    let ran = place.under(&strace, args, stdin.as_bytes());
    let trace = fs::read_to_string(trace).unwrap();
    Some((ran, trace.contains("INJECTED")))
}

fn failing(call: &str, when: u32, place: &Place, args: &[&str], stdin: &str) -> Option<Ran> {
    let (ran, has_failed) = inject(call, when, place, args, stdin)?;
    assert!(has_failed, "no call {when} of {call}");
    Some(ran)
}

fn stored(place: &Place) -> Vec<u8> {
    fs::read(place.log()).unwrap()
}

/// A batch whose write or sync failed was stored after all when the process ended: closing flushed once more. Whoever
/// appended again had it twice.
#[test]
fn a_batch_that_failed_is_not_stored_after_all() {
    for call in ["pwritev2", "fsync"] {
        let place = Place::new();
        place.ok(&["create", "--id", "a1"]);
        place.append("a1", TURN);
        let before = stored(&place);
        let Some(ran) = failing(call, 1, &place, &["append", "a1"], EVENT) else {
            return;
        };
        ran.fails(1, &["a1"]);
        assert_eq!(stored(&place), before, "{call}");
        assert_eq!(place.append("a1", EVENT), "3\n");
        assert!(stored(&place).starts_with(&before));
    }
}

/// The same for a new session: the error said that it was not made, and it was.
#[test]
fn an_import_that_failed_is_not_stored_after_all() {
    let header = "{\"type\":\"session\",\"version\":0,\"id\":\"i1\",\"createdAt\":7}\n";
    let event = "{\"type\":\"plugin/x\",\"seq\":0,\"time\":1,\"data\":{}}\n";
    for (call, when, code) in [("fsync", 1, 1), ("linkat", 2, 0), ("pwrite64", 2, 1)] {
        let place = Place::new();
        // a root that is made first has syncs of its own
        place.ok(&["create", "--id", "other"]);
        place.ok(&["delete", "other"]);
        let file = place.file("log", format!("{header}{event}"));
        let Some(ran) = failing(call, when, &place, &["import", &file], "") else {
            return;
        };
        assert_eq!(ran.code, code, "{call}: {}", ran.err);
        assert!(format!("{}{}", ran.out, ran.err).contains("i1"), "{call}");
        let left = without_leases(place.everything());
        let is_stored = left.keys().any(|name| name.ends_with(".jsonl"));
        // a medium without hard links says so in this way too, and there the log gets its name by a rename
        assert_eq!(is_stored, code == 0, "{call}");
    }
}

/// Events were durable, but their seqs were not printed and the command failed, because its lease could not be given
/// back. Whoever appended again had them twice.
#[test]
fn a_lease_that_stays_fails_nothing() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let Some(ran) = failing("pwrite64", 2, &place, &["append", "a1"], EVENT) else {
        return;
    };
    assert_eq!((ran.code, ran.out.as_str()), (0, "0\n"), "{}", ran.err);
    assert_eq!(place.append("a1", EVENT), "1\n");
}

/// One session that cannot be read ended `verify`, and those after it were never looked at.
#[test]
fn verify_goes_on_after_a_session_that_cannot_be_read() {
    let place = Place::new();
    for id in ["a", "b", "c"] {
        place.ok(&["create", "--id", id]);
    }
    let mut unreadable = 0;
    // Which of the reads is the one of a log is nobody's business: each fails once.
    for when in 1..=40 {
        match inject("pread64", when, &place, &["verify"], "") {
            None => return,
            Some((_, false)) => break,
            Some((ran, true)) if ran.out.contains("unreadable") => {
                unreadable += 1;
                assert_eq!((ran.code, ran.out.lines().count()), (1, 3), "{}", ran.out);
            }
            Some((_, true)) => {}
        }
    }
    assert!(unreadable > 0);
}

/// The seqs of stored events could not be printed; the message did not say that they are stored.
#[test]
fn stored_events_whose_seqs_cannot_be_printed() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let shell = ["sh", "-c", "exec \"$@\" > /dev/full", "sh"];
    let ran = place.under(&shell, &["append", "a1"], EVENT.as_bytes());
    ran.fails(1, &["stdout", "1 event from seq 0 on"]);
    assert_eq!(place.append("a1", EVENT), "1\n");
}

/// A new session whose id could not be printed; the message did not say that it exists.
#[test]
fn a_stored_session_whose_id_cannot_be_printed() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    let file = place.dir.path().join("copy.jsonl");
    let log = String::from_utf8(stored(&place)).unwrap();
    fs::write(&file, log.replacen("\"a1\"", "\"copied\"", 1)).unwrap();
    let shell = ["sh", "-c", "exec \"$@\" > /dev/full", "sh"];
    for (args, id) in [
        (vec!["create", "--id", "made"], "made"),
        (vec!["fork", "a1", "--id", "forked"], "forked"),
        (vec!["import", file.to_str().unwrap()], "copied"),
    ] {
        let ran = place.under(&shell, &args, b"");
        ran.fails(1, &["stdout", &format!("session \"{id}\" was stored")]);
        place.ok(&["messages", id]);
    }
}

/// A quota that is used up reached people as an I/O error: a component is told no more of a write. `fallocate` is how the
/// host finds out.
#[test]
fn a_quota_that_is_used_up_is_said() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("left out: strace is missing");
        return;
    }
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let trace = place.dir.path().join("trace");
    let trace = ["strace", "-f", "-o", trace.to_str().unwrap()];
    let inject = ["-e", "inject=pwritev2,fallocate:error=EDQUOT"];
    let ran = place.under(
        &[&trace[..], &inject[..]].concat(),
        &["append", "a1"],
        EVENT.as_bytes(),
    );
    ran.fails(1, &["a1", "quota of this user", "free some space"]);
    assert_eq!(place.append("a1", EVENT), "0\n");
}
