//! Fold, history, closers, request header, turns and usage: of whole logs, and of every prefix as it grows.

use annals_core::closers::closers;
use annals_core::request_header::fold_request_header;
use annals_core::surface::fold_surface;
use annals_core::usage::usage;
use annals_properties::model::{self, Refusal, Replacement, State};
use annals_properties::mutation::scrambled;
use annals_properties::script::{Spelling, TIME_MS};
use proptest::prelude::*;

use crate::check::{LOGS, STEPS_MAX, Verdict, agrees, header, holds, seeded};
use annals_core::session::Session;

/// Every prefix is looked at whole, which is quadratic.
const PREFIX_STEPS_MAX: usize = 15;

type Folded = Result<(Vec<u64>, Vec<Replacement>), Refusal>;

/// The fold as core has it, in the words of the model.
fn folded(lines: &str) -> Folded {
    let (nodes, replacements) = fold_surface(lines).map_err(|fault| Refusal {
        index: fault.number_of("index").unwrap(),
        label: fault.reason.label(),
    })?;
    let replacements = replacements.into_iter().map(|replacement| Replacement {
        seq: replacement.seq,
        start: replacement.start,
        end: replacement.end,
        shadowed: replacement.shadowed,
    });
    Ok((nodes, replacements.collect()))
}

#[test]
fn a_fold_gives_the_nodes_and_replacements() {
    holds(
        "fold",
        LOGS,
        STEPS_MAX,
        &[Spelling::Usual, Spelling::Any],
        any::<u32>(),
        |log, seed| {
            let due = |surface: model::Surface| (surface.nodes, surface.replacements);
            let whole = folded(&model::lines(&log.events));
            prop_assert_eq!(whole, model::surface(&log.events).map(due));
            // and where it breaks a rule, which one, and at which event
            let broken = scrambled(&log.events, seed);
            let whole = folded(&model::lines(&broken));
            prop_assert_eq!(
                whole,
                model::surface(&broken).map(due),
                "{}",
                model::lines(&broken)
            );
            Ok(())
        },
    );
}

#[test]
fn a_seed_shows_what_the_model_shows() {
    holds(
        "views",
        LOGS,
        STEPS_MAX,
        &[Spelling::Usual, Spelling::Any],
        0u32..400,
        |log, bytes_max| {
            let mut session = seeded(&log.events);
            let due = State::due(&log.events);
            agrees(&mut session, &due)?;
            views_of_text(&due)?;
            let mut pages = String::new();
            loop {
                let page = session
                    .messages(pages.lines().count() as u32, bytes_max)
                    .unwrap();
                if page.lines.is_empty() {
                    break;
                }
                prop_assert!(
                    page.lines.lines().count() == 1 || page.lines.len() <= bytes_max as usize
                );
                pages.push_str(&page.lines);
            }
            prop_assert_eq!(pages, due.messages);
            Ok(())
        },
    );
}

/// The same views of lines, without a session.
fn views_of_text(due: &State) -> Verdict {
    prop_assert_eq!(&closers(&due.events).unwrap(), &due.closers);
    let found =
        fold_request_header(&due.events, None).map_err(|fault| fault.reason.label().to_owned());
    prop_assert_eq!(&found, &due.request_header);
    prop_assert_eq!(
        usage(&due.events, 0).unwrap().total,
        due.usage.total.clone()
    );
    Ok(())
}

#[test]
fn every_prefix_of_a_growing_log_shows_what_a_whole_one_does() {
    holds(
        "prefixes",
        LOGS,
        PREFIX_STEPS_MAX,
        &[Spelling::Usual],
        Just(()),
        |log, ()| {
            let mut session = Session::new(header()).unwrap();
            for (count, event) in log.events.iter().enumerate() {
                let appended = session.append(&event.draft, TIME_MS).unwrap();
                prop_assert_eq!(appended.lines, format!("{}\n", event.line));
                agrees(&mut session, &State::due(&log.events[..=count]))?;
            }
            Ok(())
        },
    );
}
