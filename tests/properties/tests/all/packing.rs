//! Packed rows: what packs, what comes back, and a log that holds rows.

use annals_core::chunk_rows::{pack, unpack};
use annals_core::load::{Loaded, Loader};
use annals_core::session::Session;
use annals_properties::model::{self, State};
use annals_properties::script::{Spelling, TIME_MS};
use proptest::prelude::*;

use crate::check::{LOGS, STEPS_MAX, agrees, header, holds, seeded};

#[test]
fn what_was_packed_comes_back_byte_for_byte() {
    holds(
        "pack",
        LOGS,
        STEPS_MAX,
        &[Spelling::Usual, Spelling::Any],
        any::<prop::sample::Index>(),
        |log, cut| {
            let lines = model::lines(&log.events);
            let packed = pack(&lines).unwrap();
            prop_assert_eq!(&packed, &model::pack(&log.events));
            prop_assert_eq!(&unpack(&packed).unwrap(), &lines);
            prop_assert_eq!(&pack(&packed).unwrap(), &packed);
            // rows beside event lines
            let (before, after) = log.events.split_at(cut.index(log.events.len() + 1));
            let mixed = format!("{}{}", model::pack(before), model::lines(after));
            prop_assert_eq!(&unpack(&mixed).unwrap(), &lines);
            Ok(())
        },
    );
}

#[test]
fn a_packed_log_is_the_same_session() {
    let extra = (any::<prop::sample::Index>(), 1usize..3000, 0u32..600);
    holds(
        "packed sessions",
        LOGS,
        STEPS_MAX,
        &[Spelling::Usual, Spelling::Any],
        extra,
        |log, (cut, page_bytes, bytes_max)| {
            let (before, after) = log.events.split_at(cut.index(log.events.len() + 1));
            let stored = format!("{}{}", model::pack(before), model::lines(after));
            let mut session = loaded(&stored, page_bytes);
            let due = State::due(&log.events);
            agrees(&mut session, &due)?;
            prop_assert_eq!(&session.stored_from(0).lines, &stored);
            prop_assert!(session.surface() == seeded(&log.events).surface());
            let (mut next, mut pages) = (Some(0), String::new());
            while let Some(start) = next {
                let page = session.events(start, bytes_max).unwrap();
                pages.push_str(&page.lines);
                next = page.next;
            }
            prop_assert_eq!(&pages, &due.events);
            // and from any event on, in any order
            for start in (0..log.events.len()).rev().step_by(3) {
                let page = session.events(start as u64, bytes_max).unwrap();
                let count = page.lines.lines().count();
                prop_assert!(count > 0);
                prop_assert_eq!(page.lines, model::lines(&log.events[start..start + count]));
            }
            // it goes on as if it had never been packed
            let next = session
                .append(r#"{"type":"turn/end","data":{}}"#, TIME_MS)
                .unwrap();
            prop_assert_eq!(next.first_seq, log.events.len() as u64);
            Ok(())
        },
    );
}

/// A log taken in page by page, which has nothing to cut.
fn loaded(lines: &str, page_bytes: usize) -> Session {
    let mut loader = Loader::new(header(), 50);
    let mut page = String::new();
    for line in lines.split_inclusive('\n') {
        page.push_str(line);
        if page.len() >= page_bytes {
            loader.lines(&page, None);
            page.clear();
        }
    }
    loader.lines(&page, None);
    let Loaded { session, cut } = loader.finish().unwrap();
    assert_eq!(cut, None);
    session
}
