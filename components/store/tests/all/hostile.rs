//! Backends that break the contract: each answer that cannot be right is a typed error, and nothing goes round in
//! circles.

use annals_sdk::types::{Batch, ErrorCode, Listing, Page, SessionEntry, SessionStatus};
use annals_store::OpenMode;

use crate::support::*;

type Mangle = fn(u64, Page) -> Page;

#[test]
fn pages_that_break_the_contract_are_refused() {
    let cases: [(&str, Mangle); 7] = [
        ("backend-page-cursor", |cursor, page| Page {
            next: Some(cursor),
            ..page
        }),
        ("backend-page-cursor", |cursor, page| Page {
            next: Some(cursor.saturating_sub(1)),
            ..page
        }),
        ("backend-page-lines", |_, page| Page {
            lines: page.lines.trim_end().to_owned(),
            ..page
        }),
        ("backend-page-lines", |_, page| Page {
            raw: Some(vec![1]),
            ..page
        }),
        ("backend-page-header", |_, page| Page {
            header: None,
            ..page
        }),
        ("header-id-mismatch", |_, mut page| {
            page.header = Some(header("somebody else"));
            page
        }),
        ("header-cwd-not-absolute", |_, mut page| {
            page.header.as_mut().unwrap().cwd = Some("rel".into());
            page
        }),
    ];
    for (reason, mangle) in cases {
        let (mut store, medium, _) = setting();
        medium.plant("a", &stored_turn(0, "hi"), 3);
        medium.0.borrow_mut().mangle = Some(Box::new(mangle));
        for mode in [OpenMode::Resume, OpenMode::Inspect] {
            assert_eq!(store.open("a", mode).unwrap_err().reason, reason);
        }
        assert!(store.fork("a", None, None, None, 1).is_err());
        assert!(store.live().is_empty());
        assert_eq!(medium.count("acquire"), medium.count("release"));
        // another session of the same store does not notice
        medium.0.borrow_mut().mangle = None;
        flushed(&mut store, "b", "hi");
    }
}

#[test]
fn a_header_in_the_middle_and_pages_of_nothing_are_refused() {
    for reason in ["backend-page-header", "backend-page-cursor"] {
        let (mut store, medium, _) = setting();
        let text = "x".repeat(800_000);
        medium.plant(
            "a",
            &format!("{}{}", stored_turn(0, &text), stored_turn(3, &text)),
            6,
        );
        medium.0.borrow_mut().mangle = Some(Box::new(move |cursor, mut page| {
            if cursor > 0 && reason == "backend-page-header" {
                page.header = Some(header("a"));
            } else if cursor > 0 {
                page.lines.clear();
                page.next = Some(cursor + 1);
            }
            page
        }));
        assert_eq!(
            store.open("a", OpenMode::Resume).unwrap_err().reason,
            reason
        );
    }
}

#[test]
fn the_same_page_again_is_no_more_of_the_log() {
    let (mut store, medium, _) = setting();
    medium.plant("a", &stored_turn(0, "hi"), 3);
    let mut rounds = 0;
    medium.0.borrow_mut().mangle = Some(Box::new(move |_, page| {
        rounds += 1;
        Page {
            next: (rounds < 3).then_some(0),
            ..page
        }
    }));
    assert_eq!(
        store.open("a", OpenMode::Resume).unwrap_err().reason,
        "backend-page-cursor"
    );
}

#[test]
fn listings_that_break_the_contract_are_refused() {
    let cases: [fn(Listing) -> Listing; 3] = [
        |listing| Listing {
            sessions: Vec::new(),
            next: listing.next.or(Some("x".into())),
        },
        |listing| Listing {
            next: Some("after:a".into()),
            ..listing
        },
        |mut listing| {
            listing.sessions.extend(listing.sessions.clone());
            listing
        },
    ];
    for mangle in cases {
        let (mut store, medium, _) = setting();
        for id in ["a", "b", "c"] {
            medium.plant(id, "", 0);
        }
        medium.0.borrow_mut().mangle_listing = Some(Box::new(mangle));
        let error = store.list(Some("after:a"), 1).unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (ErrorCode::Other, "backend-listing")
        );
    }
}

// Whoever listed sessions was shown another one's header, or one that no log may have.
#[test]
fn entries_that_are_not_what_they_say_are_listed_as_damaged() {
    let cases: [fn(&mut SessionEntry); 4] = [
        |entry| entry.id.clear(),
        |entry| entry.header.as_mut().unwrap().id.push('x'),
        |entry| entry.header.as_mut().unwrap().version = 9,
        |entry| entry.header.as_mut().unwrap().cwd = Some("here".to_owned()),
    ];
    for mangle in cases {
        let (mut store, medium, _) = setting();
        medium.plant("a", "", 0);
        medium.plant("b", "", 0);
        medium.0.borrow_mut().mangle_listing = Some(Box::new(move |mut listing| {
            mangle(&mut listing.sessions[0]);
            listing
        }));
        let listed = store.list(None, 10).unwrap().sessions;
        assert_eq!(listed[0].status, SessionStatus::Damaged);
        assert!(listed[0].header.is_none() && listed[0].note.is_some());
        assert_eq!(listed[1].status, SessionStatus::Ok);
        assert!(listed[1].header.is_some());
    }
}

#[test]
fn counts_that_lie_cannot_make_the_store_accept_a_log() {
    let (mut store, medium, _) = setting();
    // the backend believes ten events where there are three
    medium.plant("a", &stored_turn(0, "hi"), 10);
    let (key, _) = store.open("a", OpenMode::Resume).unwrap();
    assert_eq!(store.next_seq(key), Some(3));
    store.append(key, &turn("more"), 2).unwrap();
    assert_eq!(store.flush(key).unwrap_err().code, ErrorCode::SeqConflict);
    assert_eq!(store.next_seq(key), Some(6));
    assert_eq!(medium.lines("a"), stored_turn(0, "hi"));
}

#[test]
fn a_backend_that_always_conflicts_is_asked_twice_at_most() {
    let (mut store, medium, _) = setting();
    let key = flushed(&mut store, "a", "hi");
    store.append(key, &turn("more"), 2).unwrap();
    for _ in 0..5 {
        medium.fail("append", Failure::Before, ErrorCode::SeqConflict);
    }
    assert_eq!(label(store.flush(key)), "SeqConflict prepared");
    assert_eq!(medium.count("append"), 2);
    assert_eq!(label(store.flush(key)), "SeqConflict prepared");
    assert_eq!(medium.count("append"), 4);
}

#[test]
fn a_backend_that_answers_for_another_session_stays_out() {
    let (mut store, medium, _) = setting();
    medium.plant("a", &stored_turn(0, "hi"), 3);
    medium.plant("b", "", 0);
    let stolen = Batch {
        first_seq: 0,
        count: 3,
        last_time_ms: 7,
        lines: stored_turn(0, "hi"),
    };
    medium.0.borrow_mut().mangle = Some(Box::new(move |_, page| Page {
        header: Some(header("a")),
        lines: stolen.lines.clone(),
        ..page
    }));
    let error = store.open("b", OpenMode::Resume).unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (ErrorCode::Corrupt, "header-id-mismatch")
    );
}

// Ids have no bound, and a message repeated them whole: a megabyte on the screen of somebody.
#[test]
fn messages_show_a_long_id_shortened_and_facts_name_it() {
    let (mut store, medium, _) = setting();
    let id = "i".repeat(100_000);
    let key = flushed(&mut store, &id, "hi");
    let rival = store_on(&medium).open(&id, OpenMode::Resume);
    let mut errors = vec![
        rival.map(drop).unwrap_err(),
        store.create(options(&id), 1).map(drop).unwrap_err(),
        store.open(&id, OpenMode::Resume).map(drop).unwrap_err(),
        store.announce(key).unwrap_err(),
        store.delete(&id).unwrap_err(),
        store.append_out_of_band(key, START, "1", 1).unwrap_err(),
    ];
    store.close(key).unwrap();
    errors.push(store.append(key, END, 1).unwrap_err());
    store.delete(&id).unwrap();
    errors.push(store.delete(&id).unwrap_err());
    errors.push(store.fork(&id, None, None, None, 1).unwrap_err());
    for error in errors {
        assert!(error.message.len() < 1000, "{}", error.message.len());
        assert!(!error.reason.is_empty());
    }
}
