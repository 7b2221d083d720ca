//! hermes-agent#6481: SIGTERM and SIGHUP ended the process, and what it had accepted was gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{annals, arguments, heeding, log_path, program, turn};
use crate::follower::{Follower, signal};

fn root() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    annals(&root, "create --id a1", "");
    (folder, root)
}

const EVENT: &str = "{\"type\":\"plugin/note\",\"data\":null}\n";

fn events(root: &Path) -> usize {
    let log = fs::read_to_string(log_path(root, "a1")).unwrap();
    assert!(log.ends_with('\n'), "no line is torn");
    log.lines().count() - 1
}

/// Whether the one lease of a1 was given back.
fn is_free(root: &Path) -> bool {
    let mut leases = fs::read_dir(root.join("_leases/a1.lease")).unwrap();
    let lease = fs::read_to_string(leases.next().unwrap().unwrap().path()).unwrap();
    assert!(leases.next().is_none());
    lease.split_ascii_whitespace().nth(1) == Some("free")
}

const SIGNALS: [(&str, i32); 3] = [("TERM", 143), ("HUP", 129), ("INT", 130)];

#[test]
fn a_signal_stores_what_was_accepted_and_gives_the_lease_back() {
    for (name, code) in SIGNALS {
        let (_folder, root) = root();
        let mut writer = Follower::start(&root, "a1", "");
        writer.append(EVENT);
        assert!(!is_free(&root));
        writer.give(&EVENT.repeat(300));
        writer.signal(name);
        let ended = writer.end();
        assert_eq!((ended.code, ended.errors.as_str()), (code, ""), "{name}");
        assert_eq!(events(&root), 1 + ended.printed.len(), "{name}");
        assert!(is_free(&root), "{name}");
        annals(&root, "append a1 --wait 0", EVENT);
    }
}

#[test]
fn a_signal_ends_whoever_waits_at_once() {
    for (name, code) in SIGNALS {
        let (_folder, root) = root();
        let mut holder = Follower::start(&root, "a1", "");
        holder.append(EVENT);
        // one waits for the lease, one for input
        let mut second = Follower::start(&root, "a1", " --wait 60000");
        second.give(EVENT);
        let mut plain = heeding();
        plain.args(arguments(&root, "append a1"));
        let mut reading = Follower::of(plain);
        reading.give("{\"type\":\"turn");
        thread::sleep(Duration::from_millis(300));
        for waiting in [second, reading] {
            let started = Instant::now();
            waiting.signal(name);
            let ended = waiting.end();
            assert_eq!(ended.code, code, "{name}: {}", ended.errors);
            assert!(started.elapsed() < Duration::from_secs(1), "{name}");
        }
        assert_eq!(holder.append(EVENT), 1, "the holder goes on");
        holder.hang_up();
        assert_eq!(holder.end().code, 0);
        assert_eq!(events(&root), 2);
    }
}

/// What `nohup` keeps from a command does not end it.
#[test]
fn a_signal_that_was_to_be_ignored_is_ignored() {
    let (_folder, root) = root();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]);
    command.arg(program());
    command.args(arguments(&root, "append a1 --follow"));
    let mut writer = Follower::of(command);
    writer.append(EVENT);
    writer.signal("HUP");
    assert_eq!(writer.append(EVENT), 1);
    writer.signal("TERM");
    assert_eq!(writer.end().code, 143);
}

/// One append at any moment of it: stored and said so, or neither.
#[test]
fn a_signal_at_any_moment_leaves_no_doubt() {
    let (_folder, root) = root();
    let mut expected = 0;
    let mut ended_by_signal = 0;
    for round in 0..40 {
        let mut command = heeding();
        command.args(arguments(&root, "append a1"));
        let mut writer = Follower::of(command);
        writer.give(&turn(1, "hello"));
        writer.hang_up();
        thread::sleep(Duration::from_millis(round));
        signal(writer.pid(), "TERM");
        let ended = writer.end();
        assert!([0, 143].contains(&ended.code), "{}", ended.errors);
        ended_by_signal += u32::from(ended.code == 143);
        expected += ended.printed.len();
        assert_eq!(
            events(&root),
            expected,
            "round {round}, exit {}",
            ended.code
        );
        // there from the first try on that went as far as opening the session
        if root.join("_leases/a1.lease").exists() {
            assert!(is_free(&root), "round {round}, exit {}", ended.code);
        }
    }
    assert!(ended_by_signal > 0);
    annals(&root, "append a1 --wait 0", EVENT);
}
