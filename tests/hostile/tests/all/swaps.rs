//! A place that configures well when it is tried, and not when it is its turn.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use annals::{Annals, Binding, ErrorCode, Link, Observer, Place, Session};

use crate::scene::{Scene, stored, turn};

const ATTACK: &str = "loop in configure";

/// Arms backends when it hears of a flush, once it was told to.
struct Armer {
    roots: Vec<PathBuf>,
    is_due: Arc<AtomicBool>,
}

impl Observer for Armer {
    fn flushed(&mut self, _id: &str) -> Result<(), String> {
        if self.is_due.load(Ordering::SeqCst) {
            for root in &self.roots {
                fs::write(root.join("armed"), "").unwrap();
            }
        }
        Ok(())
    }
}

/// A store over `place` with a session of one turn, and an unflushed one; the next flush arms those roots.
fn scene(place: Place, roots: Vec<PathBuf>) -> (Annals, Session) {
    let is_due = Arc::new(AtomicBool::new(false));
    let armer = Armer {
        roots,
        is_due: Arc::clone(&is_due),
    };
    let annals = Annals::builder()
        .place(place)
        .link(Link::Dynamic)
        .observer(Box::new(armer))
        .build()
        .unwrap();
    let session = stored(&annals, "a");
    session.append(&turn(2)).unwrap();
    is_due.store(true, Ordering::SeqCst);
    (annals, session)
}

#[test]
fn the_former_backend_goes_on() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let second = second.path().to_owned();
    fs::create_dir_all(&second).unwrap();
    let (annals, session) = scene(Place::jsonl(first.path()), vec![second.clone()]);
    let error = annals.rebind(Scene::place(&second, ATTACK)).unwrap_err();
    assert_eq!(error.reason, "backend-timeout", "{}", error.message);
    assert_eq!(annals.info().unwrap().name, "jsonl");
    session.append(&turn(3)).unwrap();
    session.flush().unwrap();
    // its lease was taken again
    let other = Annals::builder().root(first.path()).lease_wait_ms(0);
    let other = other.build().unwrap();
    let busy = other.open("a", annals::OpenMode::Resume).unwrap_err();
    assert_eq!(busy.code, ErrorCode::Busy);
    let stored = other.read("a", 0, 1 << 20).unwrap();
    assert_eq!(stored.lines, session.events(0, 1 << 20).unwrap().lines);
    session.close().unwrap();
    annals.shutdown().unwrap();
    fs::remove_dir_all(second).unwrap();
}

#[test]
fn sessions_live_on_where_both_backends_are_lost() {
    let places: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let [first, second, third] = [0, 1, 2].map(|at| places[at].path().to_owned());
    let former = Scene::place(&first, ATTACK);
    let (annals, session) = scene(former, vec![first, second.clone()]);
    let error = annals.rebind(Scene::place(&second, ATTACK)).unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (ErrorCode::Unavailable, "backend-lost"),
        "{}",
        error.message
    );
    assert!(error.message.contains("the former backend is lost too"));
    assert!(annals.info().is_none());
    session.append(&turn(3)).unwrap();
    let bound = annals.rescue(Place::jsonl(&third)).unwrap();
    assert_eq!(bound[0].binding, Binding::Stored);
    let stored = annals.read("a", 0, 1 << 20).unwrap();
    assert_eq!(stored.lines, session.events(0, 1 << 20).unwrap().lines);
    assert_eq!(stored.lines.lines().count(), 9);
    session.close().unwrap();
    annals.shutdown().unwrap();
}
