//! A process that dies with a session open must not keep others from it.

use std::process::Command;

use annals::{Annals, CreateOptions, OpenMode};

use crate::TURN;

const ROOT: &str = "ANNALS_TEST_ROOT";

/// Not a test of its own: the process that dies, started by the test below.
#[test]
#[ignore = "started by the test below"]
fn holder() {
    let Some(root) = std::env::var_os(ROOT) else {
        return;
    };
    let annals = Annals::jsonl(root).unwrap();
    let options = CreateOptions {
        id: Some("a".into()),
        ..CreateOptions::default()
    };
    let session = annals.create(options).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
    std::process::abort();
}

#[test]
fn the_lease_of_a_dead_process_is_taken_over() {
    let root = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "evictions::holder", "--ignored"]);
    let output = child.env(ROOT, root.path()).output().unwrap();
    assert!(!output.status.success());

    let annals = Annals::jsonl(root.path()).unwrap();
    assert!(annals.has("a").unwrap());
    let (session, _) = annals.open("a", OpenMode::Resume).unwrap();
    session.append(&TURN.replace(":1", ":2")).unwrap();
    session.close().unwrap();
    let page = annals.read("a", 0, 1 << 20).unwrap();
    assert_eq!(page.lines.lines().count(), 6);
}
