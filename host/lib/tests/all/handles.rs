//! Handles between threads, at the end, and against each other.

use std::thread;

use annals::{Annals, CreateOptions, ErrorCode, OpenMode};

use crate::{TURN, memory};

#[test]
fn threads_share_a_session() {
    let annals = memory();
    let session = annals.create(CreateOptions::default()).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            let session = session.clone();
            scope.spawn(move || {
                for _ in 0..25 {
                    session.append(r#"{"type":"note","data":{}}"#).unwrap();
                }
            });
        }
    });
    assert_eq!(session.next_seq().unwrap(), 100);
}

#[test]
fn the_end_of_the_last_handle_flushes() {
    let root = tempfile::tempdir().unwrap();
    let annals = Annals::jsonl(root.path()).unwrap();
    let session = annals.create(CreateOptions::default()).unwrap();
    let id = session.id().to_owned();
    session.append(TURN).unwrap();
    drop(annals);
    assert_eq!(session.next_seq().unwrap(), 3);
    drop(session);
    let annals = Annals::jsonl(root.path()).unwrap();
    let (session, _) = annals.open(&id, OpenMode::Inspect).unwrap();
    assert_eq!(session.next_seq().unwrap(), 3);
}

#[test]
fn after_a_shutdown_every_handle_says_so() {
    let annals = memory();
    let other = annals.clone();
    let session = annals.create(CreateOptions::default()).unwrap();
    annals.shutdown().unwrap();
    assert_eq!(other.live().unwrap_err().code, ErrorCode::Unavailable);
    assert_eq!(session.append(TURN).unwrap_err().reason, "store-shut-down");
}

#[test]
fn a_session_without_handles_is_closed() {
    let annals = memory();
    let session = annals.create(CreateOptions::default()).unwrap();
    session.append(TURN).unwrap();
    let id = session.id().to_owned();
    drop(session);
    assert!(annals.live().unwrap().is_empty());
    let (session, _) = annals.open(&id, OpenMode::Resume).unwrap();
    assert_eq!(session.next_seq().unwrap(), 3);
}

/// A living holder in this very process keeps its lease.
#[test]
fn a_session_has_one_writer() {
    let root = tempfile::tempdir().unwrap();
    let first = Annals::jsonl(root.path()).unwrap();
    let session = first.create(CreateOptions::default()).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
    let second = Annals::jsonl(root.path()).unwrap();
    let error = second.open(session.id(), OpenMode::Resume).unwrap_err();
    assert_eq!(error.code, ErrorCode::Busy, "{}", error.message);
    let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
    assert_eq!(detail["holder"]["pid"], std::process::id());
    assert_eq!(
        second
            .open(session.id(), OpenMode::Inspect)
            .unwrap()
            .0
            .next_seq()
            .unwrap(),
        3
    );
    session.close().unwrap();
    second.open(session.id(), OpenMode::Resume).unwrap();
}
