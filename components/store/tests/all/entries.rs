//! Into the live list and out of it in separate moves, and calls from inside a callback.

use std::cell::RefCell;

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
    let types = ["plugin/note".to_owned()];
    store.configure("{}", &types, Some(Vec::new())).unwrap();
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
