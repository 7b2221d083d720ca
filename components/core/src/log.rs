//! The log in memory: its bytes, and an index over them.
//!
//! Bytes stand in chunks that never move or grow past their first size, so that adding a line copies nothing but the
//! line; what is loaded is not copied at all, its pages become chunks. The index holds per stored line where it begins, which seq it begins at and what it is good for; packed rows
//! stay packed. Nothing is parsed here.

mod ahead;
mod limits;

use std::borrow::Cow;

use crate::fault::Fault;
use ahead::Ahead;
use limits::check_limit;

pub use limits::{LOG_BYTES_MAX, Limits, check_room};
pub(crate) use limits::{ask_room, no_memory};

const CHUNK_BYTES_MIN: usize = 4 << 10;
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// Stored lines with their index.
#[derive(Clone, Debug, Default)]
pub struct Log {
    limits: Limits,
    chunks: Vec<String>,
    records: Vec<Entry>,
    next_seq: u64,
    last_time_ms: u64,
    bytes: usize,
    ahead: Option<Ahead>,
}

/// What a stored line is good for, as far as this is asked often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A `turn/start`.
    TurnStart,
    /// A `turn/end`.
    TurnEnd,
    /// An event that may stand on the surface.
    Message,
    /// A packed row: several events.
    Row,
    /// Any other event.
    Other,
}

impl Kind {
    /// The kind of an event of that type.
    pub fn of(event_type: &str) -> Kind {
        match event_type {
            "turn/start" => Kind::TurnStart,
            "turn/end" => Kind::TurnEnd,
            _ if crate::event::is_surface_eligible_type(event_type) => Kind::Message,
            _ => Kind::Other,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    first_seq: u64,
    start: usize,
    chunk: u32,
    kind: Kind,
}

/// One stored line, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Seq of its first event.
    pub first_seq: u64,
    /// How many events it stands for.
    pub count: u64,
    /// What it is good for.
    pub kind: Kind,
    /// The line without its newline, byte for byte.
    pub text: &'a str,
}

/// A state of a log to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    chunks: usize,
    last_chunk_bytes: usize,
    records: usize,
    next_seq: u64,
    last_time_ms: u64,
    bytes: usize,
}

impl Log {
    /// The seq of the next event, which is the number of events.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// The time of the last event in milliseconds; 0 when there is none.
    pub fn last_time_ms(&self) -> u64 {
        self.last_time_ms
    }

    /// Bytes of all lines, newlines included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds other limits against the lines to come.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Whether so many bytes more are within the limit of the log. Fails with `limit-reached`.
    pub(crate) fn check_room_for(&self, bytes: usize) -> Result<(), Fault> {
        let needed = self.bytes.saturating_add(bytes);
        check_limit("log-bytes-max", needed, self.limits.log_bytes_max)
    }

    /// Adds a line, without its newline, that stands for the next `count` events.
    ///
    /// Fails with `limit-reached` when the line or the log would be longer than its [`Limits`], or when there
    /// is no memory for it; the log is as before then.
    pub fn push(
        &mut self,
        line: &str,
        kind: Kind,
        count: u64,
        last_time_ms: u64,
    ) -> Result<(), Fault> {
        let copy = |out: &mut String| out.push_str(line);
        self.push_written(line.len(), kind, count, last_time_ms, copy)
    }

    /// Like [`Log::push`], of a line of exactly so many bytes that is written where it will stand; not while lines are
    /// ahead, which stand there already.
    #[inline]
    pub(crate) fn push_written(
        &mut self,
        bytes: usize,
        kind: Kind,
        count: u64,
        last_time_ms: u64,
        write: impl FnOnce(&mut String),
    ) -> Result<(), Fault> {
        let needed = bytes + 1;
        check_limit("line-bytes-max", needed, self.limits.line_bytes_max)?;
        check_limit(
            "log-bytes-max",
            self.bytes + needed,
            self.limits.log_bytes_max,
        )?;
        self.records.try_reserve(1).map_err(|_| no_memory(needed))?;
        let (start, chunk) = match &mut self.ahead {
            Some(ahead) => (ahead.take(needed), self.chunks.len()),
            None => {
                let chunk = self.chunk_with_room(needed)?;
                let start = chunk.len();
                write(chunk);
                chunk.push('\n');
                debug_assert_eq!(chunk.len() - start, needed);
                (start, self.chunks.len() - 1)
            }
        };
        let chunk = u32::try_from(chunk).map_err(|_| no_memory(needed))?;
        self.records.push(Entry {
            first_seq: self.next_seq,
            start,
            chunk,
            kind,
        });
        self.bytes += needed;
        self.next_seq += count;
        self.last_time_ms = last_time_ms;
        Ok(())
    }

    /// The last chunk, or a new one where it has no room for so many bytes.
    #[inline]
    fn chunk_with_room(&mut self, needed: usize) -> Result<&mut String, Fault> {
        let free = |chunk: &String| chunk.capacity() - chunk.len();
        if self.chunks.last().map_or(0, free) < needed {
            self.begin_chunk(needed)?;
        }
        self.chunks.last_mut().ok_or_else(|| no_memory(needed))
    }

    #[cold]
    fn begin_chunk(&mut self, needed: usize) -> Result<(), Fault> {
        let size = self.bytes.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        let mut chunk = String::new();
        chunk
            .try_reserve_exact(size.max(needed))
            .map_err(|_| no_memory(needed))?;
        self.chunks.push(chunk);
        Ok(())
    }

    /// How many lines there are.
    pub fn record_count(&self) -> usize {
        self.records.len()
    }

    /// The line at a position among the lines.
    pub fn record(&self, position: usize) -> Option<Line<'_>> {
        let entry = self.records.get(position)?;
        let next = self.records.get(position + 1);
        let next_seq = next.map_or(self.next_seq, |next| next.first_seq);
        let chunk = self.chunk(entry.chunk)?;
        let end = next
            .filter(|next| next.chunk == entry.chunk)
            .map_or(chunk.len(), |next| next.start);
        let text = chunk.get(entry.start..end.saturating_sub(1))?;
        Some(Line {
            first_seq: entry.first_seq,
            count: next_seq - entry.first_seq,
            kind: entry.kind,
            text,
        })
    }

    /// Lines from a position on.
    pub fn records_from(&self, position: usize) -> impl Iterator<Item = Line<'_>> {
        (position..self.records.len()).map_while(|position| self.record(position))
    }

    /// The position of the line that holds an event; none past the end.
    pub fn position(&self, seq: u64) -> Option<usize> {
        if seq >= self.next_seq {
            return None;
        }
        self.records
            .partition_point(|entry| entry.first_seq <= seq)
            .checked_sub(1)
    }

    /// The line of an event that has one for itself.
    pub fn line(&self, seq: u64) -> Option<&str> {
        let record = self.record(self.position(seq)?)?;
        (record.kind != Kind::Row).then_some(record.text)
    }

    /// The position of the last line of one of these kinds.
    pub fn last_of(&self, kinds: &[Kind]) -> Option<usize> {
        self.records
            .iter()
            .rposition(|entry| kinds.contains(&entry.kind))
    }

    /// The bytes of the lines from one position up to another, newlines included; borrowed where they stand together.
    pub fn text(&self, from: usize, to: usize) -> Cow<'_, str> {
        let mut pieces = self.pieces(from, to);
        let (first, second) = (pieces.next().unwrap_or_default(), pieces.next());
        let Some(second) = second else {
            return Cow::Borrowed(first);
        };
        let mut out = String::with_capacity(self.bytes_between(from, to));
        out.push_str(first);
        out.push_str(second);
        out.extend(pieces);
        Cow::Owned(out)
    }

    /// A copy of what [`Log::text`] gives, `bytes` long. Fails with `limit-reached` where there is no memory for
    /// it.
    pub(crate) fn copied(&self, from: usize, to: usize, bytes: usize) -> Result<String, Fault> {
        let mut copy = String::new();
        copy.try_reserve_exact(bytes)
            .map_err(|_| no_memory(bytes))?;
        copy.extend(self.pieces(from, to));
        Ok(copy)
    }

    /// The bytes of the lines from one position up to another, as they stand in each chunk.
    fn pieces(&self, from: usize, to: usize) -> impl Iterator<Item = &str> {
        let place = |position: usize| {
            self.records
                .get(position)
                .map(|entry| (entry.chunk, entry.start))
        };
        let begin = place(from).filter(|_| from < to);
        let (first, start) = begin.unwrap_or_default();
        let chunk_count = (self.chunks.len() + usize::from(self.ahead.is_some())) as u32;
        let (last, end) = place(to).map_or((chunk_count, None), |(last, end)| (last, Some(end)));
        let chunks = if begin.is_some() {
            first..chunk_count.min(last + 1)
        } else {
            0..0
        };
        let pieces = chunks.map(move |chunk| {
            let text = self.chunk(chunk).unwrap_or_default();
            let start = if chunk == first { start } else { 0 };
            let end = end.filter(|_| chunk == last).unwrap_or(text.len());
            text.get(start..end).unwrap_or_default()
        });
        // lines may end where a chunk does
        pieces.filter(|piece| !piece.is_empty())
    }

    /// The present state.
    pub fn mark(&self) -> Mark {
        Mark {
            chunks: self.chunks.len(),
            last_chunk_bytes: self.chunks.last().map_or(0, String::len),
            records: self.records.len(),
            next_seq: self.next_seq,
            last_time_ms: self.last_time_ms,
            bytes: self.bytes,
        }
    }

    /// Drops everything added since `mark`.
    pub fn rewind(&mut self, mark: Mark) {
        self.chunks.truncate(mark.chunks);
        if let Some(last) = self.chunks.last_mut() {
            last.truncate(mark.last_chunk_bytes);
        }
        self.records.truncate(mark.records);
        self.next_seq = mark.next_seq;
        self.last_time_ms = mark.last_time_ms;
        self.bytes = mark.bytes;
    }

    /// The chunk that holds the line at a position. What stands in a chunk stays where it is for as long as the line is
    /// there.
    pub(crate) fn chunk_of(&self, position: usize) -> Option<u32> {
        self.records.get(position).map(|entry| entry.chunk)
    }

    /// The text of a chunk.
    pub(crate) fn chunk(&self, chunk: u32) -> Option<&str> {
        match self.chunks.get(chunk as usize) {
            Some(text) => Some(text),
            None => self.ahead.as_ref().map(Ahead::added),
        }
    }

    /// Bytes of the lines from one position up to another.
    pub(crate) fn bytes_between(&self, from: usize, to: usize) -> usize {
        self.pieces(from, to).map(str::len).sum()
    }
}
