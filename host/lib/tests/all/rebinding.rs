//! Another backend takes over, and something fails on the way: what is answered, and that it can be done again.

use std::fs;

use annals::{Annals, Backend, Binding, ErrorCode, Link, OpenMode, Place};

use crate::handles::{break_log, named};
use crate::swap::{all_events, dynamic, log, second_turn, shown, stored};
use crate::{TURN, evictions};

/// A lease that was in the way is taken in a second run over all sessions. What each is told is what became of it: the
/// first answer where it was bound then, the second where it was not.
#[test]
fn a_second_run_answers_for_each_session() {
    let root = tempfile::tempdir().unwrap();
    evictions::run_holder(root.path());
    let other = Annals::jsonl(root.path()).unwrap();
    let busy = other.create(named("busy")).unwrap();
    busy.append(TURN).unwrap();
    busy.flush().unwrap();
    let annals = dynamic(Place::new(Backend::Memory));
    // the dead process left its lease on a log of its own
    let sessions = ["before", "a", "busy", "after"].map(|id| {
        let session = annals.create(named(id)).unwrap();
        session.append(TURN).unwrap();
        session
    });
    let bound = annals.rebind(Place::jsonl(root.path())).unwrap();
    assert_eq!(
        shown(bound),
        [
            "before Stored",
            "a live-collision",
            "busy lease-held",
            "after Stored"
        ]
    );
    // what was bound twice is stored once, and what was refused holds no lease and is all there
    for id in ["before", "after"] {
        assert_eq!(stored(root.path(), id).lines().count(), 3);
    }
    let theirs = stored(root.path(), "busy");
    assert_eq!(sessions[2].flush().unwrap_err().code, ErrorCode::Busy);
    assert_eq!(all_events(&sessions[2]).lines().count(), 3);
    let (session, _) = other.open("a", OpenMode::Resume).unwrap();
    session.close().unwrap();
    busy.close().unwrap();
    // and again, where what was in the way is gone
    for id in ["a", "busy"] {
        other.delete(id).unwrap();
    }
    let bound = annals.rebind(Place::jsonl(root.path())).unwrap();
    // the flush before has stored them
    let expected = [
        "before Adopted",
        "a Adopted",
        "busy Adopted",
        "after Adopted",
    ];
    assert_eq!(shown(bound), expected);
    assert_ne!(stored(root.path(), "busy"), theirs);
    drop(sessions);
    annals.shutdown().unwrap();
}

#[test]
fn what_failed_on_the_way_is_done_again() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let annals = dynamic(Place::jsonl(first.path()));
    let sessions = ["a", "b"].map(|id| {
        let session = annals.create(named(id)).unwrap();
        session.append(TURN).unwrap();
        session.flush().unwrap();
        session.append(&second_turn()).unwrap();
        session
    });
    let mend = break_log(first.path());
    annals.rebind(Place::jsonl(second.path())).unwrap_err();
    mend();
    let bound = annals.rebind(Place::jsonl(second.path())).unwrap();
    assert_eq!(shown(bound), ["a Stored", "b Stored"]);
    // and where a session cannot be stored in the new place, the others are, and it is at the next try
    fs::rename(log(first.path(), "a"), first.path().join("away")).unwrap();
    fs::create_dir(log(first.path(), "a")).unwrap();
    let bound = annals.rebind(Place::jsonl(first.path())).unwrap();
    assert_eq!(bound[0].binding, Binding::Refused);
    assert_eq!(bound[1].binding, Binding::Adopted);
    fs::remove_dir(log(first.path(), "a")).unwrap();
    sessions[0].flush().unwrap();
    for (session, id) in sessions.iter().zip(["a", "b"]) {
        for root in [&first, &second] {
            assert_eq!(stored(root.path(), id), all_events(session));
        }
    }
    drop(sessions);
    annals.shutdown().unwrap();
}

/// The new place configures well, and is gone when it is its turn.
#[test]
fn a_place_that_goes_away_takes_nothing_with_it() {
    struct Remover(std::path::PathBuf);
    impl annals::Observer for Remover {
        fn flushed(&mut self, _id: &str) -> Result<(), String> {
            // gone already, the second time
            let _ = fs::remove_dir_all(&self.0);
            Ok(())
        }
    }
    let (first, parent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let second = parent.path().join("second");
    let annals = Annals::builder()
        .place(Place::jsonl(first.path()))
        .link(Link::Dynamic)
        .observer(Box::new(Remover(second.clone())))
        .build()
        .unwrap();
    let session = annals.create(named("a")).unwrap();
    session.append(TURN).unwrap();
    match annals.rebind(Place::jsonl(&second)) {
        Ok(bound) => assert_eq!(bound[0].binding, Binding::Refused),
        // the former one goes on
        Err(error) => assert_ne!(error.reason, "backend-lost"),
    }
    assert!(!second.exists());
    assert_eq!(stored(first.path(), "a"), all_events(&session));
    session.append(&second_turn()).unwrap();
    // what could not be flushed there is not flushed again
    annals.rebind(Place::jsonl(first.path())).unwrap_err();
    let bound = annals.rescue(Place::jsonl(first.path())).unwrap();
    assert_eq!(shown(bound), ["a Adopted"]);
    assert_eq!(stored(first.path(), "a"), all_events(&session));
    session.close().unwrap();
    annals.shutdown().unwrap();
}
