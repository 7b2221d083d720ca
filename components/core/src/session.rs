//! A session: its header, its log, and what is derived from the log.
//!
//! Every event that gets in has been checked against the events before it; a refused one leaves no trace. Absent:
//! where the log is stored, who may write it, what time it is.

mod append;
mod history;
mod pages;
mod tracing;
mod views;

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crate::chunk_rows::{Row, RowSpans, is_row, read_delta_in};
use crate::closers::Tail;
use crate::event::{Envelope, Event, check_seed_envelope};
use crate::fault::{Fault, Reason};
use crate::header::Header;
use crate::json::JsonFault;
use crate::log::{Kind, Limits, Log};
use crate::message::prompt_text;
use crate::surface::Surface;

pub use append::{Appended, completion_bytes};
pub use pages::{EventsPage, MessagesPage, Stored};

use history::History;
use tracing::Tracing;

/// Characters of a session's first prompt that are kept.
pub const FIRST_PROMPT_CHARACTERS_MAX: usize = 200;

/// A log with its header, open for reading and for more events.
#[derive(Clone, Debug)]
pub struct Session {
    header: Header,
    log: Log,
    surface: Surface,
    history: History,
    // Seq of the newest request/header.
    request_header: Option<u64>,
    tracing: Tracing,
    // Where the last page of events ended, if inside a row.
    row_left: Cell<Option<RowSpans>>,
}

impl Session {
    /// A session without events. Fails when a member of the header breaks a rule.
    pub fn new(header: Header) -> Result<Session, Fault> {
        header.check()?;
        Ok(Session::unchecked(header))
    }

    /// A session that begins with `lines`: complete events or packed rows, kept byte for byte.
    ///
    /// Fails at the first event that breaks a rule of the format or of the surface, with its `index` among the
    /// events, and then where the header breaks one.
    pub fn from_seed(header: Header, lines: &str) -> Result<Session, Fault> {
        let mut session = Session::unchecked(header);
        session.log.begin_copied_ahead(lines);
        for (length, rest) in line_lengths(lines) {
            session.push_stored_in(rest, length)?;
        }
        session.log.end_ahead();
        session.header.check()?;
        Ok(session)
    }

    /// A session without events whose header is checked later.
    pub(crate) fn unchecked(header: Header) -> Session {
        Session {
            header,
            log: Log::default(),
            surface: Surface::default(),
            history: History::default(),
            request_header: None,
            tracing: Tracing::Off,
            row_left: Cell::new(None),
        }
    }

    /// What the session was created with.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The seq of the next event, which is the number of events.
    pub fn next_seq(&self) -> u64 {
        self.log.next_seq()
    }

    /// The time of the last event in milliseconds; 0 when there is none.
    pub fn last_time_ms(&self) -> u64 {
        self.log.last_time_ms()
    }

    /// The log itself.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Holds other limits against the lines to come; [`Limits::default`] until then.
    pub fn set_limits(&mut self, limits: Limits) {
        self.log.set_limits(limits);
    }

    /// What the model sees, as seqs.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// Whether the last turn has no end.
    pub fn has_open_turn(&self) -> bool {
        let last = self.log.last_of(&[Kind::TurnStart, Kind::TurnEnd]);
        let start = last.and_then(|position| self.log.record(position));
        let event = start
            .filter(|line| line.kind == Kind::TurnStart)
            .and_then(|line| read_line(line.text));
        event.is_some_and(|event| event.data.and_then(|data| data.get("turn")).is_some())
    }

    /// The complete lines that would close an open turn, at the last event's time; empty when none is open.
    pub fn closers(&self) -> String {
        let mut tail = Tail::default();
        let start = self
            .log
            .last_of(&[Kind::TurnStart, Kind::TurnEnd])
            .unwrap_or(self.log.record_count());
        for line in self
            .log
            .records_from(start)
            .filter(|line| line.kind != Kind::Row)
        {
            if let Some(event) = read_line(line.text) {
                tail.observe(&event);
            }
        }
        tail.closers(self.next_seq(), self.last_time_ms())
    }

    /// Appends [`Session::closers`], all or none. Nothing is appended when no turn is open.
    pub fn close_turn(&mut self) -> Result<Appended, Fault> {
        self.append(&self.closers(), self.last_time_ms())
    }

    /// The text of the first `user/message` by a user, at most [`FIRST_PROMPT_CHARACTERS_MAX`] characters.
    pub fn first_prompt(&self) -> Option<String> {
        self.first_prompt_in(0..self.next_seq())
    }

    /// Like [`Session::first_prompt`], looked for only among the events of these seqs.
    pub fn first_prompt_in(&self, seqs: Range<u64>) -> Option<String> {
        let from = self
            .log
            .position(seqs.start)
            .unwrap_or(self.log.record_count());
        let messages = self
            .log
            .records_from(from)
            .take_while(|line| line.first_seq < seqs.end)
            .filter(|line| line.kind == Kind::Message);
        let text = messages
            .filter_map(|line| prompt_text(&read_line(line.text)?))
            .next()?;
        Some(text.chars().take(FIRST_PROMPT_CHARACTERS_MAX).collect())
    }

    /// The stored lines that are added next, one after the other, until [`Session::end_ahead`]: see the log's.
    pub(crate) fn begin_ahead(&mut self, lines: &Arc<String>) {
        self.log.begin_ahead(lines);
    }

    /// No more of the lines that were named ahead are added.
    pub(crate) fn end_ahead(&mut self) {
        self.log.end_ahead();
    }

    /// Checks one stored line as the next of a seed and adds it. A fault has the `index` of the event.
    pub(crate) fn push_stored(&mut self, line: &str) -> Result<(), Fault> {
        self.push_stored_in(line, line.len())
    }

    /// Like [`Session::push_stored`], of a line that is the first `length` bytes of a text.
    fn push_stored_in(&mut self, text: &str, length: usize) -> Result<(), Fault> {
        let line = text.get(..length).unwrap_or_default();
        if let Some(row) = Row::read_canonical_in(text, length) {
            return self.push_row(line, &row);
        }
        let index = self.next_seq();
        if let Some((seq, time_ms)) = read_delta_in(text, length)
            && seq == index
        {
            return self.push_delta(line, time_ms);
        }
        let mut envelope = Envelope::unread();
        let read = envelope.fill(text, length);
        read.map_err(|fault| not_json(&fault, index))?;
        self.push_envelope(line, &envelope)
    }

    /// Like [`Session::push_stored`], for a line that was read as no row in its usual spelling.
    pub(crate) fn push_envelope(
        &mut self,
        line: &str,
        envelope: &Envelope<'_>,
    ) -> Result<(), Fault> {
        let index = self.next_seq();
        if is_row(envelope) {
            if let Some(fault) = &envelope.lossy {
                return Err(not_json(fault, index));
            }
            let row = Row::read(envelope.value).map_err(|fault| fault.number("index", index))?;
            return self.push_row(line, &row);
        }
        self.push_event(line, envelope)
    }

    /// Like [`Session::push_stored`], for a line that was read as no row.
    pub(crate) fn push_event(&mut self, line: &str, envelope: &Envelope<'_>) -> Result<(), Fault> {
        let index = self.next_seq();
        let event = check_seed_envelope(envelope, index)?;
        let change = self
            .surface
            .check(&event, |seq| self.log.line(seq))
            .map_err(|fault| {
                let message = format!("event {index}: {}", fault.message);
                Fault { message, ..fault }.number("index", index)
            })?;
        self.surface.make_room()?;
        self.log
            .push(line, Kind::of(&event.event_type), 1, event.time_ms)?;
        self.surface.apply(&change);
        self.note_request_header(&event);
        Ok(())
    }

    /// Like [`Session::push_stored`], for a line that was read as a streamed delta with the next seq.
    #[inline]
    pub(crate) fn push_delta(&mut self, line: &str, time_ms: u64) -> Result<(), Fault> {
        self.log.push(line, Kind::Other, 1, time_ms)
    }

    /// Like [`Session::push_stored`], for a line that was read as a row.
    pub(crate) fn push_row(&mut self, line: &str, row: &Row<'_>) -> Result<(), Fault> {
        let index = self.next_seq();
        if row.seq0 != index {
            let message = format!(
                "event {index} has seq {}; a log counts from 0 without gaps",
                row.seq0
            );
            let fault = Fault::new(Reason::SeedSeqNotContiguous, message);
            return Err(fault
                .number("index", index)
                .number("expected", index)
                .number("actual", row.seq0));
        }
        let (Ok(_), Ok(last_time_ms)) = (
            u64::try_from(row.min_time_ms),
            u64::try_from(row.last_time_ms),
        ) else {
            let message = format!("event {index}: a row reaches a time before 1970");
            return Err(Fault::new(Reason::SeedEnvelopeInvalid, message).number("index", index));
        };
        self.log.push(line, Kind::Row, row.count, last_time_ms)
    }
}

fn not_json(fault: &JsonFault, index: u64) -> Fault {
    let broken = Fault::new(Reason::SeedNotJson, format!("event {index}: {fault}"));
    broken
        .number("index", index)
        .text("path", fault.path.as_str())
}

/// An event of a line that was checked when it came in.
fn read_line(line: &str) -> Option<Event<'_>> {
    let envelope = Envelope::read_checked(line).ok()?;
    let seq = envelope.seq_value()?;
    Some(Event::of(&envelope, seq))
}

/// Lines without their newlines and nothing else taken off; a last line may lack its newline.
pub(crate) fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    line_lengths(text).map(|(length, rest)| rest.get(..length).unwrap_or_default())
}

/// How much of what follows a line is shown with it: the longest step in which text is read.
const LOOK_BYTES_MAX: usize = 16;

/// Like [`split_lines`], as the length of each line and a text that begins with it: whoever reads a line in large steps
/// may look at what follows it. That is little, since a value that breaks off in whitespace goes on behind its line.
pub(crate) fn line_lengths(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        let end = rest.floor_char_boundary(length + LOOK_BYTES_MAX);
        let from = rest.get(..end).unwrap_or_default();
        rest = rest.get(length + 1..).unwrap_or_default();
        Some((length, from))
    })
}
