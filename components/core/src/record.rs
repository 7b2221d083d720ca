//! One stored line: an event, or a packed row that stands for several. With the header line this is all that a
//! backend knows of a log.

use crate::chunk_rows::{self, Row};
use crate::event::{Envelope, TURN_END};
use crate::fault::{Fault, Reason};
use crate::sealed;

/// The longest stored line, in bytes, its newline included: an event or a packed row. A line is read, judged and handed
/// over whole, so several copies of it stand in memory for a while.
pub const RECORD_BYTES_MAX: u64 = 256 << 20;

/// What a stored line says of its place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Seq of its first event.
    pub first_seq: u64,
    /// How many events it stands for, at least 1.
    pub count: u64,
    /// Time of its last event in milliseconds; 0 when that is no time.
    pub last_time_ms: u64,
    /// Whether it is a packed row, sealed or not.
    pub is_row: bool,
    /// Whether it is a `turn/end`.
    pub ends_turn: bool,
}

/// A stored line, read once.
#[derive(Clone, Debug)]
pub enum Line<'a> {
    /// Anything that is no row, not judged yet.
    Event(Envelope<'a>),
    /// A well-formed row.
    Row(Row<'a>),
}

/// Reads one line, its newline excluded, in one pass.
///
/// `log-corrupt-unparsable`: it is no JSON, or tagged as a row and malformed (the row's own reason is a fact `row`).
pub fn read_line(line: &str) -> Result<Line<'_>, Fault> {
    if let Some(row) = Row::read_canonical(line) {
        return Ok(Line::Row(row));
    }
    let envelope = Envelope::read(line).map_err(|fault| {
        Fault::new(Reason::LogCorruptUnparsable, format!("the line is {fault}"))
    })?;
    if !chunk_rows::is_row(&envelope) {
        return Ok(Line::Event(envelope));
    }
    Row::read(envelope.value).map(Line::Row).map_err(|fault| {
        Fault::new(Reason::LogCorruptUnparsable, fault.message).text("row", fault.reason.label())
    })
}

/// Reads one line as a backend does: it must parse and have a place in the log; nothing else is judged.
///
/// `log-corrupt-unparsable` as [`read_line`], and a sealed row without a count; `log-corrupt-seq-gap`: an event without a
/// seq.
pub fn read_record(line: &str) -> Result<Record, Fault> {
    match read_line(line)? {
        Line::Row(row) => Ok(Record {
            first_seq: row.seq0,
            count: row.count,
            last_time_ms: u64::try_from(row.last_time_ms).unwrap_or(0),
            is_row: true,
            ends_turn: false,
        }),
        Line::Event(envelope) => {
            let Some(first_seq) = envelope.seq_value() else {
                return Err(Fault::new(Reason::LogCorruptSeqGap, "the line has no seq"));
            };
            let is_row = envelope.is_type(sealed::SEALED_ROW);
            let count = match is_row {
                false => 1,
                true => sealed::count_of_row(envelope.value, first_seq).ok_or_else(|| {
                    let message = "the line is a sealed row without a count of events";
                    Fault::new(Reason::LogCorruptUnparsable, message)
                })?,
            };
            Ok(Record {
                first_seq,
                count,
                last_time_ms: envelope.time_ms().unwrap_or(0),
                is_row,
                ends_turn: envelope.is_type(TURN_END),
            })
        }
    }
}
