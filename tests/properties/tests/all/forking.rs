//! Forks: at every seq of a live log, and of stored ones through the store.

use annals_properties::model::{self, State, is_boundary};
use annals_properties::script::{Spelling, TIME_MS};
use annals_sdk::types::ErrorCode;
use annals_store::OpenMode;
use proptest::prelude::*;

use crate::check::{LOGS, STEPS_MAX, agrees, appended, holds, session_of};
use crate::reopening::{in_memory, options, shows};

#[test]
fn a_log_forks_behind_every_turn_and_nowhere_else() {
    holds(
        "forks",
        LOGS,
        STEPS_MAX,
        &[Spelling::Usual],
        Just(()),
        |log, ()| {
            let live = appended(&log.events);
            for event in &log.events {
                let prefix = live.prefix(Some(event.seq));
                if !is_boundary(event) {
                    prop_assert_eq!(prefix.unwrap_err().reason.label(), "fork-open-turn");
                    continue;
                }
                let due = &log.events[..=event.seq as usize];
                let prefix = prefix.unwrap();
                prop_assert_eq!(&prefix.lines, &model::lines(due));
                prop_assert_eq!((prefix.first_seq, prefix.count), (0, due.len() as u64));
                prop_assert_eq!(prefix.last_time_ms, event.time_ms);
                let mut child = session_of(&prefix.lines);
                agrees(&mut child, &State::due(due))?;
            }
            let end = log.events.len() as u64;
            for beyond in [end, end + 1, u64::MAX] {
                let refused = live.prefix(Some(beyond)).unwrap_err();
                prop_assert_eq!(refused.reason.label(), "fork-invalid-boundary");
            }
            match live.prefix(None) {
                Ok(prefix) => {
                    prop_assert!(log.events.last().is_none_or(is_boundary));
                    prop_assert_eq!(prefix.lines, model::lines(&log.events));
                }
                Err(refused) => {
                    prop_assert!(!log.events.last().is_none_or(is_boundary));
                    prop_assert_eq!(refused.reason.label(), "fork-open-turn");
                }
            }
            Ok(())
        },
    );
}

#[test]
fn a_stored_log_forks_as_a_live_one_does() {
    holds(
        "stored forks",
        LOGS,
        STEPS_MAX,
        &[Spelling::Any],
        any::<bool>(),
        |log, is_packed| {
            if log.events.is_empty() {
                return Ok(());
            }
            let lines = if is_packed {
                model::pack(&log.events)
            } else {
                model::lines(&log.events)
            };
            let mut store = in_memory();
            let key = store.create(options(&lines), TIME_MS).unwrap();
            store.close(key).unwrap();
            for event in &log.events {
                let child = format!("child-{}", event.seq);
                let forked = store.fork("s", Some(event.seq), Some(child), None, TIME_MS);
                let key = match forked {
                    Ok(key) => key,
                    Err(error) => {
                        prop_assert!(!is_boundary(event));
                        prop_assert_eq!(
                            (error.code, &*error.reason),
                            (ErrorCode::Invalid, "fork-open-turn")
                        );
                        continue;
                    }
                };
                prop_assert!(is_boundary(event));
                let due = State::due(&log.events[..=event.seq as usize]);
                shows(&mut store, key, &due)?;
                let header = store.header(key).unwrap();
                prop_assert_eq!(header.seed_length, Some(event.seq + 1));
                prop_assert_eq!(header.parent_session.as_deref(), Some("s"));
            }
            let beyond = store.fork(
                "s",
                Some(log.events.len() as u64),
                Some("c".into()),
                None,
                TIME_MS,
            );
            prop_assert_eq!(&*beyond.unwrap_err().reason, "fork-invalid-boundary");
            // and the source is what it was
            let (key, _) = store.open("s", OpenMode::Inspect).unwrap();
            shows(&mut store, key, &State::due(&log.events))
        },
    );
}
