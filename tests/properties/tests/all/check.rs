//! Runs a property over random logs and says how many there were.

use std::cell::Cell;
use std::time::Instant;

use annals_core::header::Header;
use annals_core::session::Session;
use annals_properties::model::{self, Event, State};
use annals_properties::script::{self, Log, Spelling};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};

/// How many logs each property is checked on: fewer where nothing is optimised.
pub const LOGS: u32 = if cfg!(debug_assertions) { 500 } else { 10_000 };

/// The longest script; a step is one event or a few.
pub const STEPS_MAX: usize = 30;

/// What a property found: nothing, or what is wrong.
pub type Verdict = Result<(), TestCaseError>;

/// Checks a property on so many logs of scripts up to `steps_max`, each in one of these spellings and with what `extra`
/// draws. A log that breaks it is shrunk and printed.
pub fn holds<X: Strategy>(
    name: &str,
    logs: u32,
    steps_max: usize,
    spellings: &'static [Spelling],
    extra: X,
    property: impl Fn(&Log, X::Value) -> Verdict,
) {
    let script = prop::collection::vec((0..script::KINDS, any::<u32>()), 0..=steps_max);
    let spelling = prop::sample::select(spellings);
    // what is printed of a failing log is all that is needed to have it again
    let config = ProptestConfig {
        cases: logs,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let (ran, events, started) = (Cell::new(0), Cell::new(0), Instant::now());
    let strategy = (script, spelling, extra);
    let result = TestRunner::new(config).run(&strategy, |(script, spelling, extra)| {
        let log = Log::of(&script, spelling);
        ran.set(ran.get() + 1);
        events.set(events.get() + log.events.len());
        property(&log, extra)
    });
    let (logs, events) = (ran.get(), events.get());
    println!(
        "{name}: {logs} logs, {events} events, {:.1} s",
        started.elapsed().as_secs_f64()
    );
    if let Err(TestError::Fail(why, (script, spelling, extra))) = result {
        let lines = model::lines(&Log::of(&script, spelling).events);
        panic!(
            "{name}: {why}\nscript {script:?}, {spelling:?}, {extra:?}, which is the log\n{lines}"
        );
    }
    assert_eq!(result.map_err(|error| error.to_string()), Ok(()), "{name}");
}

/// Whether a session shows what is due.
pub fn agrees(session: &mut Session, due: &State) -> Verdict {
    let state = State::of(session);
    match &state == due {
        true => Ok(()),
        false => Err(TestCaseError::fail(state.differences(due).join("\n"))),
    }
}

/// A header without anything but an id.
pub fn header() -> Header {
    Header {
        id: "s".into(),
        ..Header::default()
    }
}

/// A session that holds these events, appended one after another.
pub fn appended(events: &[Event]) -> Session {
    let mut session = Session::new(header()).unwrap();
    for event in events {
        session.append(&event.draft, script::TIME_MS).unwrap();
    }
    session
}

/// A session that begins with these events.
pub fn seeded(events: &[Event]) -> Session {
    session_of(&model::lines(events))
}

/// A session that begins with these lines.
pub fn session_of(lines: &str) -> Session {
    Session::from_seed(header(), lines).unwrap()
}
