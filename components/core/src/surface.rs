//! The surface: the seqs of the events that the model sees, in its order.
//!
//! Most events join at the end. A replace puts one event where a run of nodes stood, so after a rewrite the order on
//! the surface is no longer the order of seqs, and a range is a matter of places. Every event is checked against the
//! surface as it stands and changes it only as a whole.

use std::collections::HashMap;

use crate::event::{Envelope, Event, is_surface_eligible_type};
use crate::fault::{Fault, Reason, quoted};
use crate::json::{Kind, Value};

/// The surface after the events seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surface {
    nodes: Vec<u64>,
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
    /// A run of nodes, from position `at` on, gives way to one event.
    Replace {
        /// Position of the first node that goes.
        at: usize,
        /// Who goes and who comes.
        replacement: Replacement,
    },
}

/// `surfaceOp`, understood.
enum Op {
    Append,
    Replace { start: u64, end: u64 },
}

impl Surface {
    /// Seqs in the order that the model sees.
    pub fn nodes(&self) -> &[u64] {
        &self.nodes
    }

    /// How many rewrites there were.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Checks the surface members of the next event; its seq is taken as right.
    ///
    /// `lookup` gives the stored line of an earlier event; it is asked only when a tool result rewrites a node.
    /// The faults, in the order in which they are looked for: a marker on a log-only event, a missing or malformed
    /// marker, the range, the sources, the rewrite rule for tool results.
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
                check_sources(event)?;
                Ok(Change::Append(event.seq))
            }
            Op::Replace { start, end } => {
                let (at, shadowed) = self.range(start, end)?;
                check_shadowed(shadowed, &check_sources(event)?)?;
                if event.event_type == "tool/result" {
                    check_tool_rewrite(event, shadowed, lookup)?;
                }
                let replacement = Replacement {
                    seq: event.seq,
                    start,
                    end,
                    shadowed: shadowed.to_vec(),
                };
                Ok(Change::Replace { at, replacement })
            }
        }
    }

    /// Makes a change that [`Surface::check`] gave for this very state.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::None => {}
            Change::Append(seq) => self.nodes.push(*seq),
            Change::Replace { at, replacement } => {
                let end = at + replacement.shadowed.len();
                self.splice(*at..end, &[replacement.seq]);
                self.generation += 1;
            }
        }
    }

    /// Takes back the change that was made last.
    pub fn revert(&mut self, change: &Change) {
        match change {
            Change::None => {}
            Change::Append(_) => {
                self.nodes.pop();
            }
            Change::Replace { at, replacement } => {
                self.splice(*at..at + 1, &replacement.shadowed);
                self.generation -= 1;
            }
        }
    }

    fn splice(&mut self, range: std::ops::Range<usize>, nodes: &[u64]) {
        let end = range.end.min(self.nodes.len());
        self.nodes
            .splice(range.start.min(end)..end, nodes.iter().copied());
    }

    fn range(&self, start: u64, end: u64) -> Result<(usize, &[u64]), Fault> {
        // Rewrites are mostly of what is recent, so the search begins at the end.
        let place = |seq: u64| self.nodes.iter().rposition(|node| *node == seq);
        let first = place(start).ok_or_else(|| {
            let message = format!("surface replace: start seq {start} not found in surface");
            Fault::new(Reason::ReplaceStartNotFound, message).number("start", start)
        })?;
        let last = if end == start {
            Some(first)
        } else {
            place(end)
        };
        let last = last.ok_or_else(|| {
            let message = format!("surface replace: end seq {end} not found in surface");
            Fault::new(Reason::ReplaceEndNotFound, message).number("end", end)
        })?;
        let shadowed = self.nodes.get(first..=last).filter(|run| !run.is_empty()).ok_or_else(|| {
            let message = format!(
                "surface replace: start seq {start} (position {first}) is after end seq {end} (position {last})"
            );
            Fault::new(Reason::ReplaceRangeReversed, message).number("start", start).number("end", end)
        })?;
        Ok((first, shadowed))
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

/// The sources in ascending order; none when the event names none.
fn check_sources(event: &Event<'_>) -> Result<Vec<u64>, Fault> {
    let Some(sources) = event.source_event_seqs else {
        return Ok(Vec::new());
    };
    let fault = |reason, what: &str| {
        fault_of(
            event,
            reason,
            format!(
                "sourceEventSeqs of event {} {what}",
                quoted(&event.event_type)
            ),
        )
    };
    if sources.kind() != Kind::Array {
        return Err(fault(
            Reason::SourcesNotArray,
            "must be an array when present",
        ));
    }
    let mut seqs = Vec::new();
    for source in sources.elements() {
        let seq = source.as_seq();
        seqs.push(seq.ok_or_else(|| fault(Reason::SourcesNotSeqs, "must hold nothing but seqs"))?);
    }
    // Only here an empty list says something: the provider's stream is known to have been empty.
    if seqs.is_empty() && event.event_type != "assistant/message" {
        return Err(fault(Reason::SourcesEmpty, "must not be empty"));
    }
    let late = seqs.iter().copied().find(|seq| *seq >= event.seq);
    if !seqs.is_sorted() {
        seqs.sort_unstable();
    }
    if let Some([twice, _]) = seqs.array_windows().find(|[one, next]| one == next) {
        return Err(fault(
            Reason::SourcesDuplicate,
            &format!("must not name seq {twice} twice"),
        ));
    }
    match late {
        None => Ok(seqs),
        Some(seq) => {
            let what = format!(
                "must name earlier events, and {seq} is not before {}",
                event.seq
            );
            Err(fault(Reason::SourcesNotEarlier, &what).number("actual", seq))
        }
    }
}

fn check_shadowed(shadowed: &[u64], sources: &[u64]) -> Result<(), Fault> {
    let Some(missing) = shadowed
        .iter()
        .find(|seq| sources.binary_search(seq).is_err())
    else {
        return Ok(());
    };
    let message = format!(
        "surface replace: sourceEventSeqs must name every node that it removes; seq {missing} is missing"
    );
    Err(Fault::new(Reason::SourcesMissingShadowed, message).number("missing", *missing))
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

/// Whether the members besides `content` are the same, in any order. What is no object has none.
fn same_but_content(old: Option<Value<'_>>, new: Option<Value<'_>>) -> bool {
    let (old, new) = (members_but_content(old), members_but_content(new));
    old.len() == new.len()
        && old
            .iter()
            .all(|(name, value)| new.get(name).is_some_and(|other| other.same(*value)))
}

fn members_but_content(data: Option<Value<'_>>) -> HashMap<Vec<u32>, Value<'_>> {
    let members = data
        .into_iter()
        .flat_map(Value::members)
        .filter(|(name, _)| !name.is("content"));
    members
        .map(|(name, value)| (name.code_points().collect(), value))
        .collect()
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
        if let Change::Replace { replacement, .. } = change {
            replacements.push(replacement);
        }
        seen.push(line);
    }
    Ok((surface.nodes, replacements))
}

fn fold_line(line: &str, expected: u64) -> Result<Event<'_>, Fault> {
    let envelope =
        Envelope::read(line).map_err(|fault| Fault::new(Reason::JsonSyntax, fault.to_string()))?;
    if envelope.seq.and_then(Value::as_seq) == Some(expected) {
        return Ok(Event::of(&envelope, expected));
    }
    let actual = envelope.seq.map_or("absent", Value::text);
    let message = format!("event seq {actual} is not contiguous; expected {expected}");
    Err(Fault::new(Reason::SeqNotContiguous, message)
        .number("expected", expected)
        .text("actual", actual))
}
