//! A process that was overtaken in the middle of a call, and wakes up.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{annals, arguments, program, turn};
use crate::follower::signal;

/// Runs the command until its first rename, which stops it: by then it has its lease.
fn stopped_at_rename(root: &Path, line: &str) -> (Child, u32) {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat"]);
    command.args(["-e", "inject=renameat:signal=STOP:when=1"]);
    command.arg(program()).args(arguments(root, line));
    let strace = command.stderr(Stdio::piped()).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", strace.id());
    let began = Instant::now();
    let mut seen_stopped = 0;
    loop {
        assert!(began.elapsed() < Duration::from_secs(30), "it never stops");
        thread::sleep(Duration::from_millis(20));
        let found = fs::read_to_string(&children).unwrap_or_default();
        let Some(pid) = found.split_whitespace().next() else {
            continue;
        };
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let is_stopped =
            |line: &str| line.starts_with("State:\tt") || line.starts_with("State:\tT");
        // strace stops it at every call, too, but not for so long
        seen_stopped = match status.lines().any(is_stopped) {
            true => seen_stopped + 1,
            false => 0,
        };
        if seen_stopped == 25 {
            return (strace, pid.parse().unwrap());
        }
    }
}

/// A delete that found its lease lost took a new one and removed what its successor had stored.
#[test]
fn a_delete_that_was_overtaken_removes_nothing_of_its_successor() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    annals(&root, "create --id a1", "");
    annals(&root, "append a1", &turn(1, "hello"));
    let (strace, pid) = stopped_at_rename(&root, "delete a1 --set lease-ttl-ms=400");
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
