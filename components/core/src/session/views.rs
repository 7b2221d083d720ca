//! What a session shows of its log besides messages: the request header, the last turn, the usage of tokens.

use super::{Session, read_line};
use crate::event::{Envelope, Event};
use crate::fault::Fault;
use crate::json::Value;
use crate::log::Kind;
use crate::request_header::{self, REQUEST_HEADER};
use crate::usage::{Meter, Usage};

impl Session {
    /// The present request header in its canonical form; none when the log has no `request/header`.
    ///
    /// Only the newest snapshot is read. Fails as [`request_header::of_event`] does.
    pub fn request_header(&self) -> Result<Option<String>, Fault> {
        let line = self.request_header.and_then(|seq| self.log.line(seq));
        let event = line.and_then(|line| Envelope::read(line).ok());
        event
            .map(|event| request_header::of_event(&event))
            .transpose()
    }

    /// The number of the last turn, from which a loop counts on after a resume; none when no turn has a number.
    pub fn last_turn(&self) -> Option<u64> {
        let lines = (0..self.log.record_count())
            .rev()
            .map_while(|position| self.log.record(position));
        let mut starts = lines.filter(|line| line.kind == Kind::TurnStart);
        starts.find_map(|line| {
            read_line(line.text)?
                .data?
                .get("turn")
                .and_then(Value::as_seq)
        })
    }

    /// The tokens that this session itself used: what came before [`Header::seed_length`] was used, and is counted,
    /// by the session that it was forked from.
    ///
    /// [`Header::seed_length`]: crate::header::Header::seed_length
    pub fn usage(&self) -> Usage {
        self.usage_from(self.header.seed_length.unwrap_or(0))
    }

    /// The tokens used by the events from a seq on. See [`crate::usage`] for the rule.
    pub fn usage_from(&self, seq: u64) -> Usage {
        let mut meter = Meter::default();
        let from = self.log.position(seq).unwrap_or(self.log.record_count());
        // No row holds usage: its events are deltas of content.
        for line in self
            .log
            .records_from(from)
            .filter(|line| line.kind != Kind::Row)
        {
            if let Some(event) = read_line(line.text) {
                meter.observe(&event);
            }
        }
        meter.usage()
    }

    /// Takes note of an event that was added.
    pub(super) fn note_request_header(&mut self, event: &Event<'_>) {
        if event.event_type == REQUEST_HEADER {
            self.request_header = Some(event.seq);
        }
    }
}
