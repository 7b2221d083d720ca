//! Forks of live and of stored sessions.

use annals_store::{CreateOptions, OpenMode};

use crate::support::*;

#[test]
fn a_fork_takes_the_events_as_they_are_and_stores_them_once() {
    let (mut store, medium, recorder) = setting();
    let source = CreateOptions {
        cwd: Some("/w".into()),
        delegation_depth: Some(2),
        ..options("a")
    };
    let key = store.create(source, 1).unwrap();
    store.append(key, &turn("one"), 2).unwrap();
    store.append(key, &turn("two"), 3).unwrap();
    recorder.take();
    let child = store.fork("a", Some(2), Some("b".into()), None, 9).unwrap();
    let header = store.header(child).unwrap();
    assert_eq!(header.created_at_ms, 9);
    assert_eq!(header.cwd.as_deref(), Some("/w"));
    assert_eq!(header.parent_session.as_deref(), Some("a"));
    assert_eq!(
        (header.seed_length, header.delegation_depth),
        (Some(3), None)
    );
    assert!(!store.has("b").unwrap());
    store.flush(child).unwrap();
    let prefix = medium.lines("b");
    assert!(
        store
            .events(key, 0, u32::MAX)
            .unwrap()
            .lines
            .starts_with(&prefix)
    );
    assert_eq!(prefix.lines().count(), 3);
    store.append(child, &turn("elsewhere"), 10).unwrap();
    store.close(child).unwrap();
    assert_eq!(medium.count("create"), 1);
    assert_eq!(medium.lines("b").lines().count(), 6);
    assert_eq!(store.next_seq(key), Some(6));
    assert_eq!(
        recorder.take(),
        [
            "created b",
            "flushed b",
            "appended b 3+3",
            "flushed b",
            "disposed b"
        ]
    );
    let (again, _) = store.open("b", OpenMode::Inspect).unwrap();
    assert_eq!(store.header(again).unwrap(), header);
}

#[test]
fn a_stored_source_is_read_and_left_alone() {
    let (mut store, medium, _) = setting();
    let open_tail = START.replacen("\",\"data\"", "\",\"seq\":3,\"time\":7,\"data\"", 1);
    let lines = format!("{}{open_tail}\nrubbish\n", stored_turn(0, "hi"));
    medium.plant("a", &lines, 5);
    assert_eq!(
        label(store.fork("a", None, None, None, 1)),
        "Invalid fork-open-turn"
    );
    let child = store
        .fork("a", Some(2), None, Some("/x".into()), 1)
        .unwrap();
    assert_eq!(store.header(child).unwrap().cwd.as_deref(), Some("/x"));
    assert_eq!(store.messages(child, 0, 1000).unwrap().total, 1);
    assert_eq!(medium.lines("a"), lines);
    assert_eq!(store.live(), ["session-2"]);
    assert_eq!(
        medium.count("acquire") + medium.count("truncate") + medium.count("append"),
        0
    );
}

#[test]
fn a_fork_that_cannot_be_says_why() {
    let (mut store, _, _) = setting();
    let key = flushed(&mut store, "a", "hi");
    store.append(key, &format!("{START}\n"), 2).unwrap();
    assert_eq!(
        label(store.fork("zz", None, None, None, 1)),
        "NotFound fork-session-not-found"
    );
    let child = Some("a".to_owned());
    assert_eq!(
        label(store.fork("a", Some(2), child, None, 1)),
        "AlreadyExists fork-session-already-exists"
    );
    assert_eq!(
        label(store.fork("a", None, None, None, 1)),
        "Invalid fork-open-turn"
    );
    for boundary in [0, 1, 3, 4, u64::MAX] {
        let error = store.fork("a", Some(boundary), None, None, 1).unwrap_err();
        assert!(
            error.reason.starts_with("fork-"),
            "{boundary}: {}",
            error.reason
        );
    }
    let relative = store.fork("a", Some(2), None, Some("rel".into()), 1);
    assert_eq!(label(relative), "Invalid header-cwd-not-absolute");
    assert_eq!(store.live(), ["a"]);
}

#[test]
fn an_empty_session_forks_into_an_empty_one() {
    let (mut store, _, _) = setting();
    store.create(options("a"), 1).unwrap();
    let child = store.fork("a", None, Some("b".into()), None, 2).unwrap();
    assert_eq!(store.header(child).unwrap().seed_length, Some(0));
    assert_eq!(
        label(store.fork("a", Some(0), None, None, 2)),
        "Invalid fork-invalid-boundary"
    );
}

/// A turn with that number, of one step that used so many tokens.
fn paid_turn(number: u64, tokens: u64) -> String {
    let start = START.replace("\"turn\":1", &format!("\"turn\":{number}"));
    let end = END.replace("\"turn\":1", &format!("\"turn\":{number}"));
    format!(
        "{start}\n\
         {{\"type\":\"step/start\",\"data\":{{\"turn\":{number},\"step\":1}}}}\n\
         {{\"type\":\"assistant/chunk\",\"data\":{{\"turn\":{number},\"step\":1,\"chunk\":{{\"type\":\"usage\",\"usage\":{{\"inputTokens\":{tokens}}}}}}}}}\n\
         {{\"type\":\"step/end\",\"data\":{{\"turn\":{number},\"step\":1}}}}\n\
         {end}\n"
    )
}

fn used(store: &TestStore, key: annals_store::SessionKey) -> (usize, Vec<(String, u64)>) {
    let usage = store.usage(key).unwrap();
    let total = usage.total.into_iter();
    let total = total.map(|count| (count.name, count.count));
    (usage.steps.len(), total.collect())
}

#[test]
fn turns_are_counted_on_and_what_was_inherited_is_not_counted_again() {
    let (mut store, _, _) = setting();
    let key = store.create(options("a"), 1).unwrap();
    assert_eq!(store.next_turn(key), Some(1));
    store.append(key, &paid_turn(1, 10), 2).unwrap();
    store.append(key, &paid_turn(4, 5), 2).unwrap();
    assert_eq!(store.next_turn(key), Some(5));
    let tokens = |count| vec![("inputTokens".to_owned(), count)];
    assert_eq!(used(&store, key), (2, tokens(15)));
    let child = store.fork("a", None, Some("b".into()), None, 3).unwrap();
    assert_eq!(store.next_turn(child), Some(5));
    assert_eq!(used(&store, child), (0, vec![]));
    store.append(child, &paid_turn(5, 7), 4).unwrap();
    assert_eq!(used(&store, child), (1, tokens(7)));
    store.close(key).unwrap();
    store.close(child).unwrap();
    assert!(store.next_turn(key).is_none() && store.usage(key).is_none());
    // and after a resume, of a stored fork that is forked again
    let (child, _) = store.open("b", OpenMode::Resume).unwrap();
    assert_eq!(store.next_turn(child), Some(6));
    assert_eq!(used(&store, child), (1, tokens(7)));
    store.close(child).unwrap();
    let grandchild = store.fork("b", None, None, None, 5).unwrap();
    assert_eq!(used(&store, grandchild), (0, vec![]));
}

#[test]
fn a_fork_of_what_is_live_takes_what_was_never_flushed() {
    let (mut store, medium, _) = setting();
    let key = flushed(&mut store, "a", "one");
    store.append(key, &turn("two"), 2).unwrap();
    let child = store.fork("a", None, Some("b".into()), None, 3).unwrap();
    store.close(child).unwrap();
    assert_eq!(medium.lines("b").lines().count(), 6);
    assert_eq!(medium.lines("a").lines().count(), 3);
    // what another writer has open is forked as it is stored
    let mut other = store_on(&medium);
    let child = other.fork("a", None, Some("c".into()), None, 3).unwrap();
    assert_eq!(other.next_seq(child), Some(3));
}
