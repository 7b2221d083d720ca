//! Into the live list and out of it in separate moves, and calls from inside a callback.

use std::cell::RefCell;
use std::rc::Rc;

use annals_memory::Memory;
use annals_sdk::types::Batch;
use annals_store::{Observer, SessionKey, Store};

use crate::support::*;

#[test]
fn prepared_is_in_no_list_and_enters_once() {
    let (mut store, _, recorder) = setting();
    let one = store.prepare(options("a"), 1).unwrap();
    let two = store.prepare(options("a"), 1).unwrap();
    assert!(store.live().is_empty());
    assert_eq!(
        label(store.announce(one)),
        "NotFound session-not-live-in-store"
    );
    assert_eq!(
        label(store.flush(one)),
        "NotFound session-not-live-in-store"
    );
    store.enter(one).unwrap();
    for again in [one, two] {
        assert_eq!(
            label(store.enter(again)),
            "AlreadyExists session-already-exists"
        );
    }
    store.detach(one).unwrap();
    store.enter(two).unwrap();
    // stale: the successor stays
    store.detach(one).unwrap();
    assert_eq!(store.key_of("a"), Some(two));
    assert!(recorder.take().is_empty());
}

#[test]
fn edges_come_in_pairs_and_once() {
    let (mut store, medium, recorder) = setting();
    let key = store.prepare(options("a"), 1).unwrap();
    store.enter(key).unwrap();
    store.announce(key).unwrap();
    assert_eq!(
        label(store.announce(key)),
        "Invalid session-already-announced"
    );
    store.append(key, &turn("hi"), 2).unwrap();
    store.flush(key).unwrap();
    store.append(key, &turn("more"), 2).unwrap();
    store.detach(key).unwrap();
    store.detach(key).unwrap();
    store.close(key).unwrap();
    assert_eq!(
        recorder.take(),
        [
            "created a",
            "appended a 0+3",
            "flushed a",
            "appended a 3+3",
            "disposed a"
        ]
    );
    assert_eq!(medium.lines("a").lines().count(), 3);
    assert_eq!(medium.count("release"), 1);
    // what was not stored can still be read and goes on, unobserved
    store.append(key, &turn("alone"), 3).unwrap();
    assert_eq!(store.next_seq(key), Some(9));
    assert_eq!(store.messages(key, 0, 10_000).unwrap().total, 3);
    assert_eq!(
        label(store.flush(key)),
        "NotFound session-not-live-in-store"
    );
    assert!(recorder.take().is_empty());
    store.forget(key);
    assert_eq!(store.id(key), None);
}

#[test]
fn a_vetoed_announcement_detaches() {
    let (mut store, _, recorder) = setting();
    let key = store.prepare(options("a"), 1).unwrap();
    store.enter(key).unwrap();
    recorder.0.borrow_mut().veto = Some("no".into());
    assert_eq!(label(store.announce(key)), "Other listener-error");
    assert_eq!(recorder.take(), ["created a", "disposed a"]);
    assert!(store.live().is_empty());
    store.enter(key).unwrap();
    store.announce(key).unwrap();
    assert_eq!(recorder.take(), ["created a"]);
}

#[test]
fn the_live_list_is_in_order_of_entry() {
    let (mut store, _, _) = setting();
    let late = store.prepare(options(""), 1).unwrap();
    store.create(options(""), 1).unwrap();
    store.create(options("z"), 1).unwrap();
    store.enter(late).unwrap();
    assert_eq!(store.live(), ["session-2", "z", "session-1"]);
}

#[test]
fn an_error_of_giving_back_comes_after_leaving() {
    let (mut store, medium, recorder) = setting();
    let key = flushed(&mut store, "a", "hi");
    medium.fail(
        "release",
        Failure::Before,
        annals_sdk::types::ErrorCode::Unavailable,
    );
    assert!(store.detach(key).is_err());
    assert!(store.live().is_empty());
    assert_eq!(recorder.take().last().unwrap(), "disposed a");
}

/// Does what it is told from inside the next callback of that name.
#[derive(Default)]
struct Meddler(RefCell<Option<(&'static str, Act)>>);

type Act = fn(&mut Store<Memory, Meddler>, SessionKey) -> String;

impl Meddler {
    fn act(&self, store: &mut Store<Memory, Self>, on: &str, id: &str) {
        let act = self.0.borrow_mut().take_if(|(of, _)| *of == on);
        if let (Some((_, act)), Some(key)) = (act, store.key_of(id)) {
            assert_eq!(act(store, key), "as expected");
        }
    }
}

impl Observer<Memory> for Meddler {
    fn created(&self, store: &mut Store<Memory, Self>, id: &str) -> Result<(), String> {
        self.act(store, "created", id);
        Ok(())
    }
    fn appended(&self, store: &mut Store<Memory, Self>, id: &str, _events: &Batch) {
        self.act(store, "appended", id);
    }
    fn flushed(&self, store: &mut Store<Memory, Self>, id: &str) -> Result<(), String> {
        self.act(store, "flushed", id);
        Ok(())
    }
    fn disposed(&self, store: &mut Store<Memory, Self>, id: &str) {
        assert!(store.key_of(id).is_none());
    }
}

fn expect(seen: &str, expected: &str) -> String {
    match seen == expected {
        true => "as expected".to_owned(),
        false => format!("{seen}, not {expected}"),
    }
}

fn meddled(on: &'static str, act: Act) -> (Store<Memory, Meddler>, SessionKey) {
    let meddler = Meddler(RefCell::new(Some((on, act))));
    let mut store = Store::new(Memory::default(), meddler);
    store.configure("{}", opted_in(), Some(Vec::new())).unwrap();
    let key = store.create(options("a"), 1).unwrap();
    (store, key)
}

#[test]
fn an_append_inside_an_append_is_refused() {
    let (mut store, key) = meddled("appended", |store, key| {
        expect(
            &label(store.append(key, &turn("x"), 1)),
            "Reentrant append-reentrant",
        )
    });
    store.append(key, &turn("hi"), 1).unwrap();
    assert_eq!(store.next_seq(key), Some(3));
    store.append(key, &turn("hi"), 1).unwrap();
}

#[test]
fn an_append_inside_another_callback_is_not() {
    for on in ["created", "flushed"] {
        let (mut store, key) = meddled(on, |store, key| {
            store.append(key, &turn("x"), 1).unwrap();
            "as expected".to_owned()
        });
        store.flush(key).unwrap();
        assert_eq!(store.next_seq(key), Some(3), "{on}");
    }
}

#[test]
fn leaving_waits_for_the_announcement() {
    for act in [
        (|store, key| {
            store.detach(key).unwrap();
            expect(&store.live().join(" "), "a")
        }) as Act,
        |store, key| {
            store.close(key).unwrap();
            expect(&store.live().join(" "), "a")
        },
    ] {
        let (store, _) = meddled("created", act);
        assert!(store.live().is_empty());
    }
}

#[test]
fn leaving_waits_for_a_sequence_outside_the_loop() {
    let (mut store, key) = meddled("appended", |store, key| {
        store.detach(key).unwrap();
        let again = store.append_out_of_band(key, "{}", "{}", 1);
        expect(&label(again), "Reentrant out-of-band-in-progress")
    });
    let note = r#"{"type":"plugin/note","data":{}}"#;
    store.append_out_of_band(key, note, "{}", 1).unwrap();
    assert!(store.live().is_empty());
    assert!(store.has("a").unwrap());
    assert_eq!(store.next_seq(key), Some(3));
}

#[test]
fn what_is_said_to_the_creation_itself() {
    let acts: [Act; 3] = [
        |store, key| {
            expect(
                &label(store.announce(key)),
                "Invalid session-already-announced",
            )
        },
        |store, _| {
            expect(
                &label(store.create(options("a"), 1)),
                "AlreadyExists session-already-exists",
            )
        },
        |store, key| {
            expect(
                &label(store.enter(key)),
                "AlreadyExists session-already-exists",
            )
        },
    ];
    for act in acts {
        let (store, key) = meddled("created", act);
        assert_eq!(store.key_of("a"), Some(key));
    }
}

/// Writes down both edges, and leaves or vetoes when it is told of the first.
#[derive(Clone, Default)]
struct Edges {
    told: Rc<RefCell<Vec<String>>>,
    leave: Option<Leave>,
    veto: bool,
    /// Never content with a flush.
    is_stubborn: bool,
}

type Leave = fn(&mut Store<Memory, Edges>, SessionKey) -> annals_sdk::Result<()>;

impl Observer<Memory> for Edges {
    fn created(&self, store: &mut Store<Memory, Self>, id: &str) -> Result<(), String> {
        self.told.borrow_mut().push(format!("created {id}"));
        if let (Some(leave), Some(key)) = (self.leave, store.key_of(id)) {
            leave(store, key).unwrap();
            // not yet
            assert_eq!(self.told.borrow().len(), 1);
            assert_eq!(store.key_of(id), Some(key));
        }
        if self.veto { Err("no".into()) } else { Ok(()) }
    }
    fn appended(&self, _store: &mut Store<Memory, Self>, _id: &str, _events: &Batch) {}
    fn flushed(&self, _store: &mut Store<Memory, Self>, _id: &str) -> Result<(), String> {
        if self.is_stubborn {
            Err("no".into())
        } else {
            Ok(())
        }
    }
    fn disposed(&self, _store: &mut Store<Memory, Self>, id: &str) {
        self.told.borrow_mut().push(format!("disposed {id}"));
    }
}

#[test]
fn leaving_during_the_announcement_pairs_its_edges() {
    for leave in [Store::detach, Store::close] as [Leave; 2] {
        // a close that waited has answered, so nobody is told what an observer thinks of its flush
        for (veto, is_stubborn) in [(false, false), (true, false), (false, true)] {
            let edges = Edges {
                leave: Some(leave),
                veto,
                is_stubborn,
                ..Edges::default()
            };
            let told = Rc::clone(&edges.told);
            let mut store = Store::new(Memory::default(), edges);
            assert_eq!(store.create(options("a"), 1).is_err(), veto);
            assert_eq!(*told.borrow(), ["created a", "disposed a"]);
            assert!(store.live().is_empty());
        }
    }
}

#[test]
fn a_stale_session_does_nothing_to_its_successor() {
    let (mut store, medium, recorder) = setting();
    let stale = store.create(options("a"), 1).unwrap();
    store.append(stale, &turn("stale"), 1).unwrap();
    store.detach(stale).unwrap();
    let successor = store.create(options("a"), 2).unwrap();
    store.append(successor, &turn("new"), 2).unwrap();
    recorder.take();
    for result in [
        label(store.flush(stale)),
        label(store.persist(stale)),
        label(store.announce(stale)),
    ] {
        assert_eq!(result, "NotFound session-not-live-in-store");
    }
    assert_eq!(
        label(store.enter(stale)),
        "AlreadyExists session-already-exists"
    );
    store.append(stale, &turn("alone"), 3).unwrap();
    store.close(stale).unwrap();
    store.detach(stale).unwrap();
    store.forget(stale);
    assert!(recorder.take().is_empty());
    assert_eq!(store.next_seq(successor), Some(3));
    store.close(successor).unwrap();
    assert!(medium.lines("a").contains("new"));
}

#[test]
fn a_sequence_outside_the_loop_settles_whatever_becomes_of_its_event() {
    for (note, events) in [
        (r#"{"type":"plugin/note","data":{}}"#, 3),
        (r#"{"type":"plugin/note","data":-0}"#, 2),
    ] {
        for leave in [
            (|store, key| {
                store.detach(key).unwrap();
                expect(&store.live().join(" "), "a")
            }) as Act,
            |store, key| {
                store.close(key).unwrap();
                expect(&store.live().join(" "), "a")
            },
        ] {
            let (mut store, key) = meddled("appended", leave);
            let appended = store.append_out_of_band(key, note, "{}", 1);
            assert_eq!(appended.is_ok(), events == 3);
            assert!(store.live().is_empty());
            let page = store.read("a", 0, u32::MAX).unwrap();
            assert_eq!(page.lines.lines().count(), events);
            assert!(page.lines.lines().last().unwrap().contains("turn/end"));
        }
    }
}
