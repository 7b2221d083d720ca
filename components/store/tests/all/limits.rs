//! What is longer than can be stored is refused where it comes in, at each limit and one byte beyond it.

use annals_sdk::Result;
use annals_store::{CreateOptions, OpenMode, SessionKey, StoreOptions};

use crate::support::*;

/// A store over a backend whose records end there.
fn with_records_of(bytes_max: u64) -> (TestStore, Medium) {
    let (mut store, medium, _) = setting();
    medium.0.borrow_mut().promise = Some(Box::new(move |mut info| {
        info.record_bytes_max = bytes_max;
        info
    }));
    store
        .configure("{}", StoreOptions::default(), Some(Vec::new()))
        .unwrap();
    (store, medium)
}

// Room was kept for the longest seq and time that there are, so a line within 64 bytes of the limit was refused
// although it fits.
#[test]
fn a_record_is_as_long_as_it_is_stored() {
    for (time_ms, spelling) in [
        (1, r#"{"type":"x","data":"#),
        (1, r#"{ "type" : "\u0078" , "data" : "#),
        (1, r#"{"time":2,"seq":0,"type":"x","data":"#),
        (9_007_199_254_740_991, r#"{"type":"x","data":"#),
    ] {
        let draft = |bytes: usize| format!("{spelling}\"{}\"}}", "a".repeat(bytes));
        let (mut plain, _, _) = setting();
        let key = plain.create(options("a"), 1).unwrap();
        let stored = plain.append(key, &draft(500), time_ms).unwrap().lines.len();

        let (mut store, medium) = with_records_of(stored as u64);
        let key = store.create(options("a"), 1).unwrap();
        let error = store.append(key, &draft(501), time_ms).unwrap_err();
        assert_eq!(error.reason, "record-too-long");
        assert_eq!(
            error.message,
            format!(
                "line 1 has {} bytes as stored, the backend takes {stored}; split the event",
                stored + 1
            )
        );
        assert_eq!(store.next_seq(key), Some(0));
        store.append(key, &draft(500), time_ms).unwrap();
        store.flush(key).unwrap();
        assert_eq!(medium.lines("a").len(), stored);
    }
}

#[test]
fn the_line_that_is_too_long_is_named_and_none_is_taken() {
    let (mut store, _) = with_records_of(1000);
    let key = store.create(options("a"), 1).unwrap();
    let lines = format!("{START}\n{}\n{END}\n", user(&"x".repeat(1000)));
    let error = store.append(key, &lines, 1).unwrap_err();
    let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
    assert_eq!(detail["line"], 2);
    assert_eq!(detail["record-bytes-max"], 1000);
    assert_eq!(store.next_seq(key), Some(0));
}

#[test]
fn a_record_of_a_seed_has_the_same_limit() {
    let line = stored_turn(0, "x").lines().next().unwrap().to_owned();
    let bytes = line.len() as u64 + 1;
    // with and without the newline, which is stored in any case
    for seed in [line.clone(), line + "\n"] {
        for (bytes_max, expected) in [(bytes, None), (bytes - 1, Some("Limit record-too-long"))] {
            let (mut store, _) = with_records_of(bytes_max);
            let seed = Some(seed.clone());
            let created = store.create(
                CreateOptions {
                    seed,
                    ..options("b")
                },
                1,
            );
            match expected {
                None => store.flush(created.unwrap()).unwrap(),
                Some(expected) => assert_eq!(label(created), expected),
            }
        }
    }
}

/// A turn of its own ends with a line of a length that is known before it begins.
#[test]
fn a_turn_of_its_own_begins_where_its_end_fits() {
    let note = r#"{"type":"plugin/note","data":1}"#;
    let end =
        r#"{"type":"turn/end","seq":2,"time":7,"data":{"turn":1,"reason":{"kind":"completed"}}}"#;
    let bytes = end.len() as u64 + 1;
    for (bytes_max, fits) in [(bytes, true), (bytes - 1, false)] {
        let (mut store, medium) = with_records_of(bytes_max);
        store.configure("{}", opted_in(), Some(Vec::new())).unwrap();
        let key = store.create(options("a"), 1).unwrap();
        let appended = store.append_out_of_band(key, note, "0", 7);
        match fits {
            true => {
                appended.unwrap();
                assert!(medium.lines("a").ends_with(&format!("{end}\n")));
            }
            false => {
                assert_eq!(label(appended), "Limit record-too-long");
                assert_eq!(store.next_seq(key), Some(0));
            }
        }
    }
}

/// What a session of these lines holds: they and a place in the index for each.
fn held(lines: &str) -> u64 {
    lines.len() as u64 + 48 * lines.lines().count() as u64
}

/// A way to have more in memory than before.
type Way = (&'static str, fn(&mut TestStore, SessionKey) -> Result<()>);

/// Each takes a second turn into memory; the append takes its place in the index when it is there.
const WAYS: [Way; 6] = [
    ("append", |store, key| {
        store.append(key, &turn("hi"), 7).map(drop)
    }),
    ("create", |store, _| {
        let seed = Some(stored_turn(0, "hi"));
        let seeded = CreateOptions {
            seed,
            ..options("new")
        };
        store.create(seeded, 1).map(drop)
    }),
    ("resume", |store, _| {
        store.open("stored", OpenMode::Resume).map(drop)
    }),
    ("inspect", |store, _| {
        store.open("stored", OpenMode::Inspect).map(drop)
    }),
    ("fork", |store, _| {
        store
            .fork("a", Some(2), Some("child".into()), None, 1)
            .map(drop)
    }),
    ("fork what is stored", |store, _| {
        store
            .fork("stored", None, Some("child".into()), None, 1)
            .map(drop)
    }),
];

// Sessions of about 1 GiB each had no bound together, and the one that was too much ended the store by a trap.
#[test]
fn sessions_have_a_limit_together() {
    let lines = stored_turn(0, "hi");
    for (way, take) in WAYS {
        let more = match way {
            "append" => turn("hi").len() as u64,
            "fork what is stored" => 2 * held(&lines),
            _ => held(&lines),
        };
        let least = 2 * held(&lines) + more;
        for (bytes_max, is_taken) in [(least, true), (least - 1, false)] {
            let (mut store, medium, _) = setting();
            medium.plant("stored", &lines, 3);
            let key = store.create(options("a"), 1).unwrap();
            let other = store.create(options("b"), 1).unwrap();
            for key in [key, other] {
                store.append(key, &turn("hi"), 7).unwrap();
            }
            let before = (store.live(), store.next_seq(key));
            store.set_sessions_bytes_max(bytes_max);
            if is_taken {
                take(&mut store, key).unwrap();
                continue;
            }
            let error = take(&mut store, key).unwrap_err();
            assert_eq!(error.reason, "limit-reached", "{way}");
            assert!(error.message.ends_with("close other sessions first"));
            let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
            assert_eq!(detail["limit"], "sessions-bytes-max");
            assert_eq!(
                (&detail["actual"], &detail["max"]),
                (&least.into(), &bytes_max.into())
            );
            // nothing has changed, and what is there can be stored
            assert_eq!((store.live(), store.next_seq(key)), before, "{way}");
            assert!(!store.has("new").unwrap() && !store.has("child").unwrap());
            let mut another = store_on(&medium);
            let (opened, _) = another.open("stored", OpenMode::Resume).unwrap();
            another.close(opened).unwrap();
            store.flush(key).unwrap();
            // the cure
            store.close(other).unwrap();
            take(&mut store, key).unwrap();
        }
    }
}

#[test]
fn a_session_alone_has_only_the_limit_of_a_log() {
    let (mut store, _, _) = setting();
    store.set_sessions_bytes_max(1);
    let key = store.create(options("a"), 1).unwrap();
    store.create(options("empty"), 1).unwrap();
    for _ in 0..3 {
        store.append(key, &turn("hi"), 7).unwrap();
    }
    store.close(key).unwrap();
    store.open("a", OpenMode::Resume).unwrap();
}

/// Who forked one large session with no other one open was told to close other sessions.
#[test]
fn a_fork_that_has_no_room_beside_its_source_says_what_helps() {
    let lines = stored_turn(0, "hi");
    for is_live in [false, true] {
        let (mut store, medium, _) = setting();
        medium.plant("stored", &lines, 3);
        if is_live {
            store.open("stored", OpenMode::Resume).unwrap();
        }
        store.set_sessions_bytes_max(2 * held(&lines) - 1);
        let fork = store.fork("stored", None, Some("child".to_owned()), None, 7);
        let error = fork.unwrap_err();
        assert!(error.detail.contains("sessions-bytes-max"), "{error:?}");
        assert!(
            error.message.contains("; fork an earlier part"),
            "{}",
            error.message
        );
    }
}

/// What is left is not counted anew for each append, and never too much.
#[test]
fn every_way_to_grow_counts() {
    let (mut store, _, _) = setting();
    let lines = stored_turn(0, "hi");
    store.set_sessions_bytes_max(10 * held(&lines));
    let keys = ["a", "b"].map(|id| store.create(options(id), 1).unwrap());
    let mut turns = 0;
    while turns < 100 {
        let seed = Some(lines.clone());
        let way = turns % 3;
        let grown = match way {
            0 | 1 => store.append(keys[way], &turn("hi"), 7).map(drop),
            _ => {
                let seeded = CreateOptions {
                    seed,
                    ..options(&format!("{turns}"))
                };
                store.create(seeded, 1).map(drop)
            }
        };
        if grown.is_err() {
            break;
        }
        turns += 1;
    }
    assert_eq!(turns, 10);
}
