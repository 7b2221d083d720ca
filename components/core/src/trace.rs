//! How events relate: the optional check that a log tells a well-formed story.
//!
//! A log that breaks these rules can be loaded and shown; whoever wrote it has lost count. Turns are numbered from 1
//! and do not overlap, steps are numbered from 1 within their turn, whatever a step does names it while it is open, a
//! tool result answers a call of the same step, and everything else stands inside a turn, but for what a salvage says of
//! itself. An open end is fine, and so is a call without an answer. Absent: contiguous seqs and the surface, which have rules of their own.

use std::collections::HashSet;

use crate::chunk_rows::Row;
use crate::closers::call_id;
use crate::event::{Event, TURN_END};
use crate::fault::{Fault, Reason, quoted, shown_value};
use crate::json::{Kind, Value};
use crate::record::{Line, read_line};
use crate::salvage::{GAP, SET_ASIDE};
use crate::session::split_lines;

/// Characters of a member that a message quotes.
const GIVEN_CHARACTERS_MAX: usize = 80;

/// What is open at one point of a log, and what may come next.
///
/// Memory: the calls of the open step that wait for an answer, and what changed since a state to go back to.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    at: Place,
    // Calls by what `call_id` gives for their ids.
    waiting: HashSet<Vec<u8>>,
    // Where to go back to, and what happened to the calls since.
    mark: Option<(Place, Vec<Change>)>,
}

/// A change of the calls that wait.
#[derive(Clone, Debug)]
enum Change {
    Added(Vec<u8>),
    Removed(Vec<u8>),
    Cleared(HashSet<Vec<u8>>),
}

/// A trace without its calls.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    events: u64,
    last_seq: Option<u64>,
    // Numbers of the last turn and of the last step in it; 0 before the first.
    turn: u64,
    step: u64,
    is_turn_open: bool,
    is_step_open: bool,
}

/// Checks stored lines as a whole log: event lines and packed rows, in any mixture.
///
/// Fails at the first event that breaks a rule, with a `trace-*` reason and its `index` among the events;
/// `log-corrupt-unparsable` or `seed-envelope-invalid` where a line is no event at all.
pub fn check_trace(lines: &str) -> Result<(), Fault> {
    let mut trace = Trace::default();
    split_lines(lines).try_for_each(|line| trace.observe_line(line))
}

impl Trace {
    /// Takes one stored line into account, an event or a packed row. Fails as [`check_trace`] does.
    pub fn observe_line(&mut self, line: &str) -> Result<(), Fault> {
        match read_line(line).map_err(|fault| fault.number("index", self.at.events))? {
            Line::Row(row) => self.observe_row(&row),
            Line::Event(envelope) => match envelope.seq.and_then(Value::as_seq) {
                Some(seq) => self.observe(&Event::of(&envelope, seq)),
                None => Err(self.fault(Reason::SeedEnvelopeInvalid, "an event has no seq".into())),
            },
        }
    }

    /// Takes the next event into account; a refused one leaves the trace as it was.
    ///
    /// Fails with a `trace-*` reason and the facts `index`, among the events observed, and `seq`.
    pub fn observe(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        self.place(event)
            .map_err(|fault| fault.number("seq", event.seq))?;
        self.at.events += 1;
        self.at.last_seq = Some(event.seq);
        Ok(())
    }

    /// Takes all events of a row into account, without expanding it. Fails as [`Trace::observe`] does, at its first
    /// event: all of them name the same step.
    pub fn observe_row(&mut self, row: &Row<'_>) -> Result<(), Fault> {
        self.check_seq(row.seq0)
            .and_then(|()| {
                self.check_step(
                    "assistant/chunk",
                    Named::new(Some(row.turn()), Some(row.step())),
                )
            })
            .map_err(|fault| fault.number("seq", row.seq0))?;
        self.at.events += row.count;
        self.at.last_seq = Some(row.seq0.saturating_add(row.count - 1));
        Ok(())
    }

    /// Makes the present state the one to go back to.
    pub fn mark(&mut self) {
        self.mark = Some((self.at, Vec::new()));
    }

    /// Forgets the state to go back to.
    pub fn keep(&mut self) {
        self.mark = None;
    }

    /// Goes back to the last [`Trace::mark`], if there is one.
    pub fn rewind(&mut self) {
        let Some((at, changes)) = self.mark.take() else {
            return;
        };
        self.at = at;
        for change in changes.into_iter().rev() {
            match change {
                Change::Added(id) => drop(self.waiting.remove(&id)),
                Change::Removed(id) => drop(self.waiting.insert(id)),
                Change::Cleared(waiting) => self.waiting = waiting,
            }
        }
    }

    fn note(&mut self, change: impl FnOnce() -> Change) {
        if let Some((_, changes)) = &mut self.mark {
            changes.push(change());
        }
    }

    fn place(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        self.check_seq(event.seq)?;
        let member = |name| event.data.and_then(|data| data.get(name));
        let event_type = &*event.event_type;
        match event_type {
            "turn/start" => self.start_turn(Given(member("turn"))),
            TURN_END => self.end_turn(Given(member("turn"))),
            "step/start" => self.start_step(Named::new(member("turn"), member("step"))),
            "tool/result" if is_rewrite(event) => self.check_rewrite(),
            "step/end" | "assistant/chunk" | "assistant/message" | "tool/call" | "tool/result" => {
                self.check_step(event_type, Named::new(member("turn"), member("step")))?;
                match event_type {
                    "step/end" => {
                        self.at.is_step_open = false;
                        let waiting = std::mem::take(&mut self.waiting);
                        self.note(|| Change::Cleared(waiting));
                    }
                    "tool/call" => {
                        if let Some(id) = member("callId").and_then(call_id)
                            && self.waiting.insert(id.to_vec())
                        {
                            self.note(|| Change::Added(id.into_owned()));
                        }
                    }
                    "tool/result" => return self.answer(event),
                    _ => {}
                }
                Ok(())
            }
            // a salvage put it where it found what it tells of
            GAP | SET_ASIDE => Ok(()),
            _ if self.at.is_turn_open => Ok(()),
            _ => {
                let message = format!(
                    "{} stands outside any turn; start a turn first",
                    quoted(event_type)
                );
                Err(self.fault(Reason::TraceOutsideTurn, message))
            }
        }
    }

    fn start_turn(&mut self, turn: Given<'_>) -> Result<(), Fault> {
        if self.at.is_turn_open {
            let message = format!(
                "turn {turn} starts while turn {} is open; end that first",
                self.at.turn
            );
            return Err(self.fault(Reason::TraceTurnAlreadyOpen, message));
        }
        let next = self.at.turn + 1;
        if !turn.is(next) {
            let message = format!("turn {turn} starts where turn {next} is due");
            return Err(self.fault(Reason::TraceTurnNumber, message));
        }
        (self.at.turn, self.at.step, self.at.is_turn_open) = (next, 0, true);
        Ok(())
    }

    fn end_turn(&mut self, turn: Given<'_>) -> Result<(), Fault> {
        if !(self.at.is_turn_open && turn.is(self.at.turn)) {
            let message = format!("turn {turn} ends while {} is open", self.open_turn());
            return Err(self.fault(Reason::TraceTurnEndMismatch, message));
        }
        if self.at.is_step_open {
            let message = format!(
                "turn {turn} ends while step {} is open; end that first",
                self.at.step
            );
            return Err(self.fault(Reason::TraceTurnEndStepOpen, message));
        }
        self.at.is_turn_open = false;
        Ok(())
    }

    fn start_step(&mut self, named: Named<'_>) -> Result<(), Fault> {
        if !(self.at.is_turn_open && named.turn.is(self.at.turn)) {
            let message = format!("{named} starts while {} is open", self.open_turn());
            return Err(self.fault(Reason::TraceStepStartTurnMismatch, message));
        }
        if self.at.is_step_open {
            let message = format!(
                "{named} starts while step {} is open; end that first",
                self.at.step
            );
            return Err(self.fault(Reason::TraceStepAlreadyOpen, message));
        }
        let next = self.at.step + 1;
        if !named.step.is(next) {
            let message = format!("{named} starts where step {next} is due");
            return Err(self.fault(Reason::TraceStepNumber, message));
        }
        (self.at.step, self.at.is_step_open) = (next, true);
        Ok(())
    }

    fn check_seq(&self, seq: u64) -> Result<(), Fault> {
        match self.at.last_seq {
            Some(last) if seq <= last => {
                let message = format!("seq {seq} comes after seq {last}; seqs must increase");
                Err(self.fault(Reason::TraceSeqNotIncreasing, message))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_step(&self, event_type: &str, named: Named<'_>) -> Result<(), Fault> {
        if self.at.is_step_open && named.turn.is(self.at.turn) && named.step.is(self.at.step) {
            return Ok(());
        }
        let step = match self.at.is_step_open {
            true => format!("step {}", self.at.step),
            false => "no step".to_owned(),
        };
        let message = format!(
            "{} names {named}, but {} and {step} are open",
            quoted(event_type),
            self.open_turn()
        );
        Err(self.fault(Reason::TraceNotInOpenStep, message))
    }

    fn check_rewrite(&self) -> Result<(), Fault> {
        if self.at.is_turn_open {
            return Ok(());
        }
        let message = "a \"tool/result\" is rewritten outside any turn; start a turn first";
        Err(self.fault(Reason::TraceRewriteOutsideTurn, message.into()))
    }

    /// A result takes its call away; only one that says that its call never started may do without.
    fn answer(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let id = event.data.and_then(|data| data.get("callId"));
        let answered = id.and_then(call_id).and_then(|id| self.waiting.take(&*id));
        if let Some(answered) = answered {
            self.note(|| Change::Removed(answered));
            return Ok(());
        }
        if says_not_started(event) {
            return Ok(());
        }
        let message = format!(
            "\"tool/result\" for {} answers no waiting call of its step",
            Given(id)
        );
        Err(self.fault(Reason::TraceResultWithoutCall, message))
    }

    fn open_turn(&self) -> String {
        match self.at.is_turn_open {
            true => format!("turn {}", self.at.turn),
            false => "no turn".to_owned(),
        }
    }

    #[cold]
    fn fault(&self, reason: Reason, message: String) -> Fault {
        Fault::new(reason, format!("event {}: {message}", self.at.events))
            .number("index", self.at.events)
    }
}

fn is_rewrite(event: &Event<'_>) -> bool {
    event
        .surface_op
        .and_then(|op| op.get("op"))
        .is_some_and(|op| op.is_str("replace"))
}

fn says_not_started(event: &Event<'_>) -> bool {
    let member = |name| event.data.and_then(|data| data.get(name));
    let is_error =
        member("isError").is_some_and(|value| value.kind() == Kind::Bool && value.text() == "true");
    let code = member("error").and_then(|error| error.get("code"));
    is_error && code.is_some_and(|code| code.is_str("TOOL_NOT_STARTED"))
}

/// The turn and the step that an event names.
#[derive(Clone, Copy)]
struct Named<'a> {
    turn: Given<'a>,
    step: Given<'a>,
}

/// A member as an event gives it: maybe of another kind than is due, maybe absent.
#[derive(Clone, Copy)]
struct Given<'a>(Option<Value<'a>>);

impl<'a> Named<'a> {
    fn new(turn: Option<Value<'a>>, step: Option<Value<'a>>) -> Named<'a> {
        Named {
            turn: Given(turn),
            step: Given(step),
        }
    }
}

impl Given<'_> {
    fn is(self, expected: u64) -> bool {
        self.0.and_then(Value::as_seq) == Some(expected)
    }
}

impl std::fmt::Display for Given<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.0.map_or("(none)", Value::text);
        match text.char_indices().nth(GIVEN_CHARACTERS_MAX) {
            Some((end, _)) => {
                write!(f, "{}...", shown_value(text.get(..end).unwrap_or_default()))
            }
            None => f.write_str(&shown_value(text)),
        }
    }
}

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "step {} of turn {}", self.step, self.turn)
    }
}
