//! Callbacks, and calls from inside them.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use annals::{Annals, Backend, Batch, CreateOptions, ErrorCode, Observer, Session};

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
