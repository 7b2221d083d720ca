//! A process that was overtaken in the middle of a call, and wakes up.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{annals, arguments, program, turn};
use crate::follower::{Follower, signal};

/// The command, which its first rename stops: by then it has its lease.
fn stopped_at_rename(root: &Path, line: &str) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat"]);
    command.args(["-e", "inject=renameat:signal=STOP:when=1"]);
    command.arg(program()).args(arguments(root, line));
    command.stderr(Stdio::piped());
    command
}

/// The process that runs under strace, once it is stopped.
fn stopped_under(strace: u32) -> u32 {
    let children = format!("/proc/{strace}/task/{strace}/children");
    let began = Instant::now();
    let mut seen_stopped = 0;
    let mut stopped = 0;
    // strace stops it at every call, too, but not for so long
    while seen_stopped < 25 {
        assert!(began.elapsed() < Duration::from_secs(30), "it never stops");
        thread::sleep(Duration::from_millis(20));
        let found = fs::read_to_string(&children).unwrap_or_default();
        let pid = found
            .split_whitespace()
            .next()
            .map(|pid| pid.parse().unwrap());
        stopped = pid.unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{stopped}/status")).unwrap_or_default();
        let is_stopped =
            |line: &str| line.starts_with("State:\tt") || line.starts_with("State:\tT");
        seen_stopped = match status.lines().any(is_stopped) {
            true => seen_stopped + 1,
            false => 0,
        };
    }
    stopped
}

/// A delete that found its lease lost took a new one and removed what its successor had stored.
#[test]
fn a_delete_that_was_overtaken_removes_nothing_of_its_successor() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    annals(&root, "create --id a1", "");
    annals(&root, "append a1", &turn(1, "hello"));
    let mut deletes = stopped_at_rename(&root, "delete a1 --set lease-ttl-ms=400");
    let strace = deletes.spawn().unwrap();
    let pid = stopped_under(strace.id());
    annals(&root, "delete a1 --set lease-ttl-ms=400 --wait 20000", "");
    annals(&root, "create --id a1", "");
    annals(&root, "append a1", &turn(1, "mine"));
    signal(pid, "CONT");
    let late = strace.wait_with_output().unwrap();
    let errors = String::from_utf8(late.stderr).unwrap();
    assert_eq!(late.status.code(), Some(1), "{errors}");
    assert!(annals(&root, "show a1", "").contains("mine"));
    annals(&root, "verify a1", "");
}

/// A delete that was stopped while it waited for its lease removed what others had stored by the time it went on.
#[test]
fn a_delete_that_waited_judges_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    annals(&root, "create --id a1", "");
    annals(&root, "append a1", &turn(1, "hello"));
    let mut holder = Follower::start(&root, "a1", "");
    let next = holder.append(&format!("{}\n", turn(2, "held").lines().next().unwrap()));
    let mut deletes = Command::new(program());
    deletes.args(arguments(&root, "delete a1 --wait 30000"));
    let waits = deletes.stderr(Stdio::piped()).spawn().unwrap();
    // it has asked by then
    thread::sleep(Duration::from_millis(1500));
    signal(waits.id(), "STOP");
    let rest = turn(2, "mine");
    for (line, seq) in rest.lines().skip(1).zip(next + 1..) {
        assert_eq!(holder.append(&format!("{line}\n")), seq);
    }
    holder.hang_up();
    assert_eq!(holder.end().code, 0);
    signal(waits.id(), "CONT");
    let late = waits.wait_with_output().unwrap();
    let errors = String::from_utf8(late.stderr).unwrap();
    assert_eq!(late.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("was written since it was to be deleted"),
        "{errors}"
    );
    assert!(annals(&root, "show a1", "").contains("mine"));
    annals(&root, "verify a1", "");
    // asked for anew, and of one that nobody wrote meanwhile
    let mut holder = Follower::start(&root, "a1", "");
    holder.append("{\"type\":\"plugin/note\",\"data\":1}\n");
    let waits = {
        let mut deletes = Command::new(program());
        deletes.args(arguments(&root, "delete a1 --wait 30000"));
        deletes.spawn().unwrap()
    };
    thread::sleep(Duration::from_millis(500));
    holder.hang_up();
    assert_eq!(holder.end().code, 0);
    assert!(waits.wait_with_output().unwrap().status.success());
}
