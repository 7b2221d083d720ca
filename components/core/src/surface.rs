//! The surface: the seqs of the events that the model sees, in its order.
//!
//! Most events join at the end. A replace puts one event where a run of nodes stood, so after a rewrite the order on
//! the surface is no longer the order of seqs, and a range is a matter of places. Every event is checked against the
//! surface as it stands and changes it only as a whole.

mod order;
mod sources;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::event::{Envelope, Event, is_surface_eligible_type};
use crate::fault::{Fault, Reason, quoted, shown_value};
use crate::json::Value;
use crate::log::no_memory;
use order::{Order, Run};
use sources::{check_shadowed, check_sources, has_plain_sources};

/// The surface after the events seen so far.
#[derive(Clone, Debug, Default)]
pub struct Surface {
    order: Order,
    generation: u64,
}

/// What a replace did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The event that took the place of the others.
    pub seq: u64,
    /// The first node of the range, as the event names it.
    pub start: u64,
    /// The last node of the range, as the event names it.
    pub end: u64,
    /// What the range held, in the order of the surface.
    pub shadowed: Vec<u64>,
}

/// What a checked event will do to the surface that it was checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A log-only event.
    None,
    /// The event of this seq joins at the end.
    Append(u64),
    /// A run of nodes gives way to one event.
    Replace(Box<Rewrite>),
}

/// A replace that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    seq: u64,
    start: u64,
    end: u64,
    run: Run,
}

impl Rewrite {
    /// Who goes and who comes.
    pub fn replacement(self) -> Replacement {
        Replacement {
            seq: self.seq,
            start: self.start,
            end: self.end,
            shadowed: self.run.nodes,
        }
    }

    /// The slot where the event will stand; the slots before it keep their nodes.
    pub(crate) fn slot(&self) -> usize {
        self.run.slots.start
    }
}

/// `surfaceOp`, understood.
enum Op {
    Append,
    Replace { start: u64, end: u64 },
}

/// As the model sees them: the same nodes after as many rewrites.
impl PartialEq for Surface {
    fn eq(&self, other: &Surface) -> bool {
        self.generation == other.generation && self.nodes().eq(other.nodes())
    }
}

impl Eq for Surface {}

impl Surface {
    /// Seqs in the order that the model sees.
    pub fn nodes(&self) -> impl Iterator<Item = u64> {
        self.order.nodes_from(0).map(|(_, seq)| seq)
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.order.len()
    }

    /// How many rewrites there were.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The slot and the seq of each node, from one that begins at `slot` on; 0 is the first one's. A slot is where a node
    /// stands for as long as it is there: it moves with no rewrite, and slots ascend in the order of the nodes.
    pub(crate) fn nodes_from(&self, slot: usize) -> impl Iterator<Item = (usize, u64)> {
        self.order.nodes_from(slot)
    }

    /// The slot that the next node at the end will take.
    pub(crate) fn slot_count(&self) -> usize {
        self.order.slot_count()
    }

    /// Checks the surface members of the next event; its seq is taken as right.
    ///
    /// `lookup` gives the stored line of an earlier event; it is asked only when a tool result rewrites a node.
    /// The faults, in the order in which they are looked for: a marker on a log-only event, a missing or malformed
    /// marker, the range, the sources, the rewrite rule for tool results. A replace costs time for the nodes that it
    /// removes and for its sources, whatever else is on the surface.
    pub fn check<'l>(
        &self,
        event: &Event<'_>,
        lookup: impl Fn(u64) -> Option<&'l str>,
    ) -> Result<Change, Fault> {
        if !is_surface_eligible_type(&event.event_type) {
            return check_log_only(event);
        }
        match read_op(event)? {
            Op::Append => {
                if !has_plain_sources(event) {
                    check_sources(event)?;
                }
                Ok(Change::Append(event.seq))
            }
            Op::Replace { start, end } => {
                let run = self.run(start, end)?;
                check_shadowed(&run.nodes, &check_sources(event)?)?;
                if event.event_type == "tool/result" {
                    check_tool_rewrite(event, &run.nodes, lookup)?;
                }
                let seq = event.seq;
                Ok(Change::Replace(Box::new(Rewrite {
                    seq,
                    start,
                    end,
                    run,
                })))
            }
        }
    }

    /// Room for one node more at the end. Fails with [`Reason::LimitReached`].
    pub(crate) fn make_room(&mut self) -> Result<(), Fault> {
        let node_bytes = size_of::<u64>();
        self.order.make_room().map_err(|_| no_memory(node_bytes))
    }

    /// Makes a change that [`Surface::check`] gave for this very state.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::None => {}
            Change::Append(seq) => self.order.push(*seq),
            Change::Replace(rewrite) => {
                self.order.replace(&rewrite.run, rewrite.seq);
                self.generation += 1;
            }
        }
    }

    /// Takes back the change that was made last.
    pub fn revert(&mut self, change: &Change) {
        match change {
            Change::None => {}
            Change::Append(_) => self.order.pop(),
            Change::Replace(rewrite) => {
                self.order.restore(&rewrite.run);
                self.generation -= 1;
            }
        }
    }

    fn run(&self, start: u64, end: u64) -> Result<Run, Fault> {
        let first = self.order.slots_of(start).ok_or_else(|| {
            let message = format!("surface replace: start seq {start} not found in surface");
            Fault::new(Reason::ReplaceStartNotFound, message).number("start", start)
        })?;
        let last = self.order.slots_of(end).ok_or_else(|| {
            let message = format!("surface replace: end seq {end} not found in surface");
            Fault::new(Reason::ReplaceEndNotFound, message).number("end", end)
        })?;
        if first.start > last.start {
            let message = format!(
                "surface replace: start seq {start} stands after end seq {end} on the surface"
            );
            let fault = Fault::new(Reason::ReplaceRangeReversed, message);
            return Err(fault.number("start", start).number("end", end));
        }
        Ok(self.order.run(first.start..last.end))
    }
}

fn check_log_only(event: &Event<'_>) -> Result<Change, Fault> {
    let (reason, member) = if event.surface_op.is_some() {
        (Reason::SurfaceOpOnLogOnlyEvent, "surfaceOp")
    } else if event.source_event_seqs.is_some() {
        (Reason::SourcesOnLogOnlyEvent, "sourceEventSeqs")
    } else {
        return Ok(Change::None);
    };
    let message = format!(
        "event {} is not for the surface and cannot carry {member}",
        quoted(&event.event_type)
    );
    Err(fault_of(event, reason, message))
}

fn fault_of(event: &Event<'_>, reason: Reason, message: String) -> Fault {
    Fault::new(reason, message).text("type", &*event.event_type)
}

fn read_op(event: &Event<'_>) -> Result<Op, Fault> {
    let Some(op) = event.surface_op else {
        let message = format!(
            "event {} is for the surface and needs surfaceOp",
            quoted(&event.event_type)
        );
        return Err(fault_of(event, Reason::SurfaceOpMissing, message));
    };
    if op.is_str("append") {
        return Ok(Op::Append);
    }
    if !op.is_object() {
        let message = format!(
            "surfaceOp of event {} must be \"append\" or a replace object",
            quoted(&event.event_type)
        );
        return Err(fault_of(event, Reason::SurfaceOpInvalid, message));
    }
    read_replace(op).ok_or_else(|| {
        let message = format!(
            "surfaceOp of event {} must hold exactly op \"replace\", start and end, both seqs",
            quoted(&event.event_type)
        );
        fault_of(event, Reason::ReplaceOpInvalid, message)
    })
}

fn read_replace(op: Value<'_>) -> Option<Op> {
    let (mut kind, mut start, mut end) = (None, None, None);
    for (name, value) in op.members() {
        let known = [("op", &mut kind), ("start", &mut start), ("end", &mut end)];
        let (_, place) = known.into_iter().find(|(known, _)| name.is(known))?;
        *place = Some(value);
    }
    if !kind?.is_str("replace") {
        return None;
    }
    Some(Op::Replace {
        start: start?.as_seq()?,
        end: end?.as_seq()?,
    })
}

fn check_tool_rewrite<'l>(
    event: &Event<'_>,
    shadowed: &[u64],
    lookup: impl Fn(u64) -> Option<&'l str>,
) -> Result<(), Fault> {
    let [target] = shadowed else {
        let message = format!(
            "a tool/result must rewrite exactly one node, not {}",
            shadowed.len()
        );
        return Err(Fault::new(Reason::ToolRewriteNotSingle, message));
    };
    let old = lookup(*target).and_then(|line| Envelope::read(line).ok());
    let Some(old) = old.filter(|old| old.is_type("tool/result")) else {
        let message = format!("a tool/result must rewrite a tool/result, and seq {target} is none");
        return Err(Fault::new(Reason::ToolRewriteWrongTarget, message).number("target", *target));
    };
    if same_but_content(old.data, event.data) {
        return Ok(());
    }
    let message = format!("a tool/result may change nothing but the content of seq {target}");
    Err(Fault::new(Reason::ToolRewriteChangesMoreThanContent, message).number("target", *target))
}

/// Whether the members besides `content` are the same, in any order. Data that is no object has no content.
fn same_but_content(old: Option<Value<'_>>, new: Option<Value<'_>>) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return old.is_none() && new.is_none();
    };
    if !(old.is_object() && new.is_object()) {
        return old.same(new);
    }
    let (old, new) = (members_but_content(old), members_but_content(new));
    old.len() == new.len()
        && old
            .iter()
            .all(|(name, value)| new.get(name).is_some_and(|other| other.same(*value)))
}

fn members_but_content(data: Value<'_>) -> HashMap<Cow<'_, [u8]>, Value<'_>> {
    let members = data.members().filter(|(name, _)| !name.is("content"));
    members.map(|(name, value)| (name.key(), value)).collect()
}

/// Folds a whole log of event lines: the nodes, and what each replace did.
///
/// Looks at `seq`, `type` and the surface members only, and at `data` where a tool result rewrites another. A fault
/// carries the `index` of the first event that breaks a rule; every shorter prefix is accepted.
pub fn fold_surface(lines: &str) -> Result<(Vec<u64>, Vec<Replacement>), Fault> {
    let mut surface = Surface::default();
    let mut replacements = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (index, line) in (0u64..).zip(lines.lines()) {
        let lookup = |seq| {
            usize::try_from(seq)
                .ok()
                .and_then(|seq| seen.get(seq).copied())
        };
        let change = fold_line(line, index).and_then(|event| surface.check(&event, lookup));
        let change = change.map_err(|fault| fault.number("index", index))?;
        surface.apply(&change);
        if let Change::Replace(rewrite) = change {
            replacements.push(rewrite.replacement());
        }
        seen.push(line);
    }
    Ok((surface.nodes().collect(), replacements))
}

fn fold_line(line: &str, expected: u64) -> Result<Event<'_>, Fault> {
    let envelope =
        Envelope::read(line).map_err(|fault| Fault::new(Reason::JsonSyntax, fault.to_string()))?;
    if envelope.seq.and_then(Value::as_seq) == Some(expected) {
        return Ok(Event::of(&envelope, expected));
    }
    let actual = envelope.seq.map_or("absent", Value::text);
    let shown = shown_value(actual);
    let message = format!("event seq {shown} is not contiguous; expected {expected}");
    Err(Fault::new(Reason::SeqNotContiguous, message)
        .number("expected", expected)
        .text("actual", actual))
}
