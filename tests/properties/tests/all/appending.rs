//! Appends: in batches of any size, and refused ones.

use annals_core::session::Session;
use annals_properties::model::{self, State};
use annals_properties::mutation::{self, broken};
use annals_properties::script::{Spelling, TIME_MS};
use proptest::prelude::*;

use crate::check::{LOGS, STEPS_MAX, agrees, header, holds, seeded};

#[test]
fn batches_may_be_cut_anywhere() {
    holds(
        "batches",
        LOGS,
        STEPS_MAX,
        &[Spelling::Usual],
        prop::collection::vec(1usize..20, 1..8),
        |log, sizes| {
            let mut session = Session::new(header()).unwrap();
            let (mut rest, mut sizes) = (&log.events[..], sizes.iter().cycle());
            while !rest.is_empty() {
                let (batch, after) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
                let drafts: Vec<&str> = batch.iter().map(|event| event.draft.as_str()).collect();
                let appended = session.append(&drafts.join("\n"), TIME_MS).unwrap();
                prop_assert_eq!(appended.count, batch.len() as u64);
                prop_assert_eq!(appended.lines, model::lines(batch));
                rest = after;
            }
            agrees(&mut session, &State::due(&log.events))?;
            prop_assert!(session.surface() == seeded(&log.events).surface());
            Ok(())
        },
    );
}

/// A place in the log, a kind of broken event, what it is drawn from, and how many good events stand before it.
fn mutations() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u32, usize)>> {
    let one = (
        any::<prop::sample::Index>(),
        0..mutation::KINDS,
        any::<u32>(),
        0usize..4,
    );
    prop::collection::vec(one, 1..5)
}

#[test]
fn a_refused_append_leaves_no_trace() {
    holds(
        "refusals",
        LOGS,
        STEPS_MAX,
        &[Spelling::Usual],
        mutations(),
        |log, mut mutations| {
            let count = log.events.len();
            mutations.sort_by_key(|(place, ..)| place.index(count + 1));
            let mut session = Session::new(header()).unwrap();
            let mut done = 0;
            for (place, kind, seed, before) in mutations {
                // good events first, then a batch of good ones that ends with a broken one
                let at = place.index(count + 1);
                for event in &log.events[done..at] {
                    session.append(&event.draft, TIME_MS).unwrap();
                }
                done = at;
                let upto = (at + before).min(count);
                let batch = log.upto(upto);
                let (line, label) = broken(&batch, kind, seed);
                let good = log.events[at..upto]
                    .iter()
                    .map(|event| format!("{}\n", event.draft));
                let good: String = good.collect();
                let state = State::of(&mut session);
                let refused = session.append(&format!("{good}{line}\n{good}"), TIME_MS);
                let fault = match refused {
                    Err(fault) => fault,
                    Ok(_) => {
                        return Err(TestCaseError::fail(format!(
                            "accepted, {label} was due: {line}"
                        )));
                    }
                };
                prop_assert_eq!(fault.reason.label(), label, "{}", line);
                prop_assert_eq!(fault.number_of("line"), Some((upto - at) as u64 + 1));
                agrees(&mut session, &state)?;
            }
            for event in &log.events[done..] {
                session.append(&event.draft, TIME_MS).unwrap();
            }
            agrees(&mut session, &State::due(&log.events))?;
            prop_assert!(session.surface() == seeded(&log.events).surface());
            Ok(())
        },
    );
}
