//! Tokens that model requests used, per step and in all.
//!
//! The rule is the session README's, section "Session event vocabulary": the `assistant/chunk` records of a step whose
//! chunk is `{type: "usage", usage}` count; only where a step has none, the `usage` of its committed
//! `assistant/message` does. A request that failed leaves no message but may leave a chunk, so several chunks of one
//! step are several requests and add up. A message that rewrites another repeats work that was counted and adds
//! nothing.
//!
//! A fork inherits a prefix of events that its parent paid for. Counting from the header's `seedLength` on leaves them
//! to the parent: the sum over a session and its forks counts every request once.

use std::collections::BTreeMap;

use crate::event::{Envelope, Event};
use crate::fault::{Fault, Reason};
use crate::json::Value;
use crate::session::split_lines;

/// Counts by the name they have in `usage` (`inputTokens`, `outputTokens`, ...). Members that are no non-negative safe
/// integer are left out; a sum that would overflow stays at the greatest number.
pub type Tokens = BTreeMap<String, u64>;

/// What the requests of a log used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The steps that tell their usage, in the log's order.
    pub steps: Vec<StepUsage>,
    /// Their sum.
    pub total: Tokens,
}

/// What the requests of one step used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepUsage {
    /// The turn's number, as the step's events name it; none where they name none.
    pub turn: Option<u64>,
    /// The step's number within its turn; none where they name none.
    pub step: Option<u64>,
    /// Their sum.
    pub tokens: Tokens,
}

/// The usage told by the event lines and packed rows of `lines` whose seq is at least `from_seq`.
///
/// Fails with [`Reason::JsonSyntax`] at a line that is no JSON, with its `line` counted from 1.
pub fn usage(lines: &str, from_seq: u64) -> Result<Usage, Fault> {
    let mut meter = Meter::default();
    for (number, line) in (1u64..).zip(split_lines(lines)) {
        let envelope = Envelope::read(line).map_err(|fault| {
            Fault::new(Reason::JsonSyntax, format!("line {number}: {fault}")).number("line", number)
        })?;
        // A row has no seq, and no usage either: its events are deltas of content.
        if let Some(seq) = envelope
            .seq
            .and_then(Value::as_seq)
            .filter(|seq| *seq >= from_seq)
        {
            meter.observe(&Event::of(&envelope, seq));
        }
    }
    Ok(meter.usage())
}

/// Adds up usage event by event.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    closed: Usage,
    // Takes further events until a step starts or ends.
    open: Option<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    turn: Option<u64>,
    step: Option<u64>,
    chunks: Option<Tokens>,
    message: Option<Tokens>,
}

impl Meter {
    /// Takes the next event into account.
    pub fn observe(&mut self, event: &Event<'_>) {
        let Some(data) = event.data else { return };
        match &*event.event_type {
            "step/start" | "step/end" | "turn/start" | "turn/end" => self.close(),
            "assistant/chunk" => {
                let chunk = data
                    .get("chunk")
                    .filter(|chunk| chunk.get("type").is_some_and(|kind| kind.is_str("usage")));
                if let Some(usage) = chunk.and_then(usage_of) {
                    add(self.step(data).chunks.get_or_insert_default(), usage);
                }
            }
            "assistant/message" if !event.surface_op.is_some_and(Value::is_object) => {
                if let Some(usage) = usage_of(data) {
                    add(self.step(data).message.get_or_insert_default(), usage);
                }
            }
            _ => {}
        }
    }

    /// What was used in all.
    pub fn usage(mut self) -> Usage {
        self.close();
        self.closed
    }

    /// The open step, if it is the one that `data` names; else a new one.
    fn step(&mut self, data: Value<'_>) -> &mut Step {
        let number = |name| data.get(name).and_then(Value::as_seq);
        let (turn, step) = (number("turn"), number("step"));
        let is_other = |open: &Step| (open.turn, open.step) != (turn, step);
        if self.open.as_ref().is_some_and(is_other) {
            self.close();
        }
        self.open.get_or_insert(Step {
            turn,
            step,
            chunks: None,
            message: None,
        })
    }

    fn close(&mut self) {
        let Some(step) = self.open.take() else { return };
        let Some(tokens) = step.chunks.or(step.message) else {
            return;
        };
        for (name, count) in &tokens {
            add_one(&mut self.closed.total, name, *count);
        }
        self.closed.steps.push(StepUsage {
            turn: step.turn,
            step: step.step,
            tokens,
        });
    }
}

fn usage_of(holder: Value<'_>) -> Option<Value<'_>> {
    holder.get("usage").filter(|usage| usage.is_object())
}

fn add(tokens: &mut Tokens, usage: Value<'_>) {
    // Of a repeated member the last counts.
    let mut counts = BTreeMap::new();
    for (name, value) in usage.members() {
        counts.insert(name.decode_lossy(), value);
    }
    for (name, value) in counts {
        if let Some(count) = value.as_seq() {
            add_one(tokens, &name, count);
        }
    }
}

fn add_one(tokens: &mut Tokens, name: &str, count: u64) {
    match tokens.get_mut(name) {
        Some(sum) => *sum = sum.saturating_add(count),
        None => {
            tokens.insert(name.to_owned(), count);
        }
    }
}
