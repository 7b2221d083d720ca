//! Bytes become records and damage, in the order of the file.

use std::ops::Range;

use super::judge::{Judged, judge};
use super::shards::objects;
use super::torn_row::leading_events;
use super::{MISPLACED, UNREADABLE};
use crate::fault::{Fault, Reason};

/// A record or a damaged stretch.
#[derive(Debug)]
pub(super) enum Item {
    Record(Record),
    Damage(Damage),
}

/// Where something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    /// Counted from 1; in bytes that were cut, from the first of these.
    pub(super) line: u64,
    /// From the start of the log.
    pub(super) byte: u64,
    pub(super) part: Part,
}

/// Which bytes something stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The line that should be the header.
    First,
    Log,
    /// What was cut from the end of the log and nothing followed there.
    End,
    /// What was cut before the log went on.
    Past,
}

impl Part {
    pub(super) fn is_cut(self) -> bool {
        matches!(self, Part::End | Part::Past)
    }
}

/// One readable record.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) at: At,
    /// As it stands, without its newline.
    pub(super) text: Box<str>,
    pub(super) seq: u64,
    pub(super) count: u64,
    /// Of its first event.
    pub(super) time_ms: u64,
    /// Why it can stand nowhere.
    pub(super) fault: Option<Box<Fault>>,
}

/// Bytes that are no record.
#[derive(Clone, Debug)]
pub(super) struct Damage {
    pub(super) at: At,
    /// With the newlines that end damaged lines; 0 where everything can be read.
    pub(super) length: u64,
    pub(super) what: What,
}

/// What is wrong with bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    NotJson,
    NotUtf8,
    Zeros,
    Blank,
    NoEvent,
    NoNewline,
    Fused,
}

impl What {
    pub(super) fn message(self) -> &'static str {
        match self {
            What::NotJson => "this is no whole JSON value",
            What::NotUtf8 => "this is no UTF-8",
            What::Zeros => "this is nothing but zeros",
            What::Blank => "the line is blank",
            What::NoEvent => "this is JSON, but no event",
            What::NoNewline => "the last line has no newline",
            What::Fused => "several records stand on one line",
        }
    }

    pub(super) fn reason(self) -> Reason {
        match self {
            What::NoEvent => MISPLACED,
            _ => UNREADABLE,
        }
    }
}

/// Takes bytes in and knows where it is.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) items: Vec<Item>,
    at: Option<At>,
    // A line whose newline has not come yet.
    begun: Vec<u8>,
    log_bytes: u64,
}

impl Lines {
    /// Behind a header line of that length.
    pub(super) fn start(&mut self, bytes: u64) {
        self.at = Some(At {
            line: 2,
            byte: bytes,
            part: Part::Log,
        });
    }

    /// A first line that is no header, or more than one.
    pub(super) fn first(&mut self, bytes: &[u8]) {
        self.at = Some(At {
            line: 1,
            byte: 0,
            part: Part::First,
        });
        self.pieces(bytes);
        self.end();
        self.start(bytes.len() as u64);
    }

    pub(super) fn take(&mut self, bytes: &[u8], at_byte: Option<u64>) {
        let mut at = self.at();
        if let Some(byte) = at_byte.filter(|_| self.begun.is_empty()) {
            at.byte = byte;
        }
        self.at = Some(at);
        self.pieces(bytes);
    }

    pub(super) fn take_cut(&mut self, bytes: &[u8], at_byte: Option<u64>) {
        let at = self.at();
        let here = at.byte.saturating_add(self.begun.len() as u64);
        if !at.part.is_cut() {
            self.end();
            self.log_bytes = here;
        }
        // Pages of one cut follow on each other, the next cut begins somewhere else.
        if !at.part.is_cut() || at_byte.is_some_and(|byte| byte != here) {
            self.end();
            let part = match at_byte {
                Some(byte) if byte >= self.log_bytes => Part::End,
                Some(_) | None => Part::Past,
            };
            let line = if at.part.is_cut() { self.at().line } else { 1 };
            let byte = at_byte.unwrap_or(0);
            self.at = Some(At { line, byte, part });
        }
        self.pieces(bytes);
    }

    /// Nothing more comes of the line that was begun.
    pub(super) fn end(&mut self) {
        if !self.begun.is_empty() {
            let begun = std::mem::take(&mut self.begun);
            self.line(&begun, false);
        }
    }

    fn at(&self) -> At {
        self.at.unwrap_or(At {
            line: 1,
            byte: 0,
            part: Part::Log,
        })
    }

    fn pieces(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(line) if self.begun.is_empty() => self.line(line, true),
                Some(line) => {
                    let mut begun = std::mem::take(&mut self.begun);
                    begun.extend_from_slice(line);
                    self.line(&begun, true);
                }
                None => self.begun.extend_from_slice(piece),
            }
        }
    }

    /// One line without its newline.
    fn line(&mut self, bytes: &[u8], has_newline: bool) {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text(text, has_newline),
            Err(_) => {
                self.broken(bytes, u64::from(has_newline));
            }
        }
        let is_whole = matches!(self.items.last(), Some(Item::Record(_)));
        if !has_newline && is_whole && self.at().part != Part::First {
            self.damage(bytes.len(), 0, What::NoNewline);
        }
        let mut at = self.at();
        at.byte = at
            .byte
            .saturating_add(bytes.len() as u64 + u64::from(has_newline));
        at.line += u64::from(has_newline);
        self.at = Some(at);
    }

    fn text(&mut self, text: &str, has_newline: bool) {
        let length = text.len() as u64 + u64::from(has_newline);
        match judge(text) {
            _ if text
                .bytes()
                .all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) =>
            {
                self.damage(0, length, What::Blank);
            }
            Judged::NotJson => self.broken(text.as_bytes(), u64::from(has_newline)),
            Judged::NoEvent => self.damage(0, length, What::NoEvent),
            judged => self.record(0, text, judged),
        }
    }

    /// A line that is no JSON, or no UTF-8: the records in it, and what is between them.
    fn broken(&mut self, bytes: &[u8], newline: u64) {
        let before = self.items.len();
        let (mut at, mut is_damaged) = (0, false);
        for chunk in bytes.utf8_chunks() {
            let text = chunk.valid();
            let mut done = 0;
            for range in objects(text) {
                let object = text.get(range.clone()).unwrap_or_default();
                let judged = judge(object);
                if !matches!(judged, Judged::Record { fault: None, .. } | Judged::Header) {
                    continue;
                }
                is_damaged |= self.rest(at, text, done..range.start, 0);
                self.record(at + range.start, object, judged);
                done = range.end;
            }
            let invalid = chunk.invalid().len() as u64;
            let is_last = at + text.len() + chunk.invalid().len() == bytes.len();
            let own_newline = if is_last && invalid == 0 { newline } else { 0 };
            is_damaged |= self.rest(at, text, done..text.len(), own_newline);
            at += text.len();
            if invalid > 0 {
                let ends = if is_last { newline } else { 0 };
                self.damage(at, invalid + ends, What::NotUtf8);
                is_damaged = true;
            }
            at += chunk.invalid().len();
        }
        if !is_damaged && self.items.len() > before + 1 {
            self.damage(0, 0, What::Fused);
        }
    }

    /// What no whole record was found in; whether anything is damaged there.
    fn rest(&mut self, base: usize, text: &str, range: Range<usize>, newline: u64) -> bool {
        let part = text.get(range.clone()).unwrap_or_default();
        if part.trim_ascii().is_empty() {
            return false;
        }
        let start = base + range.start;
        let row_at = part.find("{\"type\":").unwrap_or(0);
        if let Some((row, length)) = part.get(row_at..).and_then(leading_events) {
            if row_at > 0 {
                self.damage(start, row_at as u64, What::NotJson);
            }
            self.record(start + row_at, &row, judge(&row));
            let gone = part.len() - row_at - length;
            self.damage(
                start + row_at + length,
                gone as u64 + newline,
                What::NotJson,
            );
            return true;
        }
        let is_zeros = part.bytes().all(|byte| byte == 0);
        let what = if is_zeros { What::Zeros } else { What::NotJson };
        self.damage(start, part.len() as u64 + newline, what);
        true
    }

    fn damage(&mut self, offset: usize, length: u64, what: What) {
        let mut at = self.at();
        at.byte = at.byte.saturating_add(offset as u64);
        if let Some(Item::Damage(last)) = self.items.last_mut()
            && (last.what, last.at.part) == (what, at.part)
            && length > 0
            && last.at.byte.saturating_add(last.length) == at.byte
        {
            last.length += length;
            return;
        }
        self.items.push(Item::Damage(Damage { at, length, what }));
    }

    fn record(&mut self, offset: usize, text: &str, judged: Judged) {
        let mut at = self.at();
        at.byte = at.byte.saturating_add(offset as u64);
        let (seq, count, time_ms, fault) = match judged {
            Judged::Record {
                seq,
                count,
                time_ms,
                fault,
            } => (seq, count, time_ms, fault),
            // the header itself, which was read
            _ if at.part == Part::First => return,
            _ => {
                let message = "a header stands in the middle of a log";
                (0, 0, 0, Some(Fault::new(MISPLACED, message)))
            }
        };
        self.items.push(Item::Record(Record {
            at,
            text: text.into(),
            seq,
            count,
            time_ms,
            fault: fault.map(Box::new),
        }));
    }
}
