//! Taking in new events: all lines of a call or none.

use super::{Session, read_line, split_lines};
use crate::chunk_rows::{DELTA_HEAD, delta_draft_rest, is_row};
use crate::event::{Envelope, Event, check_appended};
use crate::fault::{Fault, Reason, quoted, shown};
use crate::header::SAFE_INTEGER_MAX;
use crate::json::{JsonFault, Value, push_integer};
use crate::log::{Kind, ask_room, check_room, no_memory};
use crate::message::check_appended_message;
use crate::surface::{Change, Surface};

/// After so many bytes of lines it is asked again whether there is memory for what is small.
const UNASKED_BYTES_MAX: usize = 8 << 10;
/// What is small, of so many lines: nodes that a rewrite removes, ids of calls.
const SMALL_BYTES: usize = 4 * UNASKED_BYTES_MAX;

/// How every line begins, up to its type.
const HEAD: &str = r#"{"type":"#;

/// What seq and time add to the line of an event, in bytes.
pub fn completion_bytes(seq: u64, time_ms: u64) -> u64 {
    let digits = |number: u64| u64::from(number.checked_ilog10().unwrap_or(0)) + 1;
    r#","seq":,"time":"#.len() as u64 + digits(seq) + digits(time_ms)
}

/// Events that were appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Seq of the first one; the next seq when there is none.
    pub first_seq: u64,
    /// How many.
    pub count: u64,
    /// Time of the last one in milliseconds; 0 when there is none.
    pub last_time_ms: u64,
    /// The complete lines, each ended by a newline.
    pub lines: String,
}

impl Session {
    /// Appends lines of `{type, data, surfaceOp?, sourceEventSeqs?, seq?, time?}`, all or none.
    ///
    /// `time` stands in for `time_ms`; a `seq` must be the next one. Types, data and surface members are kept as
    /// written. A fault carries the `line`, counted from 1, and leaves the session as it was. One of them is
    /// [`Reason::LimitReached`]: see [`Limits`](crate::log::Limits).
    pub fn append(&mut self, lines: &str, time_ms: u64) -> Result<Appended, Fault> {
        let first_seq = self.log.next_seq();
        let (mark, first, bytes) = (self.log.mark(), self.log.record_count(), self.log.bytes());
        let request_header = self.request_header;
        let mut changes = Vec::new();
        // what reading a line of them may need
        check_room(lines.len())?;
        self.mark_trace();
        let appended = self.append_lines(lines, time_ms, &mut changes);
        let has_failed = appended.is_err();
        let copy = appended.and_then(|()| {
            // goes before its place is needed
            changes = Vec::new();
            let (end, bytes) = (self.log.record_count(), self.log.bytes() - bytes);
            self.log.copied(first, end, bytes)
        });
        let fault = match copy {
            Ok(lines) => {
                self.keep_trace();
                let count = self.log.next_seq() - first_seq;
                let last_time_ms = if count == 0 {
                    0
                } else {
                    self.log.last_time_ms()
                };
                return Ok(Appended {
                    first_seq,
                    count,
                    last_time_ms,
                    lines,
                });
            }
            Err(fault) => fault,
        };
        self.log.rewind(mark);
        self.request_header = request_header;
        self.rewind_trace();
        if has_failed {
            for change in changes.iter().rev() {
                self.surface.revert(change);
            }
        } else {
            self.fold_again();
        }
        Err(fault)
    }

    /// Makes the surface anew of the events in the log.
    fn fold_again(&mut self) {
        self.surface = Surface::default();
        for record in self.log.records_from(0) {
            let event = Some(record.text).filter(|_| record.kind == Kind::Message);
            let Some(event) = event.and_then(read_line) else {
                continue;
            };
            // checked when it came in
            if let Ok(change) = self.surface.check(&event, |seq| self.log.line(seq)) {
                self.surface.apply(&change);
            }
        }
    }

    /// Whether the log takes so many bytes more, newlines included. Memory is not asked for.
    ///
    /// Fails with [`Reason::LimitReached`].
    pub fn check_room_for(&self, bytes: usize) -> Result<(), Fault> {
        self.log.check_room_for(bytes)
    }

    fn append_lines(
        &mut self,
        lines: &str,
        time_ms: u64,
        changes: &mut Vec<Change>,
    ) -> Result<(), Fault> {
        let mut unasked_bytes = UNASKED_BYTES_MAX;
        for (number, line) in (1u64..).zip(split_lines(lines)) {
            unasked_bytes += line.len();
            if unasked_bytes >= UNASKED_BYTES_MAX {
                ask_room(SMALL_BYTES)?;
                unasked_bytes = 0;
            }
            let change_bytes = size_of::<Change>();
            changes
                .try_reserve(1)
                .map_err(|_| no_memory(change_bytes))?;
            let change = self.append_line(line, time_ms).map_err(|fault| {
                let message = format!("line {number}: {}", fault.message);
                Fault { message, ..fault }.number("line", number)
            })?;
            // A rewrite moves messages even if it is taken back: forgetting too much costs time, not truth.
            self.history.forget(&change);
            if change != Change::None {
                changes.push(change);
            }
        }
        Ok(())
    }

    fn append_line(&mut self, line: &str, time_ms: u64) -> Result<Change, Fault> {
        if time_ms <= SAFE_INTEGER_MAX
            && !self.is_traced()
            && let Some(rest) = delta_draft_rest(line)
        {
            self.append_delta(rest, time_ms)?;
            return Ok(Change::None);
        }
        let draft = read_draft(line)?;
        let event_type = draft
            .event_type
            .ok_or_else(|| envelope("an event to append has no type"))?;
        if event_type.as_text().is_none() {
            return Err(envelope("the type of an event must be a string"));
        }
        if is_row(&draft) {
            // what is stored under such a type is read back as a row, and this would be a malformed one
            return Err(envelope(&format!(
                "type {} is that of packed rows; append the events one by one under another",
                shown(event_type.text())
            )));
        }
        check_seq(draft.seq, self.log.next_seq())?;
        let time_ms = draft
            .time
            .map_or(Some(time_ms), Value::as_seq)
            .filter(|time_ms| *time_ms <= SAFE_INTEGER_MAX);
        let time_ms = time_ms.ok_or_else(|| {
            envelope("the time of an event must be a whole number of milliseconds from 0 to 2^53-1")
        })?;
        let event = Event {
            time_ms,
            ..Event::of(&draft, self.log.next_seq())
        };
        let data = event.data.ok_or_else(|| {
            let message = format!("event {} has no data", quoted(&event.event_type));
            Fault::new(Reason::AppendDataNotJson, message).text("type", &*event.event_type)
        })?;
        check_appended(&event.event_type, data, event.seq)?;
        let change = self.surface.check(&event, |seq| self.log.line(seq))?;
        if change != Change::None {
            check_appended_message(&event)?;
        }
        self.check_trace(&event)?;
        self.surface.make_room()?;
        let (bytes, kind) = (
            completed_bytes(event_type, &event),
            Kind::of(&event.event_type),
        );
        let write = |out: &mut String| write_event(out, event_type, &event);
        self.log
            .push_written(bytes, kind, 1, event.time_ms, write)?;
        self.surface.apply(&change);
        self.note_request_header(&event);
        Ok(change)
    }

    /// Appends a streamed delta, of which `rest` stands behind its type: none of the rules is left to hold against it.
    fn append_delta(&mut self, rest: &str, time_ms: u64) -> Result<(), Fault> {
        let seq = self.log.next_seq();
        let bytes = DELTA_HEAD.len() + completion_bytes(seq, time_ms) as usize + rest.len();
        let write = |out: &mut String| {
            out.push_str(DELTA_HEAD);
            push_stamps(out, seq, time_ms);
            out.push_str(rest);
        };
        self.log.push_written(bytes, Kind::Other, 1, time_ms, write)
    }
}

/// The members of a line to append: an object, all members known, all numbers without loss.
fn read_draft(line: &str) -> Result<Envelope<'_>, Fault> {
    let draft = Envelope::read(line).map_err(|fault| {
        Fault::new(Reason::JsonSyntax, fault.to_string()).text("path", fault.path)
    })?;
    if !draft.value.is_object() {
        return Err(envelope(
            "an event to append must be a JSON object with type and data",
        ));
    }
    if let Some(name) = draft.other {
        let name = name.decode_lossy();
        let message = format!(
            "unknown member {}; known are type, data, surfaceOp, sourceEventSeqs, seq and time",
            quoted(&name)
        );
        return Err(envelope(&message).text("member", name));
    }
    match &draft.lossy {
        None => Ok(draft),
        Some(fault) => Err(lossy(&Event::of(&draft, 0).event_type, fault)),
    }
}

fn lossy(event_type: &str, fault: &JsonFault) -> Fault {
    let reason = match fault.path.split('/').nth(1) {
        Some("data") => Reason::AppendDataNotJson,
        Some("surfaceOp" | "sourceEventSeqs") => Reason::AppendSurfaceMetadataNotJson,
        Some(_) | None => Reason::AppendEnvelopeInvalid,
    };
    let message = format!("event {}: {fault}", quoted(event_type));
    Fault::new(reason, message)
        .text("type", event_type)
        .text("path", fault.path.as_str())
}

fn check_seq(seq: Option<Value<'_>>, next: u64) -> Result<(), Fault> {
    let Some(seq) = seq else { return Ok(()) };
    let actual = seq
        .as_seq()
        .ok_or_else(|| envelope("the seq of an event must be a non-negative safe integer"))?;
    if actual == next {
        return Ok(());
    }
    let message =
        format!("event has seq {actual}, and the next one is {next}; leave seq out or load again");
    Err(Fault::new(Reason::AppendSeqMismatch, message)
        .number("expected", next)
        .number("actual", actual))
}

fn envelope(message: &str) -> Fault {
    Fault::new(Reason::AppendEnvelopeInvalid, message)
}

/// Writes an event in the order of the format, its parts as they were given.
fn write_event(out: &mut String, event_type: Value<'_>, event: &Event<'_>) {
    out.push_str(HEAD);
    out.push_str(event_type.text());
    push_stamps(out, event.seq, event.time_ms);
    for (name, value) in members(event) {
        out.push_str(name);
        out.push_str(value.text());
    }
    out.push('}');
}

/// How many bytes [`write_event`] writes.
fn completed_bytes(event_type: Value<'_>, event: &Event<'_>) -> usize {
    let members = members(event).map(|(name, value)| name.len() + value.text().len());
    let stamps = completion_bytes(event.seq, event.time_ms) as usize;
    HEAD.len() + event_type.text().len() + stamps + members.sum::<usize>() + 1
}

/// What stands behind the stamps of an event, each member with what comes before its value.
fn members<'a>(event: &Event<'a>) -> impl Iterator<Item = (&'static str, Value<'a>)> {
    let members = [
        (r#","data":"#, event.data),
        (r#","sourceEventSeqs":"#, event.source_event_seqs),
        (r#","surfaceOp":"#, event.surface_op),
    ];
    let given = members.into_iter();
    given.filter_map(|(name, value)| Some((name, value?)))
}

fn push_stamps(out: &mut String, seq: u64, time_ms: u64) {
    out.push_str(r#","seq":"#);
    push_integer(out, seq);
    out.push_str(r#","time":"#);
    push_integer(out, time_ms);
}
