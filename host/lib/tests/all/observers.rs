//! Callbacks, and calls from inside them.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use annals::{Annals, Backend, Batch, CreateOptions, ErrorCode, Observer, OpenMode, Session};

use crate::TURN;

/// Tells what it sees, and calls back into the session that it is given.
struct Watcher {
    seen: Sender<String>,
    session: Arc<Mutex<Option<Session>>>,
    vetoed: Option<&'static str>,
}

impl Observer for Watcher {
    fn created(&mut self, id: &str) -> Result<(), String> {
        self.seen.send(format!("created {id}")).unwrap();
        if self.vetoed == Some(id) {
            Err("not this one".to_owned())
        } else {
            Ok(())
        }
    }

    fn appended(&mut self, id: &str, events: &Batch) {
        self.seen
            .send(format!("appended {id} {}", events.count))
            .unwrap();
        if let Some(session) = self.session.lock().unwrap().take() {
            let code = session.append(TURN).unwrap_err().code;
            assert_eq!(code, ErrorCode::Reentrant);
            session.close().unwrap();
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

fn named(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        ..CreateOptions::default()
    }
}

#[test]
fn a_callback_may_close_and_nothing_else() {
    let (seen, events) = channel();
    let slot = Arc::new(Mutex::new(None));
    let watcher = Watcher {
        seen,
        session: Arc::clone(&slot),
        vetoed: None,
    };
    let builder = Annals::builder()
        .backend(Backend::Memory)
        .observer(Box::new(watcher));
    let annals = builder.build().unwrap();
    let session = annals.create(named("a")).unwrap();
    *slot.lock().unwrap() = Some(session.clone());
    assert_eq!(session.append(TURN).unwrap().count, 3);
    // The close was queued behind the append, so it is done before the next call.
    assert_eq!(session.append(TURN).unwrap_err().code, ErrorCode::NotFound);
    assert!(annals.live().unwrap().is_empty());
    assert!(annals.has("a").unwrap());
    drop(session);
    annals.shutdown().unwrap();
    let seen: Vec<String> = events.iter().collect();
    assert_eq!(
        seen,
        ["created a", "appended a 3", "flushed a", "disposed a"]
    );
}

#[test]
fn a_veto_undoes_the_creation() {
    let (seen, events) = channel();
    let watcher = Watcher {
        seen,
        session: Arc::default(),
        vetoed: Some("b"),
    };
    let builder = Annals::builder()
        .backend(Backend::Memory)
        .observer(Box::new(watcher));
    let annals = builder.build().unwrap();
    let error = annals.create(named("b")).unwrap_err();
    assert!(error.message.contains("not this one"), "{}", error.message);
    assert!(annals.live().unwrap().is_empty());
    annals.shutdown().unwrap();
    let seen: Vec<String> = events.iter().collect();
    assert_eq!(seen, ["created b", "disposed b"]);
}

/// Never content with a flush.
struct Stubborn(Sender<String>);

impl Observer for Stubborn {
    fn flushed(&mut self, id: &str) -> Result<(), String> {
        self.0.send(format!("flushed {id}")).unwrap();
        Err("never enough".to_owned())
    }
    fn disposed(&mut self, id: &str) {
        self.0.send(format!("disposed {id}")).unwrap();
    }
}

// A session whose observer refused every flush stayed live when its last handle went, with its lease, to the end of the
// process and beyond.
#[test]
fn no_observer_keeps_a_session_that_nobody_holds() {
    for flushes in [0, 2] {
        let root = tempfile::tempdir().unwrap();
        let (seen, events) = channel();
        let builder = Annals::builder().root(root.path());
        let annals = builder.observer(Box::new(Stubborn(seen))).build().unwrap();
        let session = annals.create(named("a")).unwrap();
        session.append(TURN).unwrap();
        for _ in 0..flushes {
            assert_eq!(session.flush().unwrap_err().reason, "listener-error");
        }
        // whoever closes it is told, and may try again
        assert_eq!(session.close().unwrap_err().reason, "listener-error");
        assert_eq!(annals.live().unwrap(), ["a"]);
        drop(session);
        assert!(annals.live().unwrap().is_empty());
        let other = Annals::jsonl(root.path()).unwrap();
        let (session, _) = other.open("a", OpenMode::Resume).unwrap();
        assert_eq!(session.next_seq().unwrap(), 3);
        annals.shutdown().unwrap();
        let seen: Vec<String> = events.iter().collect();
        assert_eq!(seen.iter().filter(|what| *what == "disposed a").count(), 1);
        assert_eq!(seen.last().unwrap(), "disposed a");
    }
}

/// Panics in the callback of that name, and counts the others.
struct Clumsy {
    on: &'static str,
    seen: Sender<String>,
}

impl Clumsy {
    fn hear(&self, what: &str) {
        assert!(self.on != what, "clumsy in {what}");
        self.seen.send(what.to_owned()).unwrap();
    }
}

impl Observer for Clumsy {
    fn created(&mut self, _id: &str) -> Result<(), String> {
        self.hear("created");
        Ok(())
    }
    fn appended(&mut self, _id: &str, _events: &Batch) {
        self.hear("appended");
    }
    fn flushed(&mut self, _id: &str) -> Result<(), String> {
        self.hear("flushed");
        Ok(())
    }
    fn disposed(&mut self, _id: &str) {
        self.hear("disposed");
    }
}

// A panic ended the thread, and every later call said that the store was shut down.
#[test]
fn a_panic_of_an_observer_is_contained() {
    for on in ["created", "appended", "flushed", "disposed"] {
        let (seen, events) = channel();
        let (other, others) = channel();
        let annals = Annals::builder()
            .backend(Backend::Memory)
            .observer(Box::new(Clumsy { on, seen }))
            .observer(Box::new(Clumsy {
                on: "",
                seen: other,
            }))
            .build()
            .unwrap();
        let created = annals.create(named("a"));
        if on == "created" {
            let error = created.unwrap_err();
            assert_eq!(error.reason, "listener-error");
            assert!(
                error.message.contains("panicked: clumsy in created"),
                "{}",
                error.message
            );
            assert!(annals.live().unwrap().is_empty());
            annals.shutdown().unwrap();
            // the second one was not told of the creation, so neither of the end
            assert_eq!(events.iter().collect::<Vec<_>>(), ["disposed"]);
            assert_eq!(others.iter().count(), 0);
            continue;
        }
        let session = created.unwrap();
        session.append(TURN).unwrap();
        let flushed = session.flush();
        if on == "flushed" {
            let message = flushed.unwrap_err().message;
            assert!(message.contains("panicked: clumsy in flushed"), "{message}");
        } else {
            flushed.unwrap();
        }
        assert!(annals.has("a").unwrap());
        session.detach().unwrap();
        annals.shutdown().unwrap();
        let every = ["created", "appended", "flushed", "disposed"];
        assert_eq!(others.iter().collect::<Vec<_>>(), every);
        let heard = every.iter().filter(|what| **what != on);
        assert!(events.iter().eq(heard.copied()), "{on}");
    }
}
