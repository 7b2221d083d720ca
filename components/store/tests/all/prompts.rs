//! The first prompt in the summary: noted once, and never over one that somebody wrote.

use annals_sdk::types::{ErrorCode, SessionSummary};
use annals_store::OpenMode;

use crate::support::*;

#[test]
fn the_first_prompt_is_noted_once_and_never_in_the_way() {
    let (mut store, medium, _) = setting();
    let prompt = |store: &mut TestStore| {
        store
            .list(None, 1)
            .unwrap()
            .sessions
            .remove(0)
            .summary
            .first_prompt
    };
    let key = store.create(options("a"), 1).unwrap();
    store.persist(key).unwrap();
    assert_eq!(prompt(&mut store), None);
    store.append(key, &turn(&"é".repeat(300)), 2).unwrap();
    store.flush(key).unwrap();
    assert_eq!(prompt(&mut store), Some("é".repeat(200)));
    store.append(key, &turn("second"), 2).unwrap();
    store.close(key).unwrap();
    let (key, _) = store.open("a", OpenMode::Resume).unwrap();
    store.append(key, &turn("third"), 2).unwrap();
    store.flush(key).unwrap();
    assert_eq!(medium.count("update"), 1);

    medium.fail("update", Failure::Before, ErrorCode::NoSpace);
    flushed(&mut store, "b", "hello");
}

#[test]
fn a_prompt_that_somebody_wrote_stays() {
    let (mut store, _, _) = setting();
    let key = store.create(options("a"), 1).unwrap();
    store.persist(key).unwrap();
    let summary = SessionSummary {
        title: Some("t".into()),
        first_prompt: Some("mine".into()),
    };
    store.update("a", &summary).unwrap();
    store.append(key, &turn("other"), 2).unwrap();
    store.flush(key).unwrap();
    let listed = store.list(None, 1).unwrap().sessions.remove(0);
    assert_eq!(listed.summary, summary);
    assert_eq!(listed.updated_at_ms, Some(2));
}

// Of a session without a prompt of its own that was opened again, the one that a user had written was overwritten.
#[test]
fn a_prompt_that_somebody_wrote_stays_when_the_session_is_opened_again() {
    let (mut store, medium, _) = setting();
    let key = store.create(options("a"), 1).unwrap();
    store.persist(key).unwrap();
    store.close(key).unwrap();
    let summary = SessionSummary {
        title: None,
        first_prompt: Some("mine".into()),
    };
    store.update("a", &summary).unwrap();
    let mut store = store_on(&medium);
    let (key, _) = store.open("a", OpenMode::Resume).unwrap();
    store.append(key, &turn("other"), 2).unwrap();
    store.flush(key).unwrap();
    let listed = store.list(None, 1).unwrap().sessions.remove(0);
    assert_eq!(listed.summary.first_prompt.as_deref(), Some("mine"));
}

// A store made a session that another one had made meanwhile, found its own events there, and wrote the first prompt
// over the one that a user had given it.
#[test]
fn a_prompt_that_is_there_stays_when_another_writer_was_first() {
    for (given, expected) in [(Some("mine"), "mine"), (None, "hi")] {
        let (mut store, medium, _) = setting();
        let key = store.create(options("a"), 1).unwrap();
        store.append(key, &turn("hi"), 2).unwrap();
        medium.plant("a", &stored_turn(0, "hi").replace(":7,", ":2,"), 3);
        // far down the listing
        (0..300).for_each(|at| medium.plant(&format!("Z{at}"), "", 0));
        if let Some(given) = given {
            let summary = SessionSummary {
                title: None,
                first_prompt: Some(given.into()),
            };
            store_on(&medium).update("a", &summary).unwrap();
        }
        store.flush(key).unwrap();
        let listed = store.list(None, 999).unwrap().sessions;
        let entry = listed.into_iter().find(|entry| entry.id == "a").unwrap();
        assert_eq!(entry.summary.first_prompt.as_deref(), Some(expected));
    }
}
