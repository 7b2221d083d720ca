//! Another backend takes over while sessions are live.

use std::fs;
use std::path::Path;

use annals::{
    Annals, Backend, Binding, Bound, CreateOptions, ErrorCode, Link, OpenMode, Place, Session,
    Upkeep,
};

use crate::handles::{break_log, named};
use crate::{TURN, evictions};

pub fn dynamic(place: Place) -> Annals {
    Annals::builder()
        .place(place)
        .link(Link::Dynamic)
        .build()
        .unwrap()
}

pub fn second_turn() -> String {
    TURN.replace(":1", ":2")
}

/// Id and outcome of each, with the reason of a refusal.
pub fn shown(bound: Vec<Bound>) -> Vec<String> {
    let shown = bound.into_iter().map(|bound| match bound.error {
        None => format!("{} {:?}", bound.id, bound.binding).replace("Binding::", ""),
        Some(error) => {
            assert_eq!(bound.binding, Binding::Refused);
            format!("{} {}", bound.id, error.reason)
        }
    });
    shown.collect()
}

/// What is stored of a session, read by a store of its own.
pub fn stored(root: &Path, id: &str) -> String {
    let annals = Annals::jsonl(root).unwrap();
    annals.read(id, 0, 1 << 20).unwrap().lines
}

pub fn log(root: &Path, id: &str) -> std::path::PathBuf {
    root.join(format!("_no-cwd/{id}.jsonl"))
}

pub fn all_events(session: &Session) -> String {
    session.events(0, 1 << 20).unwrap().lines
}

#[test]
fn each_session_is_adopted_or_stored_or_refused() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(second.path().join("_no-cwd")).unwrap();
    let annals = dynamic(Place::jsonl(first.path()));
    let mut sessions = Vec::new();
    for id in ["whole", "prefix", "other", "looked-at"] {
        let session = annals.create(named(id)).unwrap();
        session.append(TURN).unwrap();
        session.flush().unwrap();
        fs::copy(log(first.path(), id), log(second.path(), id)).unwrap();
        sessions.push(session);
    }
    fs::remove_file(log(second.path(), "whole")).unwrap();
    let [whole, prefix, other, looked_at] = sessions.try_into().unwrap();
    looked_at.close().unwrap();
    let (looked_at, _) = annals.open("looked-at", OpenMode::Inspect).unwrap();
    let empty = annals.create(named("empty")).unwrap();
    // events that were never flushed, an open turn among them
    let open_turn = second_turn().lines().next().unwrap().to_owned() + "\n";
    for session in [&whole, &prefix] {
        session.append(&open_turn).unwrap();
    }
    let elsewhere = Annals::jsonl(second.path()).unwrap();
    let (session, _) = elsewhere.open("other", OpenMode::Resume).unwrap();
    session.append(&second_turn()).unwrap();
    session.close().unwrap();

    let bound = annals.rebind(Place::jsonl(second.path())).unwrap();
    assert_eq!(
        shown(bound),
        [
            "whole Stored",
            "prefix Adopted",
            "other live-collision-seed",
            "looked-at Inspected",
            "empty Stored"
        ]
    );
    for (session, id) in [(&whole, "whole"), (&prefix, "prefix")] {
        // flushed there before it left, and here since
        assert_eq!(stored(first.path(), id), all_events(session));
        assert_eq!(stored(second.path(), id), all_events(session));
        session
            .append(&second_turn().replace(&open_turn, ""))
            .unwrap();
        session.flush().unwrap();
        assert_eq!(stored(second.path(), id), all_events(session));
        assert_eq!(stored(first.path(), id).lines().count(), 4);
    }
    // its leases there were given back, and are taken here
    let former = Annals::jsonl(first.path()).unwrap();
    former.open("whole", OpenMode::Resume).unwrap();
    let busy = elsewhere.open("whole", OpenMode::Resume).unwrap_err();
    assert_eq!(busy.code, ErrorCode::Busy);

    assert_eq!(other.flush().unwrap_err().reason, "live-collision-seed");
    assert_eq!(all_events(&other).lines().count(), 3);
    assert_eq!(stored(second.path(), "other").lines().count(), 6);
    assert_eq!(looked_at.next_seq().unwrap(), 3);
    assert!(!annals.has("empty").unwrap());
    empty.append(TURN).unwrap();
    drop((other, looked_at));
    annals.shutdown().unwrap();
    assert_eq!(stored(second.path(), "empty").lines().count(), 3);
}

#[test]
fn a_store_without_a_backend_gets_one() {
    let root = tempfile::tempdir().unwrap();
    let annals = dynamic(Place::new(Backend::None));
    assert!(annals.info().is_none());
    let session = annals.create(named("a")).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
    for refused in [
        annals.open("a", OpenMode::Resume).map(drop),
        annals.has("a").map(drop),
        session.persist(),
    ] {
        assert_eq!(refused.unwrap_err().code, ErrorCode::NotConfigured);
    }
    let bound = annals.rebind(Place::jsonl(root.path())).unwrap();
    assert_eq!(shown(bound), ["a Stored"]);
    assert_eq!(annals.info().unwrap().name, "jsonl");
    assert_eq!(stored(root.path(), "a").lines().count(), 3);
    // and back: nothing is lost, and nothing is stored
    assert!(annals.rebind(Place::new(Backend::None)).unwrap().is_empty());
    session.append(&second_turn()).unwrap();
    session.flush().unwrap();
    assert_eq!(stored(root.path(), "a").lines().count(), 3);
    let bound = annals.rebind(Place::jsonl(root.path())).unwrap();
    assert_eq!(shown(bound), ["a Adopted"]);
    assert_eq!(stored(root.path(), "a").lines().count(), 6);
}

#[test]
fn what_is_linked_statically_cannot_be_replaced() {
    let parent = tempfile::tempdir().unwrap();
    let missing = parent.path().join("missing");
    let annals = Annals::memory().unwrap();
    let session = annals.create(named("a")).unwrap();
    session.append(TURN).unwrap();
    for swap in [Annals::rebind, Annals::rescue] {
        for place in [Place::new(Backend::None), Place::jsonl(&missing)] {
            let error = swap(&annals, place).unwrap_err();
            assert_eq!(error.reason, "backend-linked-statically");
        }
    }
    assert!(!missing.exists());
    session.flush().unwrap();
    assert!(annals.has("a").unwrap());
}

/// Of the one lease that is held there.
fn lease_token(root: &Path) -> Option<String> {
    let upkeep = Upkeep::new(Place::jsonl(root)).unwrap();
    let [lease] = upkeep.inspect(10).unwrap().try_into().unwrap();
    lease.token
}

#[test]
fn a_place_that_cannot_be_had_changes_nothing() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let annals = dynamic(Place::jsonl(first.path()));
    let session = annals.create(named("a")).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
    let lease = lease_token(first.path());
    let missing = Place::jsonl(second.path().join("missing")).create_root(false);
    for (place, reason) in [
        (missing, "root-not-found"),
        (
            Place::jsonl(second.path()).setting("colour", "red"),
            "setting-unknown",
        ),
        (
            Place::new(Backend::Bytes(b"none".to_vec())),
            "component-invalid",
        ),
    ] {
        assert_eq!(annals.rebind(place).unwrap_err().reason, reason);
        assert_eq!(annals.info().unwrap().name, "jsonl");
        // given back for a moment it would have been anybody's
        session.flush().unwrap();
        assert_eq!(lease_token(first.path()), lease, "{reason}");
        session.append(&second_turn()).unwrap();
        session.flush().unwrap();
        assert_eq!(stored(first.path(), "a"), all_events(&session), "{reason}");
    }
    let other = Annals::jsonl(first.path()).unwrap();
    let busy = other.open("a", OpenMode::Resume).unwrap_err();
    assert_eq!(busy.code, ErrorCode::Busy);
}

#[test]
fn a_place_that_takes_nothing_more_is_left_as_it_is() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let annals = dynamic(Place::jsonl(first.path()));
    let session = annals.create(named("a")).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
    session.append(&second_turn()).unwrap();
    let healthy = annals.create(named("b")).unwrap();
    healthy.append(TURN).unwrap();
    let mend = break_log(first.path());
    annals.rebind(Place::jsonl(second.path())).unwrap_err();
    // every session was tried
    assert_eq!(stored(first.path(), "b").lines().count(), 3);
    assert!(fs::read_dir(second.path()).unwrap().next().is_none());

    let bound = annals.rescue(Place::jsonl(second.path())).unwrap();
    assert_eq!(shown(bound), ["a Stored", "b Stored"]);
    assert_eq!(stored(second.path(), "a").lines().count(), 6);
    mend();
    assert_eq!(stored(first.path(), "a").lines().count(), 3);
    // stored now, so what follows is stored at the end
    session.append(&TURN.replace(":1", ":3")).unwrap();
    drop((session, healthy, annals));
    assert_eq!(stored(second.path(), "a").lines().count(), 9);
}

#[test]
fn the_lease_of_a_dead_process_is_no_obstacle() {
    let root = tempfile::tempdir().unwrap();
    evictions::run_holder(root.path());
    fs::remove_file(log(root.path(), "a")).unwrap();
    let annals = dynamic(Place::new(Backend::Memory));
    for id in ["a", "b"] {
        let session = annals.create(named(id)).unwrap();
        session.append(TURN).unwrap();
        // lives on without a handle
        std::mem::forget(session);
    }
    let bound = annals.rebind(Place::jsonl(root.path())).unwrap();
    assert_eq!(shown(bound), ["a Stored", "b Stored"]);
    assert_eq!(stored(root.path(), "a").lines().count(), 3);
    annals.shutdown().unwrap();
}

#[test]
fn from_inside_a_callback_nothing_is_replaced() {
    struct Swapper(std::sync::Arc<std::sync::Mutex<Option<Annals>>>);
    impl annals::Observer for Swapper {
        fn created(&mut self, _id: &str) -> Result<(), String> {
            let annals = self.0.lock().unwrap().take();
            let refused = annals.map(|annals| annals.rescue(Place::new(Backend::None)));
            match refused {
                Some(Err(error)) => assert_eq!(error.code, ErrorCode::Reentrant),
                _ => panic!("not refused"),
            }
            Ok(())
        }
    }
    let slot = std::sync::Arc::new(std::sync::Mutex::new(None));
    let builder = Annals::builder().backend(Backend::None);
    let annals = builder
        .observer(Box::new(Swapper(slot.clone())))
        .build()
        .unwrap();
    *slot.lock().unwrap() = Some(annals.clone());
    annals.create(CreateOptions::default()).unwrap();
}

/// Appends that were acknowledged while the backend changed under them are all there, once.
#[test]
fn appends_go_on_while_the_backend_changes() {
    const APPENDS: u64 = 200;
    let roots = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let annals = dynamic(Place::jsonl(roots[0].path()).setting("sync", "never"));
    let sessions = ["a", "b"].map(|id| annals.create(named(id)).unwrap());
    let swaps = std::thread::scope(|scope| {
        let appending: Vec<_> = sessions
            .iter()
            .map(|session| {
                scope.spawn(move || {
                    for _ in 0..APPENDS {
                        session.append(r#"{"type":"note","data":{}}"#).unwrap();
                        session.flush().unwrap();
                    }
                })
            })
            .collect();
        let mut swaps = 0;
        while swaps < 6 || appending.iter().any(|thread| !thread.is_finished()) {
            let place = match swaps % 3 {
                0 => Place::new(Backend::Memory),
                1 => Place::jsonl(roots[1].path()).setting("sync", "never"),
                _ => Place::jsonl(roots[0].path()).setting("sync", "never"),
            };
            for bound in annals.rebind(place).unwrap() {
                assert_eq!(bound.error, None);
            }
            swaps += 1;
        }
        swaps
    });
    annals
        .rebind(Place::jsonl(roots[1].path()))
        .unwrap_or_else(|error| panic!("after {swaps}: {error}"));
    for session in &sessions {
        let lines = stored(roots[1].path(), session.id());
        assert_eq!(lines, all_events(session));
        assert_eq!(lines.lines().count() as u64, APPENDS);
        for (line, seq) in lines.lines().zip(0..) {
            assert!(line.contains(&format!("\"seq\":{seq},")), "{line}");
        }
    }
    annals.shutdown().unwrap();
}
