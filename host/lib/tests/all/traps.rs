//! A backend that stops takes nothing with it.

use std::time::Instant;

use annals::{Annals, Backend, CreateOptions, ErrorCode, Link, OpenMode};

use crate::TURN;
use crate::faulty::{Fault, given};

const MIB: usize = 1 << 20;

/// A turn whose message is longer than `bytes`.
fn long_turn(bytes: usize) -> String {
    TURN.replace("hello", &"x".repeat(bytes))
}

#[test]
fn the_store_lives_on_and_the_backend_starts_again() {
    let root = tempfile::tempdir().unwrap();
    let annals = Annals::builder()
        .backend(Backend::Jsonl)
        .link(Link::Dynamic)
        .root(root.path())
        .backend_memory_bytes_max(4 * MIB)
        .build()
        .unwrap();
    let small = annals.create(CreateOptions::default()).unwrap();
    small.append(TURN).unwrap();
    small.flush().unwrap();
    let large = annals.create(CreateOptions::default()).unwrap();
    large.append(&long_turn(8 * MIB)).unwrap();

    let error = large.flush().unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (ErrorCode::Unavailable, "backend-limit")
    );
    assert!(error.message.contains("backend jsonl"), "{}", error.message);
    assert!(
        error.message.contains("memory-bytes-max"),
        "{}",
        error.message
    );
    assert!(!error.message.contains('\n'), "{}", error.message);

    // Nothing is lost in the store, and the other session goes on as if nothing had been.
    assert_eq!(large.next_seq().unwrap(), 3);
    small.append(&TURN.replace(":1", ":2")).unwrap();
    small.flush().unwrap();
    let id = small.id().to_owned();
    small.close().unwrap();
    let (small, _) = annals.open(&id, OpenMode::Resume).unwrap();
    assert_eq!(small.next_seq().unwrap(), 6);
    assert!(!annals.has(large.id()).unwrap());
    assert_eq!(annals.shutdown().unwrap_err().code, ErrorCode::Unavailable);
}

#[test]
fn a_backend_that_stops_at_once() {
    let error = Annals::builder()
        .backend(given(Fault::Trap))
        .build()
        .unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (ErrorCode::Unavailable, "backend-trapped")
    );
}

#[test]
fn a_backend_that_never_returns() {
    let started = Instant::now();
    let builder = Annals::builder()
        .backend(given(Fault::Loop))
        .backend_call_ms_max(200);
    let error = builder.build().unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (ErrorCode::Unavailable, "backend-timeout")
    );
    assert!(started.elapsed().as_secs() < 10);
}

// A limit for each memory and table was none: a component has as many of them as it likes.
#[test]
fn memories_and_tables_are_counted_together() {
    for (fault, reason, named) in [
        (Fault::Memories, "backend-limit", "memory-bytes-max"),
        (Fault::Tables, "backend-limit", "table-elements-max"),
        (
            Fault::MemoriesBeyondCount,
            "backend-trapped",
            "memory count",
        ),
    ] {
        let error = Annals::builder().backend(given(fault)).build().unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (ErrorCode::Unavailable, reason)
        );
        assert!(error.message.contains(named), "{}", error.message);
    }
}

// A root that was taken away was made again, empty, when the backend started again: every session seemed gone.
#[test]
fn a_backend_that_starts_again_makes_no_new_root() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("sessions");
    let annals = Annals::builder()
        .link(Link::Dynamic)
        .root(&root)
        .backend_memory_bytes_max(4 * MIB)
        .build()
        .unwrap();
    let large = annals.create(CreateOptions::default()).unwrap();
    large.append(&long_turn(8 * MIB)).unwrap();
    assert_eq!(large.flush().unwrap_err().reason, "backend-limit");
    std::fs::rename(&root, parent.path().join("away")).unwrap();
    for _ in 0..2 {
        let error = annals.has("a").unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (ErrorCode::Unavailable, "root-not-found")
        );
    }
    assert!(!root.exists());
    std::fs::rename(parent.path().join("away"), &root).unwrap();
    assert!(!annals.has("a").unwrap());
}
