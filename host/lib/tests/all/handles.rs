//! Handles between threads, at the end, and against each other.

use std::path::Path;
use std::thread;

use annals::{Annals, CreateOptions, ErrorCode, Link, OpenMode, Session};

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

/// Writing the log of `a` fails until the returned guard is called.
pub fn break_log(root: &Path) -> impl FnOnce() {
    let log = root.join("_no-cwd/a.jsonl");
    let away = root.join("away");
    std::fs::rename(&log, &away).unwrap();
    std::fs::create_dir(&log).unwrap();
    move || {
        std::fs::remove_dir(&log).unwrap();
        std::fs::rename(&away, &log).unwrap();
    }
}

// A flush failed, its caller did the same again elsewhere, and dropping the handle stored the events after all: twice.
#[test]
fn what_was_reported_as_not_stored_is_not_stored_at_the_end() {
    type Store = fn(&Session) -> annals::Result<()>;
    let ways: [(&str, Store); 3] = [
        ("flush", Session::flush),
        ("persist", Session::persist),
        ("close", Session::close),
    ];
    for link in [Link::Static, Link::Dynamic] {
        for (way, store) in ways {
            for ends_first in [true, false] {
                let root = tempfile::tempdir().unwrap();
                let annals = Annals::builder()
                    .root(root.path())
                    .link(link)
                    .build()
                    .unwrap();
                let session = annals.create(named("a")).unwrap();
                session.append(TURN).unwrap();
                session.flush().unwrap();
                session.append(&TURN.replace(":1", ":2")).unwrap();
                let mend = break_log(root.path());
                store(&session).unwrap_err();
                mend();
                if ends_first {
                    drop(annals);
                    drop(session);
                } else {
                    drop(session);
                    assert!(annals.live().unwrap().is_empty());
                    drop(annals);
                }
                let annals = Annals::jsonl(root.path()).unwrap();
                // the lease was given back
                let (session, _) = annals.open("a", OpenMode::Resume).unwrap();
                assert_eq!(session.next_seq().unwrap(), 3, "{link:?} {way}");
            }
        }
    }
}

#[test]
fn a_first_flush_that_failed_leaves_the_id_free() {
    let root = tempfile::tempdir().unwrap();
    let annals = Annals::jsonl(root.path()).unwrap();
    let bucket = root.path().join("_no-cwd");
    std::fs::write(&bucket, "in the way").unwrap();
    let session = annals.create(named("a")).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap_err();
    std::fs::remove_file(&bucket).unwrap();
    drop(session);
    assert!(!annals.has("a").unwrap());
    let other = Annals::jsonl(root.path()).unwrap();
    let session = other.create(named("a")).unwrap();
    session.append(TURN).unwrap();
    session.close().unwrap();
}

#[test]
fn an_explicit_retry_stores_and_so_does_a_shutdown() {
    for ends_by_shutdown in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let annals = Annals::jsonl(root.path()).unwrap();
        let session = annals.create(named("a")).unwrap();
        session.append(TURN).unwrap();
        session.flush().unwrap();
        session.append(&TURN.replace(":1", ":2")).unwrap();
        let mend = break_log(root.path());
        session.flush().unwrap_err();
        mend();
        if ends_by_shutdown {
            annals.shutdown().unwrap();
        } else {
            session.flush().unwrap();
            session.append(&TURN.replace(":1", ":3")).unwrap();
            drop((annals, session));
        }
        let annals = Annals::jsonl(root.path()).unwrap();
        let (session, _) = annals.open("a", OpenMode::Inspect).unwrap();
        let due = if ends_by_shutdown { 6 } else { 9 };
        assert_eq!(session.next_seq().unwrap(), due);
    }
}

/// One with a flush that failed, its cause mended, and a type opted in.
fn failed_once(root: &Path, fail: fn(&Session)) -> Session {
    let builder = Annals::builder().root(root);
    let annals = builder.out_of_band_type("plugin/note").build().unwrap();
    let session = annals.create(named("a")).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
    let mend = break_log(root);
    fail(&session);
    mend();
    session
}

fn stored_count(root: &Path) -> u64 {
    let annals = Annals::jsonl(root).unwrap();
    let (session, _) = annals.open("a", OpenMode::Inspect).unwrap();
    session.next_seq().unwrap()
}

const NOTE: &str = r#"{"type":"plugin/note","data":1}"#;

// After a flush that failed an append outside the loop stored everything, and what came after it was lost at the end.
#[test]
fn a_store_outside_the_loop_makes_good_for_a_failed_flush() {
    let root = tempfile::tempdir().unwrap();
    let session = failed_once(root.path(), |session| {
        session.append(&TURN.replace(":1", ":2")).unwrap();
        session.flush().unwrap_err();
    });
    session.append_out_of_band(NOTE, "{}").unwrap();
    session.append(&TURN.replace(":1", ":4")).unwrap();
    drop(session);
    assert_eq!(stored_count(root.path()), 12);
}

// In an open turn it stores nothing, and so makes good for nothing.
#[test]
fn an_append_into_an_open_turn_makes_good_for_nothing() {
    let root = tempfile::tempdir().unwrap();
    let session = failed_once(root.path(), |session| {
        let start = TURN.replace(":1", ":2");
        session.append(start.lines().next().unwrap()).unwrap();
        session.flush().unwrap_err();
    });
    session.append_out_of_band(NOTE, "{}").unwrap();
    drop(session);
    assert_eq!(stored_count(root.path()), 3);
}

#[test]
fn an_event_that_is_refused_outside_the_loop_is_no_failed_flush() {
    let root = tempfile::tempdir().unwrap();
    let session = failed_once(root.path(), |_| {});
    let lossy = r#"{"type":"plugin/note","data":-0}"#;
    let refused = session.append_out_of_band(lossy, "{}").unwrap_err();
    assert_eq!(refused.code, ErrorCode::Invalid);
    session.append(&TURN.replace(":1", ":3")).unwrap();
    drop(session);
    assert_eq!(stored_count(root.path()), 8);
}

// After a failed flush a refused event stored everything in its turn, and what came after it was lost at the end.
#[test]
fn an_event_that_is_refused_outside_the_loop_makes_good_all_the_same() {
    let too_long = format!(
        r#"{{"type":"plugin/note","data":"{}"}}"#,
        "x".repeat(257 << 20)
    );
    for (event, code) in [
        (r#"{"type":"plugin/note","data":-0}"#, ErrorCode::Invalid),
        (&too_long, ErrorCode::Limit),
    ] {
        for has_failed in [true, false] {
            let root = tempfile::tempdir().unwrap();
            let session = failed_once(root.path(), |session| {
                session.append(&TURN.replace(":1", ":2")).unwrap();
                session.flush().unwrap_err();
            });
            if !has_failed {
                session.flush().unwrap();
            }
            let refused = session.append_out_of_band(event, "{}").unwrap_err();
            assert_eq!(refused.code, code, "{refused}");
            session.append(&TURN.replace(":1", ":4")).unwrap();
            drop(session);
            assert_eq!(stored_count(root.path()), 11);
        }
    }
}

#[test]
fn a_flush_that_fails_outside_the_loop_is_one() {
    let root = tempfile::tempdir().unwrap();
    let session = failed_once(root.path(), |session| {
        session.append_out_of_band(NOTE, "{}").unwrap_err();
    });
    assert_eq!(session.next_seq().unwrap(), 6);
    drop(session);
    assert_eq!(stored_count(root.path()), 3);
}

pub fn named(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        ..CreateOptions::default()
    }
}

#[test]
fn a_live_session_is_found_by_its_id() {
    let annals = memory();
    assert!(annals.get("a").unwrap().is_none());
    let first = annals.create(named("a")).unwrap();
    let again = annals.get("a").unwrap().unwrap();
    again.append(TURN).unwrap();
    assert_eq!(first.next_seq().unwrap(), 3);
    drop(first);
    assert_eq!(annals.live().unwrap(), ["a"]);
    again.close().unwrap();
    assert!(annals.get("a").unwrap().is_none(), "it is closed");

    let (reopened, _) = annals.open("a", OpenMode::Resume).unwrap();
    drop(again);
    let found = annals.get("a").unwrap().unwrap();
    found.append(TURN).unwrap();
    assert_eq!(reopened.next_seq().unwrap(), 6);
    drop((reopened, found));
    assert!(annals.get("a").unwrap().is_none());
}
