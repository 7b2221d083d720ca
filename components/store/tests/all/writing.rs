//! Write-behind: each event goes to the medium once, in order, whatever answers get lost.

use annals_sdk::types::ErrorCode;
use annals_store::{CreateOptions, OpenMode, StoreOptions};

use crate::support::*;

#[test]
fn append_is_all_or_none_and_says_where() {
    let (mut store, _, recorder) = setting();
    let key = store.create(options("a"), 1).unwrap();
    recorder.take();
    let error = store
        .append(key, &format!("{START}\n{{\"type\":1}}\n"), 2)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Invalid);
    assert!(error.detail.contains("\"line\":2"), "{}", error.detail);
    let late = START.replacen('{', "{\"seq\":4,", 1);
    assert_eq!(
        store.append(key, &late, 2).unwrap_err().code,
        ErrorCode::SeqConflict
    );
    assert_eq!(store.next_seq(key), Some(0));
    assert!(recorder.take().is_empty());
    let batch = store.append(key, &turn("hi"), 2).unwrap();
    assert_eq!(
        (batch.first_seq, batch.count, batch.last_time_ms),
        (0, 3, 2)
    );
    assert_eq!(batch.lines, store.events(key, 0, u32::MAX).unwrap().lines);
    assert_eq!(recorder.take(), ["appended a 0+3"]);
}

#[test]
fn after_a_failed_flush_the_next_one_tries_again() {
    for code in [
        ErrorCode::NoSpace,
        ErrorCode::Unavailable,
        ErrorCode::ReadOnly,
        ErrorCode::Other,
    ] {
        let (mut store, medium, recorder) = setting();
        let key = store.create(options("a"), 1).unwrap();
        for (call, text) in [("create", "one"), ("append", "two")] {
            store.append(key, &turn(text), 2).unwrap();
            medium.fail(call, Failure::Before, code);
            recorder.take();
            assert_eq!(store.flush(key).unwrap_err().code, code);
            assert!(recorder.take().is_empty());
            store.flush(key).unwrap();
        }
        assert_eq!(
            medium.lines("a"),
            store.events(key, 0, u32::MAX).unwrap().lines
        );
        assert_eq!(medium.count("acquire"), 1);
    }
}

#[test]
fn a_lost_answer_doubles_nothing() {
    for failure in [Failure::After, Failure::Halfway] {
        for packed in [false, true] {
            let (mut store, medium, _) = setting();
            medium.0.borrow_mut().promise = Some(Box::new(move |mut info| {
                info.wants_packed = packed;
                info
            }));
            store
                .configure("{}", StoreOptions::default(), Some(Vec::new()))
                .unwrap();
            let key = store.create(options("a"), 1).unwrap();
            for (call, text) in [("create", "one"), ("append", "two")] {
                store.append(key, &turn(text), 2).unwrap();
                medium.fail(call, failure, ErrorCode::Unavailable);
                assert_eq!(store.flush(key).unwrap_err().code, ErrorCode::Unavailable);
                store.append(key, &turn("between"), 2).unwrap();
                store.flush(key).unwrap();
            }
            assert_eq!(
                medium.lines("a"),
                store.events(key, 0, u32::MAX).unwrap().lines
            );
        }
    }
}

#[test]
fn a_log_that_is_not_ours_is_never_written_to() {
    let (mut store, medium, _) = setting();
    let key = store.create(options("a"), 1).unwrap();
    store.append(key, &turn("mine"), 2).unwrap();
    medium.plant("a", &stored_turn(0, "theirs"), 3);
    assert_eq!(label(store.flush(key)), "AlreadyExists live-collision-seed");
    assert_eq!(medium.lines("a"), stored_turn(0, "theirs"));
    assert_eq!(store.next_seq(key), Some(3));
    // nor is its writer kept out: the lease is not held for a log that can never be ours
    let mut other = store_on(&medium);
    other.open("a", OpenMode::Resume).unwrap();
}

// The answer to `create` was lost, and the stored header was taken for another session's: a backend gives further
// members back without the whitespace they came with.
#[test]
fn a_header_is_ours_however_its_further_members_are_spelled() {
    let (mut store, medium, _) = setting();
    let extra = |text: &str| Some(text.to_owned());
    for (id, given, kept) in [
        ("a", extra("{ \"x\" : [1,\n2] }"), extra("{\"x\":[1, 2]}")),
        ("b", extra("{}"), None),
    ] {
        let key = store
            .create(
                CreateOptions {
                    extra: given,
                    ..options(id)
                },
                1,
            )
            .unwrap();
        store.append(key, &turn("hi"), 2).unwrap();
        medium.fail("create", Failure::After, ErrorCode::Unavailable);
        assert!(store.flush(key).is_err());
        medium.0.borrow_mut().mangle = Some(Box::new(move |_, mut page| {
            if let Some(header) = &mut page.header {
                header.extra = kept.clone();
            }
            page
        }));
        store.flush(key).unwrap();
        // and what an adopted log begins with is in its summary too
        let listed = store.list(None, 9).unwrap().sessions;
        let entry = listed.iter().find(|entry| entry.id == id).unwrap();
        assert_eq!(entry.summary.first_prompt.as_deref(), Some("hi"));
    }
}

#[test]
fn a_medium_that_went_back_in_time_is_a_conflict() {
    let (mut store, medium, _) = setting();
    let key = flushed(&mut store, "a", "one");
    store.append(key, &turn("two"), 2).unwrap();
    medium.fail("append", Failure::Before, ErrorCode::SeqConflict);
    medium.0.borrow_mut().mangle = Some(Box::new(|_, mut page| {
        page.lines.clear();
        page
    }));
    assert_eq!(label(store.flush(key)), "SeqConflict prepared");
    medium.0.borrow_mut().mangle = None;
    store.flush(key).unwrap();
}

#[test]
fn a_torn_end_of_our_own_is_cut_before_going_on() {
    let (mut store, medium, _) = setting();
    let key = flushed(&mut store, "a", "one");
    store.append(key, &turn("two"), 2).unwrap();
    medium.fail("append", Failure::Torn, ErrorCode::Unavailable);
    assert_eq!(label(store.flush(key)), "Unavailable prepared");
    medium.fail("append", Failure::Before, ErrorCode::Corrupt);
    store.flush(key).unwrap();
    assert_eq!(medium.count("truncate"), 1);
    assert_eq!(
        medium.lines("a"),
        store.events(key, 0, u32::MAX).unwrap().lines
    );
    assert!(store.read_cut("a", 0, 100).unwrap().raw.is_some());
}

/// One append of 18 MB was handed over in pieces of 4 MiB. The disk filled in a later piece, the append was reported as
/// failed, and the earlier pieces stayed: the retry doubled them. A backlog is one batch, stored whole or not at all.
#[test]
fn a_large_backlog_is_one_batch() {
    let (mut store, medium, _) = setting();
    let key = flushed(&mut store, "a", "small");
    let text = "x".repeat(1_000_000);
    for _ in 0..10 {
        store.append(key, &turn(&text), 2).unwrap();
    }
    let before = medium.count("append");
    store.flush(key).unwrap();
    assert_eq!(medium.count("append"), before + 1);
    assert_eq!(
        medium.lines("a"),
        store.events(key, 0, u32::MAX).unwrap().lines
    );
}

#[test]
fn rows_are_made_only_where_asked_for_and_kept_as_they_came() {
    let chunk = |text: &str| {
        format!(
            r#"{{"type":"assistant/chunk","data":{{"turn":1,"step":1,"chunk":{{"type":"text-delta","index":0,"text":"{text}"}}}}}}"#
        )
    };
    let chunks = format!(
        "{}\n{}\n{}\n{}\n",
        chunk("a"),
        chunk("b"),
        chunk("c"),
        chunk("d")
    );
    for packed in [false, true] {
        let (mut store, medium, _) = setting();
        let setting = vec![("pack-chunks".to_owned(), packed.to_string())];
        store
            .configure("{}", StoreOptions::default(), Some(setting))
            .unwrap();
        let key = store.create(options("a"), 1).unwrap();
        store.append(key, &chunks, 5).unwrap();
        store.close(key).unwrap();
        let lines = medium.lines("a");
        assert_eq!(lines.lines().count(), if packed { 1 } else { 4 }, "{lines}");
        let (again, _) = store.open("a", OpenMode::Continue).unwrap();
        assert_eq!(store.next_seq(again), Some(4));
        let expanded = store.events(again, 0, u32::MAX).unwrap().lines;
        assert_eq!(expanded.lines().count(), 4);
        let copy = CreateOptions {
            seed: Some(lines.clone()),
            ..options("b")
        };
        let copy = store.create(copy, 1).unwrap();
        store.close(copy).unwrap();
        assert_eq!(medium.lines("b"), lines);
    }
}

#[test]
fn sessions_side_by_side_share_nothing() {
    let (mut store, medium, _) = setting();
    let keys: Vec<_> = ["a", "b", "c"]
        .map(|id| store.create(options(id), 1).unwrap())
        .into();
    for round in 0..5 {
        for (key, name) in keys.iter().zip(["a", "b", "c"]) {
            store
                .append(*key, &turn(&format!("{name}{round}")), 2)
                .unwrap();
        }
        store.flush(keys[round % 3]).unwrap();
    }
    medium.fail("append", Failure::Before, ErrorCode::Unavailable);
    assert!(store.flush(keys[0]).is_err());
    for (key, name) in keys.iter().zip(["a", "b", "c"]) {
        store.close(*key).unwrap();
        let lines = medium.lines(name);
        assert_eq!(lines.lines().count(), 15);
        for other in ["a", "b", "c"].iter().filter(|other| **other != name) {
            assert!(!lines.contains(&format!("\"{other}0\"")));
        }
    }
}

#[test]
fn sessions_that_are_live_go_on_over_another_medium() {
    let (mut store, medium, _) = setting();
    let key = flushed(&mut store, "a", "hi");
    // the same backend again, as after a restart: nothing is stored twice
    store
        .configure("{}", StoreOptions::default(), Some(Vec::new()))
        .unwrap();
    store.append(key, &turn("more"), 2).unwrap();
    store.flush(key).unwrap();
    assert_eq!(
        (
            medium.count("create"),
            medium.count("append"),
            medium.count("acquire")
        ),
        (1, 1, 1)
    );

    // none at all
    store
        .configure("{}", StoreOptions::default(), None)
        .unwrap();
    store.append(key, &turn("in memory"), 3).unwrap();
    store.flush(key).unwrap();

    // others may write what this store has let go of
    let mut other = store_on(&medium);
    let (taken, _) = other.open("a", OpenMode::Resume).unwrap();
    other.close(taken).unwrap();

    // the first one again: what is stored is a prefix, so only the rest follows
    store
        .configure("{}", StoreOptions::default(), Some(Vec::new()))
        .unwrap();
    store.flush(key).unwrap();
    assert_eq!(
        medium.lines("a"),
        store.events(key, 0, u32::MAX).unwrap().lines
    );
}

#[test]
fn a_failed_change_of_the_backend_leaves_sessions_as_they_were() {
    let (mut store, medium, _) = setting();
    let key = flushed(&mut store, "a", "hi");
    let wrong = vec![("no-such-setting".to_owned(), "1".to_owned())];
    assert_eq!(
        label(store.configure("{}", StoreOptions::default(), Some(wrong))),
        "Invalid setting-invalid"
    );
    store.append(key, &turn("more"), 2).unwrap();
    store.flush(key).unwrap();
    assert_eq!(
        medium.lines("a"),
        store.events(key, 0, u32::MAX).unwrap().lines
    );
    let mut other = store_on(&medium);
    assert_eq!(label(other.open("a", OpenMode::Resume)), "Busy lease-held");
}
