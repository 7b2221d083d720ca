//! From the pages of a backend to a session: what is whole is kept, a bad end is cut, damage before it is refused.
//!
//! A line is bad when it does not parse, is a malformed row, or does not begin at the next seq; so is a last line
//! without its newline. What lies before the last `turn/end` was finished and acknowledged, so a bad line there is
//! damage. What lies behind it is the work of a turn that a crash cut short: everything from the first bad line on is
//! cut. Cut bytes are counted, not kept.

use std::sync::Arc;

use crate::chunk_rows::{Row, is_row, read_delta_in};
use crate::event::{Envelope, TURN_END};
use crate::fault::{Class, Fault, Reason, shown_value};
use crate::header::Header;
use crate::json::Value;
use crate::log::Limits;
use crate::session::{Session, line_lengths};

/// Reads the header from a log's first bytes, up to and with their newline.
///
/// Fails as [`Header::parse_line`] does: with `log-empty` when there is no whole line, with `log-header-not-json` for
/// an empty one or one that is no UTF-8.
pub fn read_header(first_line: &[u8]) -> Result<Header, Fault> {
    let Some(line) = first_line.strip_suffix(b"\n") else {
        return Header::parse_line("");
    };
    match std::str::from_utf8(line) {
        Ok(line) if !line.is_empty() => Header::parse_line(line),
        _ => Err(Fault::new(Reason::LogHeaderNotJson, "the header line is no JSON").corrupt(1, 0)),
    }
}

/// Takes a log in, page by page, in order.
#[derive(Debug)]
pub struct Loader {
    session: Session,
    // Runs on where the session stops at a broken rule.
    next_seq: u64,
    line: u64,
    byte: u64,
    // A line whose newline has not come yet; it is bad, and what follows up to the newline belongs to it.
    is_torn: bool,
    broken_rule: Option<Fault>,
    bad: Option<Bad>,
}

#[derive(Debug)]
struct Bad {
    fault: Fault,
    line: u64,
    byte: u64,
    events: u64,
    // A turn/end at or behind the bad line: what is bad had been finished.
    is_finished: bool,
}

/// The bad end of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Events before it, all good.
    pub keep_events: u64,
    /// Its first line, counted from 1; the header is line 1.
    pub line: u64,
    /// Where it begins, in bytes from the start of the log.
    pub byte: u64,
    /// What is wrong with its first line.
    pub reason: Reason,
    /// How long it is.
    pub bytes: u64,
    /// Events in it that can be read.
    pub events: u64,
}

/// A log that was taken in.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Everything before the cut.
    pub session: Session,
    /// What has to go before more can be appended.
    pub cut: Option<Cut>,
}

impl Loader {
    /// Starts behind a header line of `header_bytes` bytes, its newline included.
    pub fn new(header: Header, header_bytes: u64) -> Loader {
        let session = Session::unchecked(header);
        let (broken_rule, bad) = (None, None);
        Loader {
            session,
            next_seq: 0,
            line: 2,
            byte: header_bytes,
            is_torn: false,
            broken_rule,
            bad,
        }
    }

    /// Holds other limits against the log; the usual ones until then.
    pub fn set_limits(&mut self, limits: Limits) {
        self.session.set_limits(limits);
    }

    /// What was kept so far.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Whether the log is longer than can be held, so that more of it need not be read: [`Loader::finish`] will say so.
    pub fn is_full(&self) -> bool {
        let is_limit = |fault: &Fault| fault.class == Class::Limit;
        self.broken_rule.as_ref().is_some_and(is_limit)
    }

    /// Takes lines, each ended by a newline; a last one without is torn. A `String` is taken over, anything else copied.
    /// `at_byte`: where they begin on the medium, none where they follow on what came before.
    pub fn lines(&mut self, text: impl Into<String>, at_byte: Option<u64>) {
        let text = Arc::new(text.into());
        self.byte = at_byte.unwrap_or(self.byte);
        // Lines are kept up to the first one that is not, so they are taken over all at once.
        if self.bad.is_none() && self.broken_rule.is_none() {
            self.session.begin_ahead(&text);
        }
        let ends_whole = text.ends_with('\n');
        let mut rest = text.len();
        for (length, from) in line_lengths(&text) {
            rest = rest.saturating_sub(length + 1);
            let has_newline = rest > 0 || ends_whole;
            if self.begins_line(has_newline) {
                self.take_line(from, length);
            }
            self.advance(length, has_newline);
        }
        drop(text);
        self.session.end_ahead();
    }

    /// Takes bytes that are no whole lines of UTF-8: a torn end, or lines with something else in them.
    pub fn raw(&mut self, bytes: &[u8], at_byte: Option<u64>) {
        self.byte = at_byte.unwrap_or(self.byte);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let line = piece.strip_suffix(b"\n");
            let body = line.unwrap_or(piece);
            if self.begins_line(line.is_some()) {
                match std::str::from_utf8(body) {
                    Ok(text) => self.take_line(text, text.len()),
                    Err(_) => self.take_unreadable(body),
                }
            }
            self.advance(body.len(), line.is_some());
        }
    }

    /// The session, and what has to be cut from the end of its log.
    ///
    /// Fails with class `Corrupt` and the facts `line` and `byte`: where the header breaks a rule, then with `log-corrupt-unparsable` or
    /// `log-corrupt-seq-gap` for a bad line at or before the last `turn/end`, else with the reason of the first event
    /// that breaks a rule for seeds. Fails with class `Limit` where the log or a line of it is too long.
    pub fn finish(self) -> Result<Loaded, Fault> {
        self.session
            .header()
            .check()
            .map_err(|fault| fault.corrupt(1, 0))?;
        let cut = match self.bad {
            Some(bad) if bad.is_finished => return Err(bad.fault.corrupt(bad.line, bad.byte)),
            Some(bad) => Some(Cut {
                keep_events: self.session.next_seq(),
                line: bad.line,
                byte: bad.byte,
                reason: bad.fault.reason,
                bytes: self.byte.saturating_sub(bad.byte),
                events: bad.events,
            }),
            None => None,
        };
        match self.broken_rule {
            Some(fault) => Err(fault),
            None => Ok(Loaded {
                session: self.session,
                cut,
            }),
        }
    }

    /// Whether what comes next is a whole line. A line without its newline is bad, and so is what comes behind it up to
    /// the newline.
    fn begins_line(&mut self, has_newline: bool) -> bool {
        let continues_torn = std::mem::replace(&mut self.is_torn, !has_newline);
        if !continues_torn && !has_newline {
            let message = "the last line has no newline";
            self.judge_bad(Fault::new(Reason::LogCorruptUnparsable, message), false, 0);
        }
        !continues_torn && has_newline
    }

    fn advance(&mut self, length: usize, has_newline: bool) {
        // what `at_byte` says is a backend's word
        self.byte = self
            .byte
            .saturating_add(length as u64 + u64::from(has_newline));
        self.line += u64::from(has_newline);
    }

    fn take_unreadable(&mut self, line: &[u8]) {
        // A reader that replaces bad bytes would see the end of a turn here, so it counts as one.
        let ends_turn =
            Envelope::read(&String::from_utf8_lossy(line)).is_ok_and(|line| line.is_type(TURN_END));
        let message = "the line is no UTF-8";
        self.judge_bad(
            Fault::new(Reason::LogCorruptUnparsable, message),
            ends_turn,
            0,
        );
    }

    /// A line, the first `length` bytes of a text.
    fn take_line(&mut self, from: &str, length: usize) {
        let text = from.get(..length).unwrap_or_default();
        if let Some(row) = Row::read_canonical_in(from, length) {
            return self.take_row(text, &row, None);
        }
        if let Some((seq, time_ms)) = read_delta_in(from, length)
            && self.bad.is_none()
            && seq == self.next_seq
        {
            return self.keep(1, |session| session.push_delta(text, time_ms));
        }
        let mut envelope = Envelope::unread();
        if let Err(fault) = envelope.fill(from, length) {
            let message = format!("the line is {fault}");
            return self.judge_bad(Fault::new(Reason::LogCorruptUnparsable, message), false, 0);
        }
        if is_row(&envelope) {
            return match Row::read(envelope.value) {
                Ok(row) => self.take_row(text, &row, Some(&envelope)),
                Err(fault) => self.judge_bad(malformed(fault), false, 0),
            };
        }
        let seq = envelope.seq_value();
        if self.bad.is_some() || seq != Some(self.next_seq) {
            let actual = envelope.seq.map_or("none", Value::text);
            let fault = seq_gap(self.next_seq, actual);
            return self.judge_bad(fault, envelope.is_type(TURN_END), u64::from(seq.is_some()));
        }
        self.keep(1, |session| session.push_event(text, &envelope));
    }

    /// A row; with its envelope when it is spelled in an unusual way, which may hide a number that is not lossless.
    fn take_row(&mut self, text: &str, row: &Row<'_>, envelope: Option<&Envelope<'_>>) {
        if self.bad.is_some() || row.seq0 != self.next_seq {
            return self.judge_bad(
                seq_gap(self.next_seq, &row.seq0.to_string()),
                false,
                row.count,
            );
        }
        self.keep(row.count, |session| match envelope {
            None => session.push_row(text, row),
            Some(envelope) => session.push_envelope(text, envelope),
        });
    }

    fn keep(&mut self, count: u64, push: impl FnOnce(&mut Session) -> Result<(), Fault>) {
        self.next_seq += count;
        if self.broken_rule.is_none() {
            self.broken_rule = push(&mut self.session)
                .err()
                .map(|fault| fault.corrupt(self.line, self.byte));
        }
    }

    /// A bad line, with the number of events that can be read from it. What is wrong with the first one counts.
    fn judge_bad(&mut self, fault: Fault, ends_turn: bool, events: u64) {
        let (line, byte) = (self.line, self.byte);
        let bad = self.bad.get_or_insert(Bad {
            fault,
            line,
            byte,
            events: 0,
            is_finished: false,
        });
        bad.events += events;
        bad.is_finished |= ends_turn;
    }
}

fn malformed(row: Fault) -> Fault {
    Fault::new(Reason::LogCorruptUnparsable, row.message).text("row", row.reason.label())
}

fn seq_gap(expected: u64, actual: &str) -> Fault {
    let message = format!(
        "the line has seq {}, and {expected} was due",
        shown_value(actual)
    );
    Fault::new(Reason::LogCorruptSeqGap, message)
        .number("expected", expected)
        .text("actual", actual)
}
