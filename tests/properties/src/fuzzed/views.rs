//! Everything that can be seen of a session, for comparing: with another session, and with the model.

use annals_core::fault::Fault;
use annals_core::json::Value;
use annals_core::session::{MessagesPage, Session};
use annals_core::usage::Usage;

use super::loading::check_fault;
use crate::model::{self, Event, Tokens};

/// What can be seen of a session.
#[derive(Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) lines: String,
    next_seq: u64,
    last_time_ms: u64,
    pub(super) derived: Derived,
}

/// What can be seen of a session however its log is packed and spelled.
#[derive(Debug, PartialEq)]
pub(super) struct Derived {
    pub(super) nodes: Vec<u64>,
    generation: u64,
    messages: Result<MessagesPage, Fault>,
    pub(super) closers: String,
    has_open_turn: bool,
    request_header: Result<Option<String>, Fault>,
    last_turn: Option<u64>,
    usage: Usage,
    first_prompt: Option<String>,
}

impl Seen {
    pub(super) fn of(session: &mut Session) -> Seen {
        let stored = session.stored_from(0);
        assert_eq!((stored.first_seq, stored.count), (0, session.next_seq()));
        Seen {
            lines: stored.lines.into_owned(),
            next_seq: session.next_seq(),
            last_time_ms: session.last_time_ms(),
            derived: Derived {
                nodes: session.surface().nodes().collect(),
                generation: session.surface().generation(),
                messages: session.messages(0, u32::MAX).inspect_err(check_fault),
                closers: session.closers(),
                has_open_turn: session.has_open_turn(),
                request_header: session.request_header().inspect_err(check_fault),
                last_turn: session.last_turn(),
                usage: session.usage(),
                first_prompt: session.first_prompt(),
            },
        }
    }
}

impl Derived {
    /// Holds it against what the model makes of the events, the packed ones expanded.
    pub(super) fn check(&self, events: &[Event]) {
        let surface = model::surface(events).expect("the model takes what was accepted");
        assert_eq!(self.nodes, surface.nodes);
        assert_eq!(self.generation, surface.replacements.len() as u64);
        check_same(&self.closers, &model::closers(events));
        assert_eq!(self.has_open_turn, model::has_open_turn(events));
        assert_eq!(self.last_turn, model::last_turn(events));
        if let Ok(page) = &self.messages {
            check_same(&page.lines, &model::messages(events, &surface));
        }
        if let Ok(header) = &self.request_header {
            let due = model::request_header(events).expect("the model finds the header");
            assert_eq!(header.is_some(), due.is_some());
            check_same(header.as_deref().unwrap_or_default(), due.as_slice());
        }
        let steps = self.usage.steps.iter().cloned();
        let usage = model::Usage {
            steps: steps
                .map(|step| (step.turn, step.step, Tokens::from(step.tokens)))
                .collect(),
            total: self.usage.total.clone(),
        };
        assert_eq!(usage, model::usage(events));
    }
}

/// The same values, a line each; whitespace between their parts aside.
fn check_same(lines: &str, due: &[String]) {
    assert_eq!(lines.lines().count(), due.len(), "{lines}\n{due:?}");
    for (line, due) in lines.lines().zip(due) {
        let [one, other] = [line, due].map(|text| Value::parse(text).expect("JSON"));
        assert!(one.same_in_order(other), "{line}\n{due}");
    }
}
