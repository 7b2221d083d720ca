//! A process that may open few files, or no long ones.

#![cfg(target_os = "linux")]

use std::process::Command;

use annals::{Annals, CreateOptions, ErrorCode, OpenMode};

use crate::TURN;

/// Says that a test runs in a process of its own.
const APART: &str = "ANNALS_TEST_APART";

/// Runs the test `name` again, in a process with that `ulimit`; none in that process.
fn apart(name: &str, limit: &str) -> Option<()> {
    if std::env::var_os(APART).is_some() {
        return None;
    }
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    let ran = Command::new("bash")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(APART, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&ran.stdout)
    );
    Some(())
}

fn named(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        ..CreateOptions::default()
    }
}

/// No file is held open for a session.
#[test]
fn a_hundred_sessions_need_few_files() {
    if apart("rooms::a_hundred_sessions_need_few_files", "ulimit -n 64").is_some() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let annals = Annals::jsonl(root.path()).unwrap();
    let ids: Vec<String> = (0..100).map(|number| format!("s{number}")).collect();
    let sessions: Vec<_> = ids
        .iter()
        .map(|id| annals.create(named(id)).unwrap())
        .collect();
    for _ in 0..2 {
        for session in &sessions {
            session.append(TURN).unwrap();
            session.flush().unwrap();
        }
    }
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(open < 32, "{open} files are open");
    annals.shutdown().unwrap();
    let annals = Annals::jsonl(root.path()).unwrap();
    for id in &ids {
        let (session, _) = annals.open(id, OpenMode::Resume).unwrap();
        assert_eq!(session.next_seq().unwrap(), 6);
        std::mem::forget(session);
    }
    annals.shutdown().unwrap();
}

/// A host that used up its files heard of a broken medium, or was ended by a panic for good.
#[test]
fn a_host_without_files_is_told_so_and_goes_on() {
    if apart(
        "rooms::a_host_without_files_is_told_so_and_goes_on",
        "ulimit -n 64",
    )
    .is_some()
    {
        return;
    }
    let all =
        || -> Vec<std::fs::File> { std::iter::from_fn(|| std::fs::File::open("/").ok()).collect() };
    let root = tempfile::tempdir().unwrap();
    let taken = all();
    let refused = Annals::jsonl(root.path()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert_eq!(refused.reason, "open-files-exhausted");
    drop(taken);
    let annals = Annals::jsonl(root.path()).unwrap();
    let session = annals.create(named("s")).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
    session
        .append(&TURN.replace("\"turn\":1", "\"turn\":2"))
        .unwrap();
    let taken = all();
    for error in [
        session.flush().unwrap_err(),
        annals.has("s2").unwrap_err(),
        annals.sessions().unwrap_err(),
    ] {
        assert_eq!(error.reason, "open-files-exhausted", "{error}");
        assert!(error.message.contains("ulimit -n 64"), "{error}");
    }
    drop(taken);
    session.flush().unwrap();
    session.close().unwrap();
    let (session, repair) = annals.open("s", OpenMode::Resume).unwrap();
    assert_eq!((session.next_seq().unwrap(), repair.cut_bytes), (6, 0));
}

/// A host that outlives SIGXFSZ is told of the limit, and the batch is taken back.
#[test]
fn a_log_that_may_not_grow_is_rolled_back() {
    if apart(
        "rooms::a_log_that_may_not_grow_is_rolled_back",
        "ulimit -f 400",
    )
    .is_some()
    {
        return;
    }
    let noted = std::sync::Arc::default();
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, noted).unwrap();
    let root = tempfile::tempdir().unwrap();
    let annals = Annals::jsonl(root.path()).unwrap();
    let session = annals.create(named("s")).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
    let long = format!("{{\"type\":\"x/y\",\"data\":\"{}\"}}", "z".repeat(500_000));
    session.append(&long).unwrap();
    let refused = session.flush().unwrap_err();
    assert_eq!(
        (refused.code, refused.reason.as_str()),
        (ErrorCode::NoSpace, "io-file-too-large")
    );
    drop(session);
    let (session, repair) = annals.open("s", OpenMode::Resume).unwrap();
    assert_eq!((session.next_seq().unwrap(), repair.cut_bytes), (3, 0));
}
