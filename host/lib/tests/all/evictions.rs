//! A process that dies with a session open must not keep others from it.

use std::process::Command;

use annals::{Annals, CreateOptions, ForkOptions, OpenMode};

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

pub fn run_holder(root: &std::path::Path) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "evictions::holder", "--ignored"]);
    let output = child.env(ROOT, root).output().unwrap();
    assert!(!output.status.success());
}

#[test]
fn the_lease_of_a_dead_process_is_taken_over() {
    let root = tempfile::tempdir().unwrap();
    run_holder(root.path());
    let annals = Annals::jsonl(root.path()).unwrap();
    assert!(annals.has("a").unwrap());
    let (session, _) = annals.open("a", OpenMode::Resume).unwrap();
    session.append(&TURN.replace(":1", ":2")).unwrap();
    session.close().unwrap();
    let page = annals.read("a", 0, 1 << 20).unwrap();
    assert_eq!(page.lines.lines().count(), 6);
}

// A process died between taking the lease of a new session and storing it: the id could never be used again.
#[test]
fn an_id_that_a_dead_process_was_about_to_use_is_free() {
    for way in ["flush", "persist", "close", "drop", "fork", "out-of-band"] {
        let root = tempfile::tempdir().unwrap();
        run_holder(root.path());
        std::fs::remove_file(root.path().join("_no-cwd/a.jsonl")).unwrap();

        let builder = Annals::builder().root(root.path());
        let annals = builder.out_of_band_type("plugin/note").build().unwrap();
        let options = |id: &str| CreateOptions {
            id: Some(id.into()),
            ..CreateOptions::default()
        };
        let session = match way {
            "fork" => {
                let source = annals.create(options("source")).unwrap();
                source.append(TURN).unwrap();
                let child = ForkOptions {
                    child: Some("a".into()),
                    ..ForkOptions::default()
                };
                annals.fork("source", child).unwrap()
            }
            _ => annals.create(options("a")).unwrap(),
        };
        if way != "fork" && way != "out-of-band" {
            session.append(TURN).unwrap();
        }
        match way {
            "persist" => session.persist().unwrap(),
            "close" => session.close().unwrap(),
            "drop" => {}
            "out-of-band" => {
                let note = r#"{"type":"plugin/note","data":1}"#;
                let batch = session.append_out_of_band(note, "{}").unwrap();
                assert_eq!((batch.first_seq, session.next_seq().unwrap()), (1, 3));
            }
            _ => session.flush().unwrap(),
        }
        drop(session);
        assert!(annals.has("a").unwrap(), "{way}");
    }
}
