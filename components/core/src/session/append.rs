//! Taking in new events: all lines of a call or none.

use super::{Session, split_lines};
use crate::chunk_rows::is_row;
use crate::event::{Envelope, Event, check_appended};
use crate::fault::{Fault, Reason, quoted, shown};
use crate::header::SAFE_INTEGER_MAX;
use crate::json::{JsonFault, Value, push_integer};
use crate::log::{Kind, check_room};
use crate::surface::Change;

/// What completing an event adds to its line at most: seq and time, each a safe integer.
const ADDED_BYTES_MAX: usize = r#","seq":9007199254740991,"time":9007199254740991"#.len();

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
        let (mark, first) = (self.log.mark(), self.log.record_count());
        let request_header = self.request_header;
        let mut changes = Vec::new();
        // the longest line completed, and then the copy that is handed back
        check_room(lines.len())?;
        self.mark_trace();
        match self.append_lines(lines, time_ms, &mut changes) {
            Ok(()) => {
                let count = self.log.next_seq() - first_seq;
                let last_time_ms = if count == 0 {
                    0
                } else {
                    self.log.last_time_ms()
                };
                // what is not needed any more goes before its place is needed
                drop(changes);
                self.keep_trace();
                let lines = self.log.text(first, self.log.record_count());
                Ok(Appended {
                    first_seq,
                    count,
                    last_time_ms,
                    lines: lines.into_owned(),
                })
            }
            Err(fault) => {
                self.log.rewind(mark);
                self.request_header = request_header;
                self.rewind_trace();
                for change in changes.iter().rev() {
                    self.surface.revert(change);
                }
                Err(fault)
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
        let mut written = String::new();
        for (number, line) in (1u64..).zip(split_lines(lines)) {
            let change = self
                .append_line(line, time_ms, &mut written)
                .map_err(|fault| {
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

    /// Appends one line; `written` is for the completed one, whatever it held before.
    fn append_line(
        &mut self,
        line: &str,
        time_ms: u64,
        written: &mut String,
    ) -> Result<Change, Fault> {
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
        self.check_trace(&event)?;
        written.clear();
        // a long event is not copied again to make room for its end
        written.reserve(line.len() + ADDED_BYTES_MAX);
        write_event(written, event_type, &event);
        self.log
            .push(written, Kind::of(&event.event_type), 1, event.time_ms)?;
        self.surface.apply(&change);
        self.note_request_header(&event);
        Ok(change)
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
    out.push_str(r#"{"type":"#);
    out.push_str(event_type.text());
    out.push_str(r#","seq":"#);
    push_integer(out, event.seq);
    out.push_str(r#","time":"#);
    push_integer(out, event.time_ms);
    let parts = [
        (r#","data":"#, event.data),
        (r#","sourceEventSeqs":"#, event.source_event_seqs),
        (r#","surfaceOp":"#, event.surface_op),
    ];
    for (name, value) in parts {
        if let Some(value) = value {
            out.push_str(name);
            out.push_str(value.text());
        }
    }
    out.push('}');
}
