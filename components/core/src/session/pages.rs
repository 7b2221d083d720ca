//! Bounded looks at a session: events, messages, stored lines, the part that a fork takes.

use std::borrow::Cow;

use super::{Session, read_line, split_lines};
use crate::fault::{Fault, Reason};
use crate::log::{Kind, Line};
use crate::message::message_of;
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
            for line in split_lines(&expand(&record, next - record.first_seq, bytes_max)?) {
                if !fits(&lines, line, bytes_max) {
                    return Ok(EventsPage {
                        lines,
                        next: Some(next),
                    });
                }
                lines.push_str(line);
                lines.push('\n');
                next += 1;
            }
            if next < record.first_seq + record.count {
                return Ok(EventsPage {
                    lines,
                    next: Some(next),
                });
            }
        }
        Ok(EventsPage { lines, next: None })
    }

    /// The history that the model sees, from position `start` on: about `bytes_max` bytes at most, but at least one
    /// message if any is left. After an append only the new events are looked at.
    ///
    /// Fails with [`Reason::StartBeyondEnd`], and with [`Reason::MessageInvalid`] when an event on the surface holds
    /// nothing that a message could be made of.
    pub fn messages(&mut self, start: u32, bytes_max: u32) -> Result<MessagesPage, Fault> {
        self.history.catch_up(&self.surface, &self.log)?;
        let shown = self.history.shown();
        let total = u32::try_from(shown.len()).map_err(|_| {
            Fault::new(Reason::LimitReached, "too many messages").text("limit", "messages")
        })?;
        let Some(places) = shown.get(start as usize..) else {
            return Err(beyond_end("message", u64::from(start), u64::from(total)));
        };
        let mut lines = String::new();
        for place in places {
            let line = self
                .surface
                .nodes()
                .get(*place)
                .and_then(|seq| self.log.line(*seq));
            let message = line
                .and_then(read_line)
                .map(|event| message_of(&event))
                .transpose()?
                .flatten();
            let message = message.unwrap_or_default();
            if !fits(&lines, &message, bytes_max) {
                break;
            }
            lines.push_str(&message);
            lines.push('\n');
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
    /// is no `turn/end`.
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
        Ok(Stored {
            first_seq: 0,
            count: last + 1,
            last_time_ms,
            lines: self.log.text(0, position + 1),
        })
    }
}

/// The events of a line without the first `skip` ones, and of a row no more than fill a page.
fn expand<'a>(line: &Line<'a>, skip: u64, bytes_max: u32) -> Result<Cow<'a, str>, Fault> {
    if line.kind != Kind::Row {
        return Ok(Cow::Borrowed(line.text));
    }
    match record::read_line(line.text)? {
        record::Line::Event(_) => Ok(Cow::Borrowed(line.text)),
        record::Line::Row(row) => {
            let mut out = String::new();
            row.expand_part(skip, bytes_max as usize, &mut out);
            Ok(Cow::Owned(out))
        }
    }
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
