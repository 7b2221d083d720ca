//! A backend takes the place of another one while sessions are live.

use annals_sdk::types::{ErrorCode, SessionSummary};
use annals_store::{Bound, CreateOptions, OpenMode, SessionKey, StoreOptions};

use crate::support::*;

/// A store without a backend, with one session of one turn at time 7.
fn homeless(options: CreateOptions, medium: &Medium) -> (TestStore, SessionKey) {
    let mut store = TestStore::new(medium.clone(), Recorder::default());
    store
        .configure("{}", StoreOptions::default(), None)
        .unwrap();
    let key = store.create(options, 1).unwrap();
    store.append(key, &turn("hi"), 7).unwrap();
    (store, key)
}

fn adopted(store: &mut TestStore) -> Vec<String> {
    store
        .configure("{}", StoreOptions::default(), Some(Vec::new()))
        .unwrap();
    let adopted = store.adopt().unwrap().into_iter();
    let shown = adopted.map(|Bound { id, binding, error }| match error {
        None => format!(
            "{id} {}",
            format!("{binding:?}").trim_start_matches("Binding::")
        ),
        Some(error) => format!("{id} {:?} {}", error.code, error.reason),
    });
    shown.collect()
}

#[test]
fn nothing_stored_is_stored_whole() {
    let medium = Medium::default();
    let (mut store, key) = homeless(options("a"), &medium);
    store.create(options("empty"), 1).unwrap();
    assert_eq!(adopted(&mut store), ["a Stored", "empty Stored"]);
    assert_eq!(medium.lines("a"), stored_turn(0, "hi"));
    assert!(!store.has("empty").unwrap());
    store.append(key, &turn("more"), 8).unwrap();
    store.flush(key).unwrap();
    assert_eq!((medium.count("create"), medium.count("append")), (1, 1));
}

#[test]
fn a_stored_prefix_gets_the_rest_and_an_open_turn_stays_open() {
    for events in 0..4 {
        let medium = Medium::default();
        let (mut store, key) = homeless(options("a"), &medium);
        let whole = stored_turn(0, "hi");
        let prefix: String = whole.split_inclusive('\n').take(events).collect();
        medium.plant("a", &prefix, events as u64);
        store.append(key, START, 8).unwrap();
        assert_eq!(adopted(&mut store), ["a Adopted"], "{events}");
        assert_eq!(
            medium.lines("a"),
            store.events(key, 0, u32::MAX).unwrap().lines
        );
        assert_eq!(store.next_seq(key), Some(4));
        assert_eq!(medium.count("create"), 0);
        store.close(key).unwrap();
    }
}

#[test]
fn anything_else_is_a_collision_and_stays_as_it_is() {
    let at = |cwd: &str| CreateOptions {
        cwd: Some(cwd.to_owned()),
        ..options("a")
    };
    let later = CreateOptions {
        created_at_ms: Some(2),
        ..options("a")
    };
    let same = stored_turn(0, "hi");
    for (options, stored, count, reason) in [
        (at("/w"), same.clone(), 3, "live-collision-cwd"),
        (later, same.clone(), 3, "live-collision"),
        (
            options("a"),
            stored_turn(0, "theirs"),
            3,
            "live-collision-seed",
        ),
        (
            options("a"),
            same + &stored_turn(3, "more"),
            6,
            "live-collision-seed",
        ),
    ] {
        let medium = Medium::default();
        let (mut store, key) = homeless(options, &medium);
        medium.plant("a", &stored, count);
        assert_eq!(
            adopted(&mut store),
            [format!("a ErrorCode::AlreadyExists {reason}")]
        );
        assert_eq!(label(store.flush(key)), format!("AlreadyExists {reason}"));
        assert_eq!(medium.lines("a"), stored);
        assert_eq!(store.live(), ["a"]);
        // the lease of a log that is not ours is not kept
        store_on(&medium).open("a", OpenMode::Resume).unwrap();
    }
}

#[test]
fn one_session_that_cannot_be_bound_keeps_no_other_from_it() {
    let medium = Medium::default();
    let (mut store, _) = homeless(options("a"), &medium);
    let other = store.create(options("b"), 1).unwrap();
    store.append(other, &turn("hi"), 7).unwrap();
    medium.fail("create", Failure::Before, ErrorCode::NoSpace);
    assert_eq!(adopted(&mut store)[1], "b Stored");
    assert_eq!(adopted(&mut store), ["a Stored", "b Adopted"]);
}

#[test]
fn unbinding_stores_everything_and_gives_every_lease_back() {
    let (mut store, medium, _) = setting();
    let one = flushed(&mut store, "a", "hi");
    let two = store.create(options("b"), 1).unwrap();
    store.append(two, &turn("hi"), 7).unwrap();
    store.append(one, &turn("more"), 7).unwrap();
    medium.fail("append", Failure::Before, ErrorCode::NoSpace);
    assert_eq!(store.unbind().unwrap_err().code, ErrorCode::NoSpace);
    assert_eq!(medium.count("release"), 0);
    assert!(store.has("b").unwrap());
    store.unbind().unwrap();
    assert_eq!(medium.count("release"), 2);
    assert_eq!(store.live(), ["a", "b"]);
    store_on(&medium).open("a", OpenMode::Resume).unwrap();
    // the same medium again: what is there is found
    assert_eq!(
        adopted(&mut store),
        ["a ErrorCode::Busy lease-held", "b Adopted"]
    );
    assert_eq!(medium.count("create"), 2);
}

#[test]
fn what_is_only_inspected_is_left_alone() {
    let (mut store, medium, _) = setting();
    medium.plant("a", &stored_turn(0, "hi"), 3);
    store.open("a", OpenMode::Inspect).unwrap();
    store.unbind().unwrap();
    let before = medium.count("acquire");
    assert_eq!(adopted(&mut store), ["a Inspected"]);
    assert_eq!(medium.count("acquire"), before);
}

#[test]
fn without_a_backend_there_is_nothing_to_bind_to() {
    let medium = Medium::default();
    let (mut store, _) = homeless(options("a"), &medium);
    assert_eq!(label(store.unbind()), "NotConfigured not-configured");
    assert_eq!(label(store.adopt()), "NotConfigured not-configured");
}

/// One packed row of so many deltas from `seq` on, and the same as events.
fn row(seq: u64, count: usize) -> (String, String) {
    let events: String = (0u64..)
        .take(count)
        .map(|at| format!("{{\"type\":\"assistant/chunk\",\"seq\":{},\"time\":7,\"data\":{{\"turn\":1,\"step\":1,\"chunk\":{{\"type\":\"text-delta\",\"index\":0,\"text\":\"é{at}\"}}}}}}\n", seq + at))
        .collect();
    let row = annals_store::log::pack(&events).unwrap();
    assert_eq!(row.lines().count(), 1);
    (row, events)
}

// The batch began at the first event of the row, which the medium had already, so it was refused for ever.
#[test]
fn a_prefix_that_ends_inside_a_row_gets_the_rest() {
    let (one, one_events) = row(0, 16_000);
    let (two, two_events) = row(16_000, 4);
    let events = format!("{one_events}{two_events}");
    for (stored, packed) in [(1, false), (15_999, false), (16_002, false), (3, true)] {
        let medium = Medium::default();
        let mut store = TestStore::new(medium.clone(), Recorder::default());
        store
            .configure("{}", StoreOptions::default(), None)
            .unwrap();
        let seed = Some(format!("{one}{two}"));
        let key = store
            .create(
                CreateOptions {
                    seed,
                    ..options("a")
                },
                1,
            )
            .unwrap();
        let prefix: String = events.split_inclusive('\n').take(stored).collect();
        medium.plant("a", &prefix, stored as u64);
        let setting = vec![("pack-chunks".to_owned(), packed.to_string())];
        store
            .configure("{}", StoreOptions::default(), Some(setting))
            .unwrap();
        let bound = store.adopt().unwrap().remove(0);
        assert_eq!(bound.error, None, "{stored}");
        let lines = medium.lines("a");
        let whole = annals_store::log::unpack(&lines).unwrap();
        assert!(whole == events, "{stored}");
        // what is not the rest of a row stays as it is
        assert_eq!(lines.ends_with(&two), stored <= 16_000, "{stored}");
        store.close(key).unwrap();
    }
}

/// Both sides are compared a page at a time.
#[test]
fn long_logs_are_compared_to_their_end() {
    let (packed, events) = row(0, 16_000);
    let other = |lines: &str| lines.replace("é15999\"", "é15998\"");
    for (ours, stored, expected) in [
        (&packed, &events, "a Adopted"),
        (&events, &packed, "a Adopted"),
        (
            &packed,
            &other(&events),
            "a ErrorCode::AlreadyExists live-collision-seed",
        ),
        (
            &events,
            &other(&packed),
            "a ErrorCode::AlreadyExists live-collision-seed",
        ),
    ] {
        let medium = Medium::default();
        let options = CreateOptions {
            seed: Some(ours.clone()),
            ..options("a")
        };
        let mut store = TestStore::new(medium.clone(), Recorder::default());
        store
            .configure("{}", StoreOptions::default(), None)
            .unwrap();
        store.create(options, 1).unwrap();
        medium.plant("a", stored, 16_000);
        assert_eq!(adopted(&mut store), [expected]);
        assert!(medium.lines("a") == *stored);
    }
}

// Binding again noted the first prompt again, over the one that the user had written.
#[test]
fn a_prompt_that_somebody_wrote_stays() {
    let (mut store, _, _) = setting();
    let key = flushed(&mut store, "a", "hi");
    let summary = SessionSummary {
        title: None,
        first_prompt: Some("mine".into()),
    };
    store.update("a", &summary).unwrap();
    store.unbind().unwrap();
    assert_eq!(adopted(&mut store), ["a Adopted"]);
    store.append(key, &turn("more"), 8).unwrap();
    store.flush(key).unwrap();
    let listed = store.list(None, 1).unwrap().sessions.remove(0);
    assert_eq!(listed.summary, summary);
}

// The answer to an append was lost, and the backend gave what it holds as one row, from before the known end to behind
// it: that was taken for another session's log, for ever.
#[test]
fn what_is_known_to_be_stored_may_end_inside_a_row() {
    for (known, is_ours) in [(1, true), (3, true), (15_999, true), (3, false)] {
        let (mut store, medium, _) = setting();
        let (row, events) = row(0, 16_000);
        let drafts: Vec<&str> = events.split_inclusive('\n').collect();
        let key = store.create(options("a"), 1).unwrap();
        store.append(key, &drafts[..known].concat(), 1).unwrap();
        store.flush(key).unwrap();
        store.append(key, &drafts[known..].concat(), 1).unwrap();
        medium.fail("append", Failure::After, ErrorCode::Unavailable);
        store.flush(key).unwrap_err();
        let given = if is_ours {
            row
        } else {
            row.replace("é15999\"", "é15998\"")
        };
        medium.0.borrow_mut().mangle = Some(Box::new(move |_, mut page| {
            page.lines = given.clone();
            page.next = None;
            page
        }));
        let flushed = store.flush(key);
        medium.0.borrow_mut().mangle = None;
        assert!(medium.lines("a") == events);
        match is_ours {
            true => flushed.unwrap(),
            false => assert_eq!(flushed.unwrap_err().code, ErrorCode::SeqConflict),
        }
    }
}
