//! Bounded looks at a session: events, messages, stored lines, the part that a fork takes.

use std::borrow::Cow;

use super::history::{Place, Shown};
use super::{Session, read_line};
use crate::chunk_rows::RowSpans;
use crate::fault::{Fault, Reason};
use crate::log::{Kind, Line, Log, check_room, no_memory};
use crate::message::{MessageSpans, read_message};
use crate::record;

/// Some events in order, one a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsPage {
    /// Event lines, each ended by a newline; none is a packed row.
    pub lines: String,
    /// The seq to go on from; none at the end.
    pub next: Option<u64>,
}

/// Some messages in order, one a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagesPage {
    /// Rewrites of the surface so far; positions of another generation mean other messages.
    pub generation: u64,
    /// Position of the first message given.
    pub start: u32,
    /// How many messages the whole history has.
    pub total: u32,
    /// JSON messages, each ended by a newline.
    pub lines: String,
}

/// Stored lines as they are, rows packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored<'a> {
    /// Seq of the first event.
    pub first_seq: u64,
    /// How many events.
    pub count: u64,
    /// Time of the last one in milliseconds; 0 when there is none.
    pub last_time_ms: u64,
    /// The lines, each ended by a newline.
    pub lines: Cow<'a, str>,
}

impl Session {
    /// Stored lines from the one that holds `seq` to the end; nothing when `seq` is the next one or beyond.
    pub fn stored_from(&self, seq: u64) -> Stored<'_> {
        let Some((position, line)) = self
            .log
            .position(seq)
            .and_then(|at| Some((at, self.log.record(at)?)))
        else {
            return Stored {
                first_seq: self.next_seq(),
                count: 0,
                last_time_ms: 0,
                lines: Cow::Borrowed(""),
            };
        };
        Stored {
            first_seq: line.first_seq,
            count: self.next_seq() - line.first_seq,
            last_time_ms: self.last_time_ms(),
            lines: self.log.text(position, self.log.record_count()),
        }
    }

    /// Whether there is memory for so many copies of what [`Session::stored_from`] gives.
    ///
    /// Fails with [`Reason::LimitReached`].
    pub fn check_room_for_stored(&self, seq: u64, copies: usize) -> Result<(), Fault> {
        let Some(position) = self.log.position(seq) else {
            return Ok(());
        };
        let bytes = self.log.bytes_between(position, self.log.record_count());
        check_room(bytes.saturating_mul(copies))
    }

    /// Event lines from `start` on, rows expanded: about `bytes_max` bytes at most, but at least one event if any is
    /// left. Fails with [`Reason::StartBeyondEnd`].
    pub fn events(&self, start: u64, bytes_max: u32) -> Result<EventsPage, Fault> {
        if start > self.next_seq() {
            return Err(beyond_end("event", start, self.next_seq()));
        }
        let mut lines = String::new();
        let mut next = start;
        let position = self.log.position(start).unwrap_or(self.log.record_count());
        for record in self.log.records_from(position) {
            if record.kind == Kind::Row {
                next = self.expand(&record, next, bytes_max, &mut lines)?;
                if next < record.first_seq + record.count {
                    let next = Some(next);
                    return Ok(EventsPage { lines, next });
                }
                continue;
            }
            if !fits(&lines, record.text, bytes_max) {
                let next = Some(next);
                return Ok(EventsPage { lines, next });
            }
            // a long line is not copied again to make room for its newline
            lines.reserve(record.text.len() + 1);
            lines.push_str(record.text);
            lines.push('\n');
            next += 1;
        }
        Ok(EventsPage { lines, next: None })
    }

    /// Adds the events of a row from `next` on, as many as fit, and says which one comes next.
    ///
    /// Whoever reads a long row in pages has it read once: the place of the last page's end is remembered.
    fn expand(
        &self,
        record: &Line<'_>,
        next: u64,
        bytes_max: u32,
        lines: &mut String,
    ) -> Result<u64, Fault> {
        let place = self.row_left.get();
        let left = place
            .filter(|left| left.is_of(record.first_seq, next))
            .and_then(|left| left.row(record.text));
        let row = match left {
            Some(row) => row,
            None => match record::read_line(record.text)? {
                record::Line::Row(row) => row,
                record::Line::Event(_) => return Ok(record.first_seq + record.count),
            },
        };
        let row = row.expand_part(next - row.seq0, bytes_max as usize, lines);
        if row.count > 0 {
            let left = RowSpans::of(&row, record.first_seq, record.text);
            self.row_left.set(left);
        }
        Ok(row.seq0)
    }

    /// The history that the model sees, from position `start` on: about `bytes_max` bytes at most, but at least one
    /// message if any is left. After an append only the new events are looked at.
    ///
    /// Fails with [`Reason::StartBeyondEnd`], and with [`Reason::MessageInvalid`] when an event on the surface holds
    /// nothing that a message could be made of.
    pub fn messages(&mut self, start: u32, bytes_max: u32) -> Result<MessagesPage, Fault> {
        let log = &self.log;
        self.history
            .catch_up(&self.surface, |seq| find_message(log, seq))?;
        let shown = self.history.shown();
        let total = u32::try_from(shown.len()).map_err(|_| {
            Fault::new(Reason::LimitReached, "too many messages").text("limit", "messages")
        })?;
        let Some(rest) = shown.get(start as usize..) else {
            return Err(beyond_end("message", u64::from(start), u64::from(total)));
        };
        let (count, bytes) = first_page(rest, bytes_max as usize);
        let mut lines = String::new();
        lines
            .try_reserve_exact(bytes)
            .map_err(|_| no_memory(bytes))?;
        for place in rest.iter().take(count).map(|shown| shown.place) {
            if let Some(chunk) = log.chunk(place.chunk) {
                place.spans.message(chunk).write(&mut lines);
                lines.push('\n');
            }
        }
        Ok(MessagesPage {
            generation: self.surface.generation(),
            start,
            total,
            lines,
        })
    }

    /// The stored lines through an inclusive `boundary`, which must be the seq of a `turn/end`; without one the whole
    /// log, which must end with a `turn/end` or be empty.
    ///
    /// Fails with [`Reason::ForkInvalidBoundary`] when there is no such event, with [`Reason::ForkOpenTurn`] when it
    /// is no `turn/end`, with [`Reason::LimitReached`] when there is no memory for another copy of the log.
    pub fn prefix(&self, boundary: Option<u64>) -> Result<Stored<'_>, Fault> {
        let last = match boundary {
            Some(boundary) => boundary,
            None if self.next_seq() == 0 => return Ok(self.stored_from(0)),
            None => self.next_seq() - 1,
        };
        let place = self
            .log
            .position(last)
            .and_then(|at| Some((at, self.log.record(at)?)));
        let Some((position, line)) = place else {
            let message = format!(
                "fork boundary {last} does not exist; the session has {} events",
                self.next_seq()
            );
            return Err(Fault::new(Reason::ForkInvalidBoundary, message).number("actual", last));
        };
        if line.kind != Kind::TurnEnd {
            let message = format!(
                "fork boundary {last} is no turn/end; give the seq of one, or close the turn first"
            );
            return Err(Fault::new(Reason::ForkOpenTurn, message).number("actual", last));
        }
        let last_time_ms = read_line(line.text).map_or(0, |event| event.time_ms);
        check_room(self.log.bytes())?;
        Ok(Stored {
            first_seq: 0,
            count: last + 1,
            last_time_ms,
            lines: self.log.text(0, position + 1),
        })
    }
}

/// Where the message of an event stands; none when it shows none.
fn find_message(log: &Log, seq: u64) -> Result<Option<Place>, Fault> {
    let record = log
        .position(seq)
        .and_then(|position| Some((position, log.record(position)?)));
    let Some((position, line)) = record.filter(|(_, line)| line.kind != Kind::Row) else {
        return Ok(None);
    };
    let Some(event) = read_line(line.text) else {
        return Ok(None);
    };
    let Some(message) = read_message(&event)? else {
        return Ok(None);
    };
    let place = log.chunk_of(position).and_then(|chunk| {
        let spans = MessageSpans::of(&message, log.chunk(chunk)?)?;
        Some(Place { chunk, spans })
    });
    place.ok_or_else(|| no_memory(line.text.len())).map(Some)
}

/// How many of these messages fit into a page, and how long it is then: the first one always does.
fn first_page(shown: &[Shown], bytes_max: usize) -> (usize, usize) {
    let (mut count, mut bytes) = (0, 0);
    for shown in shown {
        let end = bytes + shown.place.spans.bytes();
        if count > 0 && end >= bytes_max {
            break;
        }
        (count, bytes) = (count + 1, end + 1);
    }
    (count, bytes)
}

fn fits(lines: &str, line: &str, bytes_max: u32) -> bool {
    lines.is_empty() || lines.len() + line.len() < bytes_max as usize
}

fn beyond_end(what: &str, start: u64, end: u64) -> Fault {
    let message = format!("{what} {start} is beyond the end at {end}");
    Fault::new(Reason::StartBeyondEnd, message)
        .number("expected", end)
        .number("actual", start)
}
