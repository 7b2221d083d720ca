//! Sessions that enter and leave in separate moves, and events from outside the loop.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use annals::{Annals, Backend, Batch, CreateOptions, ErrorCode, Observer, Session};

use crate::{TURN, memory};

fn named(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        ..CreateOptions::default()
    }
}

/// Tells what it sees; detaches the session that it is given.
struct Watcher {
    seen: Sender<String>,
    session: Arc<Mutex<Option<Session>>>,
}

impl Observer for Watcher {
    fn created(&mut self, id: &str) -> Result<(), String> {
        self.seen.send(format!("created {id}")).unwrap();
        Ok(())
    }

    fn appended(&mut self, _id: &str, events: &Batch) {
        self.seen
            .send(format!("appended {}", events.first_seq))
            .unwrap();
        if let Some(session) = self.session.lock().unwrap().take() {
            assert_eq!(session.announce().unwrap_err().code, ErrorCode::Reentrant);
            session.detach().unwrap();
        }
    }

    fn flushed(&mut self, id: &str) -> Result<(), String> {
        self.seen.send(format!("flushed {id}")).unwrap();
        Ok(())
    }

    fn disposed(&mut self, id: &str) {
        self.seen.send(format!("disposed {id}")).unwrap();
    }
}

#[test]
fn a_prepared_session_enters_and_leaves_in_separate_moves() {
    let annals = memory();
    let one = annals.prepare(named("a")).unwrap();
    let two = annals.prepare(named("a")).unwrap();
    assert!(annals.live().unwrap().is_empty());
    let session = one.enter().unwrap();
    assert_eq!(two.enter().unwrap_err().code, ErrorCode::AlreadyExists);
    session.announce().unwrap();
    assert_eq!(
        session.announce().unwrap_err().reason,
        "session-already-announced"
    );
    session.append(TURN).unwrap();
    session.detach().unwrap();
    session.detach().unwrap();
    assert_eq!(session.flush().unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(session.events(0, 10_000).unwrap().lines.lines().count(), 3);
    let other = two.enter().unwrap();
    drop((one, two, session));
    assert_eq!(annals.live().unwrap(), ["a"]);
    assert!(!annals.has("a").unwrap());
    other.append(TURN).unwrap();
    annals.shutdown().unwrap();
}

#[test]
fn an_event_from_outside_the_loop_gets_its_own_turn() {
    let (seen, events) = channel();
    let slot = Arc::new(Mutex::new(None));
    let watcher = Watcher {
        seen,
        session: Arc::clone(&slot),
    };
    let builder = Annals::builder()
        .backend(Backend::Memory)
        .out_of_band_type("plugin/note")
        .observer(Box::new(watcher));
    let annals = builder.build().unwrap();
    let session = annals.create(named("a")).unwrap();
    let refused = session.append_out_of_band(r#"{"type":"plugin/x","data":1}"#, "{}");
    assert_eq!(refused.unwrap_err().reason, "out-of-band-type");
    *slot.lock().unwrap() = Some(session.clone());
    let note = r#"{"type":"plugin/note","data":1}"#;
    assert_eq!(session.append_out_of_band(note, "{}").unwrap().first_seq, 1);
    // The detach was queued behind the sequence, so that its turn is closed and stored.
    assert!(annals.live().unwrap().is_empty());
    assert!(annals.has("a").unwrap());
    drop(session);
    annals.shutdown().unwrap();
    let seen: Vec<String> = events.iter().collect();
    assert_eq!(
        seen,
        [
            "created a",
            "appended 0",
            "appended 1",
            "appended 2",
            "flushed a",
            "disposed a"
        ]
    );
}

#[test]
fn a_bad_type_from_outside_the_loop_is_refused_at_once() {
    let builder = Annals::builder().backend(Backend::Memory);
    let error = builder.out_of_band_type("turn/end").build().unwrap_err();
    assert_eq!(error.reason, "out-of-band-type");
}

#[test]
fn the_present_request_header_is_shown() {
    let session = memory().create(named("a")).unwrap();
    assert_eq!(session.request_header().unwrap(), None);
    let header = r#"{"config":{"provider":"p","model":"m"},"system":"s"}"#;
    session
        .append(&format!(
            r#"{{"type":"request/header","data":{{"header":{header},"reason":"initial"}}}}"#
        ))
        .unwrap();
    assert_eq!(session.request_header().unwrap().as_deref(), Some(header));
}

// The handle of the vetoed entry closed the next entry of the same session.
#[test]
fn a_vetoed_entry_has_no_hold_on_the_next_one() {
    struct Veto;
    impl Observer for Veto {
        fn created(&mut self, _id: &str) -> Result<(), String> {
            Err("no".to_owned())
        }
    }
    let builder = Annals::builder().backend(Backend::Memory);
    let annals = builder.observer(Box::new(Veto)).build().unwrap();
    let prepared = annals.prepare(named("a")).unwrap();
    let first = prepared.enter().unwrap();
    assert_eq!(first.announce().unwrap_err().reason, "listener-error");
    annals.flush().unwrap();
    let second = prepared.enter().unwrap();
    first.close().unwrap();
    drop(first);
    assert_eq!(annals.live().unwrap(), ["a"]);
    second.append(TURN).unwrap();
    annals.shutdown().unwrap();
}

/// Vetoes every flush.
struct Grumbler;

impl Observer for Grumbler {
    fn flushed(&mut self, _id: &str) -> Result<(), String> {
        Err("heard it".to_owned())
    }
}

// A flush that an observer grumbled at had stored everything, and what came after it was lost at the end.
#[test]
fn an_observer_that_grumbles_at_a_flush_makes_it_no_failed_one() {
    type Store = fn(&Session, &str) -> annals::Error;
    let root = tempfile::tempdir().unwrap();
    let note = r#"{"type":"plugin/note","data":1}"#;
    let ways: [Store; 2] = [
        |session, _| session.flush().unwrap_err(),
        |session, note| session.append_out_of_band(note, "{}").unwrap_err(),
    ];
    for (store, id) in ways.into_iter().zip(["a", "b"]) {
        let builder = Annals::builder().root(root.path());
        let builder = builder.out_of_band_type("plugin/note");
        let annals = builder.observer(Box::new(Grumbler)).build().unwrap();
        let session = annals.create(named(id)).unwrap();
        session.append(TURN).unwrap();
        assert_eq!(store(&session, note).reason, "listener-error");
        session.append(note).unwrap();
        let due = session.next_seq().unwrap();
        drop((session, annals));
        let annals = Annals::jsonl(root.path()).unwrap();
        let stored = annals.read(id, 0, 1 << 20).unwrap().lines;
        assert_eq!(stored.lines().count() as u64, due);
    }
}
