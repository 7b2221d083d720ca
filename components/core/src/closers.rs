//! Events that close an interrupted turn.
//!
//! A crash leaves a turn without its end: calls without a result, an open step, an open turn. A model provider refuses
//! a call without a result, so each such call gets one that says what is known of it; then the step and the turn end.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::event::{Envelope, Event};
use crate::fault::{Fault, Reason};
use crate::json::{Value, quote};

const NOT_STARTED: Outcome = Outcome {
    text: "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.",
    error: r#"{"name":"ToolNotStartedError","code":"TOOL_NOT_STARTED"}"#,
};

const OUTCOME_UNKNOWN: Outcome = Outcome {
    text: "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is \
           unknown. Decide whether to retry from the tool semantics: retry only if the operation is read-only or \
           idempotent; if it may have side effects, first verify external state or ask the user. Do not retry blindly.",
    error: r#"{"name":"ToolOutcomeUnknownError","code":"TOOL_OUTCOME_UNKNOWN"}"#,
};

struct Outcome {
    text: &'static str,
    error: &'static str,
}

/// What is open at the end of a log, kept up event by event.
#[derive(Debug, Default)]
pub struct Tail<'a> {
    turn: Option<Value<'a>>,
    step: Option<Value<'a>>,
    // Requested calls in the order of the request; an answered one leaves a gap.
    calls: Vec<Option<Call<'a>>>,
    pending: HashMap<CallId<'a>, usize>,
    started: HashMap<CallId<'a>, u64>,
}

// What it says: two spellings of one id are one id, and a lone surrogate is like no other.
pub(crate) type CallId<'a> = Cow<'a, [u8]>;

#[derive(Debug)]
struct Call<'a> {
    id: Value<'a>,
    step: Option<Value<'a>>,
}

impl<'a> Tail<'a> {
    /// Takes the next event into account.
    pub fn observe(&mut self, event: &Event<'a>) {
        let member = |name| event.data.and_then(|data| data.get(name));
        match &*event.event_type {
            "turn/start" => {
                *self = Tail {
                    turn: member("turn"),
                    ..Tail::default()
                }
            }
            "turn/end" => *self = Tail::default(),
            "step/start" => self.step = member("step"),
            "step/end" => {
                *self = Tail {
                    turn: self.turn,
                    ..Tail::default()
                }
            }
            "assistant/message" => {
                for block in member("content").into_iter().flat_map(Value::elements) {
                    self.request(block, member("step"));
                }
            }
            "tool/call" => {
                if let Some(id) = member("callId").and_then(call_id) {
                    self.started.insert(id, event.seq);
                }
            }
            "tool/result" => {
                if let Some(id) = member("callId").and_then(call_id) {
                    self.answer(&id);
                }
            }
            _ => {}
        }
    }

    fn request(&mut self, block: Value<'a>, step: Option<Value<'a>>) {
        if !block
            .get("type")
            .is_some_and(|kind| kind.is_str("tool-call"))
        {
            return;
        }
        let Some(id) = block.get("id") else { return };
        let Some(key) = call_id(id) else { return };
        let call = Some(Call { id, step });
        match self
            .pending
            .get(&key)
            .and_then(|place| self.calls.get_mut(*place))
        {
            Some(known) => *known = call,
            None => {
                self.pending.insert(key, self.calls.len());
                self.calls.push(call);
            }
        }
    }

    fn answer(&mut self, id: &CallId<'a>) {
        self.started.remove(id);
        if let Some(call) = self
            .pending
            .remove(id)
            .and_then(|place| self.calls.get_mut(place))
        {
            *call = None;
        }
    }

    /// Whether a turn is open.
    pub fn has_open_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// The complete event lines that close the open turn, from `next_seq` on, all at `time_ms`: a result for each
    /// call without one, the end of an open step, the end of the turn. Empty when no turn is open.
    pub fn closers(&self, next_seq: u64, time_ms: u64) -> String {
        let mut out = String::new();
        let Some(turn) = self.turn else { return out };
        let turn = format!(r#""turn":{}"#, turn.text());
        let mut seq = next_seq;
        let mut push = |event_type: &str, data: String, surface: &str| {
            let line = format!(
                r#"{{"type":"{event_type}","seq":{seq},"time":{time_ms},"data":{{{data}}}{surface}}}"#
            );
            out.push_str(&line);
            out.push('\n');
            seq += 1;
        };
        for call in self.calls.iter().flatten() {
            let started = call_id(call.id).and_then(|id| self.started.get(&id));
            let outcome = if started.is_some() {
                OUTCOME_UNKNOWN
            } else {
                NOT_STARTED
            };
            let step = call
                .step
                .map_or(String::new(), |step| format!(r#","step":{}"#, step.text()));
            let data = format!(
                r#"{turn}{step},"callId":{},"content":[{{"type":"text","text":{}}}],"isError":true,"error":{}"#,
                call.id.text(),
                quote(outcome.text),
                outcome.error
            );
            let sources = started.map_or(String::new(), |seq| {
                format!(r#","sourceEventSeqs":[{seq}]"#)
            });
            push(
                "tool/result",
                data,
                &format!(r#"{sources},"surfaceOp":"append""#),
            );
        }
        if let Some(step) = self.step {
            push("step/end", format!(r#"{turn},"step":{}"#, step.text()), "");
        }
        push(
            "turn/end",
            format!(r#"{turn},"reason":{{"kind":"interrupted"}}"#),
            "",
        );
        out
    }
}

/// The identity of a call; none when the id is no string.
pub(crate) fn call_id(value: Value<'_>) -> Option<CallId<'_>> {
    Some(value.as_text()?.key())
}

/// The lines that close an interrupted last turn of a log of event lines; empty when none is open.
///
/// Seqs go on from the last event's, whatever it is, and the time is the last event's. Fails with
/// [`Reason::JsonSyntax`] or [`Reason::SeedEnvelopeInvalid`] when a line is no event, with its `line`, counted from 1.
pub fn closers(lines: &str) -> Result<String, Fault> {
    let mut tail = Tail::default();
    let (mut next_seq, mut time_ms) = (0, 0);
    for (number, line) in (1u64..).zip(lines.lines()) {
        let envelope = Envelope::read(line).map_err(|fault| {
            let message = format!("line {number}: {fault}");
            let broken = Fault::new(Reason::JsonSyntax, message);
            broken.number("line", number)
        })?;
        let seq = envelope.seq.and_then(Value::as_seq).ok_or_else(|| {
            let message = format!("line {number}: the event has no seq");
            Fault::new(Reason::SeedEnvelopeInvalid, message).number("line", number)
        })?;
        let event = Event::of(&envelope, seq);
        tail.observe(&event);
        (next_seq, time_ms) = (seq + 1, event.time_ms);
    }
    Ok(tail.closers(next_seq, time_ms))
}
