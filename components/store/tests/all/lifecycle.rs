//! Creation, laziness, the live list, observers, closing, and life without a backend.

use annals_sdk::types::{ErrorCode, SessionSummary};
use annals_store::{OpenMode, Store, StoreOptions};

use crate::support::*;

#[test]
fn a_session_without_events_stores_nothing() {
    let (mut store, medium, _) = setting();
    let key = store.create(options("a"), 5).unwrap();
    store.flush(key).unwrap();
    assert!(!store.has("a").unwrap());
    assert_eq!(store.list(None, 10).unwrap().sessions.len(), 0);
    assert_eq!(label(store.read("a", 0, 100)), "NotFound session-not-found");
    assert_eq!(store.live(), ["a"]);
    assert_eq!(medium.count("acquire"), 0);
    store.close(key).unwrap();
    assert!(store.live().is_empty());
}

#[test]
fn persist_stores_the_header_alone_and_events_follow() {
    let (mut store, medium, _) = setting();
    let key = store.create(options("a"), 5).unwrap();
    store.persist(key).unwrap();
    assert!(store.has("a").unwrap());
    assert_eq!(medium.lines("a"), "");
    store.persist(key).unwrap();
    store.append(key, &turn("hi"), 6).unwrap();
    store.close(key).unwrap();
    assert_eq!(medium.count("create"), 1);
    assert_eq!(medium.lines("a").lines().count(), 3);
}

#[test]
fn ids_are_counted_and_never_taken_twice() {
    let (mut store, medium, _) = setting();
    medium.plant("session-2", "", 0);
    let first = store.create(options(""), 1).unwrap();
    let second = store.create(options(""), 1).unwrap();
    assert_eq!(store.id(first).unwrap(), "session-1");
    assert_eq!(store.id(second).unwrap(), "session-3");
    assert_eq!(
        label(store.create(options("session-1"), 1)),
        "AlreadyExists session-already-exists"
    );
    assert_eq!(
        label(store.create(options("session-2"), 1)),
        "AlreadyExists session-already-exists"
    );
    let empty = annals_store::CreateOptions {
        id: Some(String::new()),
        ..options("")
    };
    assert_eq!(label(store.create(empty, 1)), "Invalid empty-path-segment");
}

#[test]
fn a_header_that_breaks_a_rule_makes_no_session() {
    let (mut store, _, recorder) = setting();
    let with = |change: fn(&mut annals_store::CreateOptions)| {
        let mut options = options("a");
        change(&mut options);
        options
    };
    for (options, expected) in [
        (
            with(|options| options.cwd = Some("rel".into())),
            "Invalid header-cwd-not-absolute",
        ),
        (
            with(|options| options.created_at_ms = Some(1 << 53)),
            "Invalid header-created-at",
        ),
        (
            with(|options| options.extra = Some("[]".into())),
            "Invalid header-not-record",
        ),
        (
            with(|options| options.extra = Some("{\"id\":1}".into())),
            "Invalid header-not-record",
        ),
        (
            with(|options| options.seed = Some("{}\n".into())),
            "Invalid seed-envelope-invalid",
        ),
    ] {
        assert_eq!(label(store.create(options, 1)), expected);
    }
    assert!(store.live().is_empty());
    assert!(recorder.take().is_empty());
}

#[test]
fn a_new_session_has_what_it_was_given_and_tells_nothing_of_its_seed() {
    let (mut store, medium, recorder) = setting();
    let given = annals_store::CreateOptions {
        cwd: Some("/w".into()),
        parent_session: Some("p".into()),
        seed_length: Some(3),
        delegation_depth: Some(2),
        created_at_ms: Some(7),
        extra: Some("{\"x\":1}".into()),
        seed: Some(stored_turn(0, "hi")),
        ..options("a")
    };
    let key = store.create(given, 99).unwrap();
    let header = store.header(key).unwrap();
    assert_eq!((header.version, header.created_at_ms), (0, 7));
    assert_eq!(header.cwd.as_deref(), Some("/w"));
    assert_eq!(header.parent_session.as_deref(), Some("p"));
    assert_eq!(
        (header.seed_length, header.delegation_depth),
        (Some(3), Some(2))
    );
    assert_eq!(header.extra.as_deref(), Some("{\"x\":1}"));
    assert_eq!(recorder.take(), ["created a"]);
    store.close(key).unwrap();
    assert_eq!(medium.lines("a"), stored_turn(0, "hi"));
    let (again, _) = store.open("a", OpenMode::Resume).unwrap();
    assert_eq!(store.header(again).unwrap(), header);
    let other = store.create(options("b"), 99).unwrap();
    assert_eq!(store.header(other).unwrap().created_at_ms, 99);
}

#[test]
fn observers_hear_of_a_flush_once_everything_is_durable() {
    let (mut store, medium, recorder) = setting();
    let key = store.create(options("a"), 1).unwrap();
    store.append(key, &turn("hi"), 2).unwrap();
    recorder.take();
    medium.fail("create", Failure::Before, ErrorCode::Unavailable);
    store.flush(key).unwrap_err();
    assert!(recorder.take().is_empty());
    store.flush(key).unwrap();
    assert_eq!(recorder.take(), ["flushed a"]);
    // one that fails there keeps a session live that was to be closed
    recorder.0.borrow_mut().flush_error = Some("later".into());
    assert_eq!(label(store.close(key)), "Other listener-error");
    assert_eq!(store.live(), ["a"]);
    store.close(key).unwrap();
}

#[test]
fn observers_hear_what_happens_in_order() {
    let (mut store, _, recorder) = setting();
    let key = flushed(&mut store, "a", "hi");
    store.close(key).unwrap();
    store.close(key).unwrap();
    assert_eq!(
        recorder.take(),
        [
            "created a",
            "appended a 0+3",
            "flushed a",
            "flushed a",
            "disposed a"
        ]
    );
}

#[test]
fn a_veto_rolls_the_creation_back() {
    let (mut store, _, recorder) = setting();
    recorder.0.borrow_mut().veto = Some("no".into());
    let error = store.create(options("a"), 1).unwrap_err();
    assert_eq!(
        (error.reason.as_str(), error.message.as_str()),
        ("listener-error", "no")
    );
    assert_eq!(recorder.take(), ["created a", "disposed a"]);
    assert!(store.live().is_empty());
    store.create(options("a"), 1).unwrap();
}

#[test]
fn a_vetoed_open_gives_the_lease_back() {
    let (mut store, medium, recorder) = setting();
    medium.plant("a", &stored_turn(0, "hi"), 3);
    recorder.0.borrow_mut().veto = Some("no".into());
    assert_eq!(
        label(store.open("a", OpenMode::Resume)),
        "Other listener-error"
    );
    assert_eq!(medium.count("release"), 1);
    store.open("a", OpenMode::Resume).unwrap();
}

#[test]
fn an_observer_that_fails_at_flush_undoes_nothing() {
    let (mut store, medium, recorder) = setting();
    let key = store.create(options("a"), 1).unwrap();
    store.append(key, &turn("hi"), 2).unwrap();
    recorder.0.borrow_mut().flush_error = Some("later".into());
    assert_eq!(label(store.flush(key)), "Other listener-error");
    assert_eq!(medium.lines("a").lines().count(), 3);
    store.flush(key).unwrap();
    assert_eq!(medium.count("append"), 0);
}

#[test]
fn a_closed_handle_still_knows_what_it_was() {
    let (mut store, _, _) = setting();
    let key = flushed(&mut store, "a", "hi");
    store.close(key).unwrap();
    assert_eq!(store.id(key).unwrap(), "a");
    assert_eq!(store.header(key).unwrap().created_at_ms, 1);
    assert_eq!(store.next_seq(key), Some(3));
    assert_eq!(store.surface(key).unwrap().nodes, [1]);
    for result in [
        label(store.append(key, &turn("x"), 1)),
        label(store.events(key, 0, 10)),
        label(store.messages(key, 0, 10)),
        label(store.flush(key)),
        label(store.persist(key)),
    ] {
        assert_eq!(result, "NotFound session-not-live-in-store");
    }
    store.forget(key);
    assert_eq!(store.id(key), None);
}

#[test]
fn a_dropped_handle_neither_flushes_nor_closes() {
    let (mut store, medium, recorder) = setting();
    let key = store.create(options("a"), 1).unwrap();
    store.append(key, &turn("hi"), 2).unwrap();
    recorder.take();
    store.forget(key);
    assert_eq!(store.live(), ["a"]);
    assert_eq!(medium.count("create"), 0);
    assert!(recorder.take().is_empty());
}

#[test]
fn without_a_backend_sessions_live_in_memory() {
    let recorder = Recorder::default();
    let mut store = Store::new(Medium::default(), recorder.clone());
    assert_eq!(label(store.list(None, 1)), "NotConfigured not-configured");
    assert!(
        store
            .configure("{}", StoreOptions::default(), None)
            .unwrap()
            .is_none()
    );
    let key = store.create(options(""), 1).unwrap();
    store.append(key, &turn("hi"), 2).unwrap();
    store.flush(key).unwrap();
    store.renew().unwrap();
    let child = store.fork("session-1", None, None, None, 3).unwrap();
    assert_eq!(store.id(child).unwrap(), "session-2");
    assert_eq!(store.messages(child, 0, 1000).unwrap().total, 1);
    let summary = SessionSummary {
        title: None,
        first_prompt: None,
    };
    for result in [
        label(store.persist(key)),
        label(store.open("x", OpenMode::Resume)),
        label(store.has("x")),
        label(store.delete("x")),
        label(store.read("x", 0, 1)),
        label(store.read_cut("x", 0, 1)),
        label(store.update("x", &summary)),
        label(store.list(None, 1)),
    ] {
        assert_eq!(result, "NotConfigured not-configured");
    }
    assert_eq!(
        label(store.fork("x", None, None, None, 3)),
        "NotFound fork-session-not-found"
    );
    store.close(key).unwrap();
    store.close(child).unwrap();
}

#[test]
fn configure_refuses_what_it_does_not_know() {
    let (mut store, _, _) = setting();
    assert_eq!(
        label(store.configure("host", StoreOptions::default(), None)),
        "Invalid holder-not-json"
    );
    assert_eq!(
        label(store.configure("[]", StoreOptions::default(), None)),
        "Invalid holder-not-json"
    );
    for given in ["", "turn/start", "step/end", "user/message"] {
        assert_eq!(
            label(store.configure("{}", out_of_band(&["plugin/x", given]), None)),
            "Invalid out-of-band-type"
        );
    }
    let unknown = Some(vec![("colour".into(), "red".into())]);
    let error = store
        .configure("{}", StoreOptions::default(), unknown)
        .unwrap_err();
    assert!(error.message.contains("colour"), "{}", error.message);
}

// A handle that detached its session once took it out again after a later entry.
#[test]
fn every_entry_has_a_name_of_its_own() {
    let (mut store, _, _) = setting();
    let key = store.prepare(options("a"), 1).unwrap();
    assert_eq!(store.entry(key), None);
    store.enter(key).unwrap();
    let first = store.entry(key);
    assert!(first.is_some());
    store.detach(key).unwrap();
    assert_eq!(store.entry(key), None);
    store.enter(key).unwrap();
    assert!(store.entry(key).is_some());
    assert_ne!(store.entry(key), first);
}
