//! Reading: a log a bounded page at a time.

use std::io::ErrorKind;

use annals_core::fault::quoted;
use annals_core::header::Header;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Page};

use crate::RECORD_BYTES_MAX;
use crate::fault;
use crate::files::{Handle, Mode};
use crate::lines::{self, FirstLine};
use crate::root::Root;

/// The most that one page holds, unless one record is longer.
pub const PAGE_BYTES_MAX: u64 = 16 << 20;

/// Pages up to this length, which the store asks for, are read into memory that stays: asking for it, filling it with
/// zeros and checking the text where it will stay takes longer than a copy.
const PAGE_BYTES_KEPT: u64 = 1 << 20;

impl Root {
    /// Reads a page of the log from `cursor`, a byte offset.
    pub fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let relative = self.place_of(id)?.log();
        let mut log = match self.files.open(&self.path(&relative), Mode::Read) {
            Ok(log) => log,
            // deleted meanwhile
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(Error::not_found(id)),
            Err(error) => return Err(fault::of_reading(&relative, &error)),
        };
        let failed = |error| fault::of_reading(&relative, &error);
        let end = log.bytes().map_err(failed)?;
        // one byte more than there is shows the end, and a short log needs no long buffer
        let budget = u64::from(bytes_max).clamp(1, PAGE_BYTES_MAX).min(end + 1);
        if cursor > 0 {
            return if cursor < end && is_line_start(log.as_mut(), cursor).map_err(failed)? {
                self.page_at(log.as_mut(), cursor, budget, end, &relative)
            } else {
                Err(stale(id, cursor))
            };
        }
        let line = match lines::first_line(log.as_mut()).map_err(failed)? {
            FirstLine::None => Vec::new(),
            FirstLine::Torn(bytes) => bytes,
            FirstLine::Longer => read_records(log.as_mut(), 0, 1, &relative)?,
            FirstLine::Whole(line) => {
                if let Some(header) =
                    lines::text_of(&line).and_then(|text| Header::parse_line(text).ok())
                {
                    let at = line.len() as u64;
                    let records = self.page_at(log.as_mut(), at, budget, end, &relative)?;
                    return Ok(Page {
                        header: Some(header.into()),
                        ..records
                    });
                }
                line
            }
        };
        // not a header: the store says what it is
        Ok(raw_page(line, 0, end))
    }

    /// A page of the records from `at` on, of a log of length `end`.
    fn page_at(
        &mut self,
        log: &mut dyn Handle,
        at: u64,
        budget: u64,
        end: u64,
        relative: &str,
    ) -> Result<Page> {
        let failed = |error| fault::of_reading(relative, &error);
        if budget > PAGE_BYTES_KEPT {
            return Ok(page(read_records(log, at, budget, relative)?, at, end));
        }
        let first = self.first_bytes(log, at, budget).map_err(failed)?;
        // whole lines of UTF-8: what logs are made of
        let whole = memchr::memrchr(b'\n', first).and_then(|found| first.get(..=found));
        if let Some(lines) = whole.and_then(|whole| simdutf8::basic::from_utf8(whole).ok()) {
            return Ok(lines_page(lines.to_owned(), at, end));
        }
        let records = records_after(first.to_vec(), log, at, budget, relative)?;
        Ok(page(records, at, end))
    }

    /// What is within the budget, in memory that stays.
    fn first_bytes(
        &mut self,
        log: &mut dyn Handle,
        at: u64,
        budget: u64,
    ) -> std::io::Result<&[u8]> {
        let count = lines::usize_of(budget);
        if self.page_buffer.len() < count {
            self.page_buffer.resize(count, 0);
        }
        let bytes = self.page_buffer.get_mut(..count).unwrap_or_default();
        let read = log.read_at(at, bytes)?;
        Ok(bytes.get(..read).unwrap_or_default())
    }
}

fn is_line_start(log: &mut dyn Handle, cursor: u64) -> std::io::Result<bool> {
    let mut before = [0];
    log.read_at(cursor - 1, &mut before)?;
    Ok(before == [b'\n'])
}

/// About `budget` bytes from `from`, more where the first record is longer. Ends in the middle of a line only where
/// the log does.
fn read_records(log: &mut dyn Handle, from: u64, budget: u64, relative: &str) -> Result<Vec<u8>> {
    let mut first = Vec::new();
    lines::read_more(log, from, lines::usize_of(budget), &mut first)
        .map_err(|error| fault::of_reading(relative, &error))?;
    records_after(first, log, from, budget, relative)
}

/// Like [`read_records`], where what is within the budget was read already.
fn records_after(
    first: Vec<u8>,
    log: &mut dyn Handle,
    from: u64,
    budget: u64,
    relative: &str,
) -> Result<Vec<u8>> {
    let mut bytes = first;
    let mut piece = lines::usize_of(budget);
    let (mut have, mut read) = (0, bytes.len());
    loop {
        let new = bytes.get(have..).unwrap_or_default();
        // within the budget as many records as there are, beyond it no more than one
        let found = if have == 0 && read == piece {
            memchr::memrchr(b'\n', new)
        } else if have > 0 {
            memchr::memchr(b'\n', new)
        } else {
            None
        };
        if let Some(found) = found {
            bytes.truncate(have + found + 1);
            return Ok(bytes);
        }
        if read < piece {
            return Ok(bytes);
        }
        let length = bytes.len() as u64;
        if length > RECORD_BYTES_MAX {
            return Err(fault::of_limit(
                "record-bytes-max",
                "a record",
                length,
                RECORD_BYTES_MAX,
            ));
        }
        (have, piece) = (bytes.len(), bytes.len());
        read = lines::read_more(log, from + have as u64, piece, &mut bytes)
            .map_err(|error| fault::of_reading(relative, &error))?;
    }
}

// Whole UTF-8 lines come together, anything else alone.
fn page(mut bytes: Vec<u8>, at: u64, end: u64) -> Page {
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |found| found + 1);
    if whole == 0 && !bytes.is_empty() {
        return raw_page(bytes, at, end);
    }
    bytes.truncate(whole);
    let (bytes, valid) = match String::from_utf8(bytes) {
        Ok(lines) => return lines_page(lines, at, end),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            (error.into_bytes(), valid)
        }
    };
    let head = bytes.get(..valid).unwrap_or_default();
    let start = memchr::memrchr(b'\n', head).map_or(0, |found| found + 1);
    if start > 0 {
        let lines = String::from_utf8_lossy(head.get(..start).unwrap_or_default());
        return lines_page(lines.into_owned(), at, end);
    }
    // with the unreadable lines right after it: a page costs a read however little it holds
    let mut length = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if length > 0 && std::str::from_utf8(line).is_ok() {
            break;
        }
        length += line.len();
    }
    let mut unreadable = bytes;
    unreadable.truncate(length);
    raw_page(unreadable, at, end)
}

fn lines_page(lines: String, at: u64, end: u64) -> Page {
    let next = at + lines.len() as u64;
    Page {
        header: None,
        at_byte: Some(at),
        lines,
        raw: None,
        next: (next < end).then_some(next),
    }
}

fn raw_page(raw: Vec<u8>, at: u64, end: u64) -> Page {
    let next = at + raw.len() as u64;
    Page {
        header: None,
        at_byte: Some(at),
        lines: String::new(),
        raw: Some(raw),
        next: (next < end).then_some(next),
    }
}

/// A cursor that no page gave, or into a log that shrank since.
pub(crate) fn stale(id: &str, cursor: u64) -> Error {
    let message = format!(
        "no record of session {} begins at byte {cursor} any more; read it from the start again",
        quoted(id)
    );
    Error::new(ErrorCode::Invalid, "cursor-stale", message)
        .fact("id", id)
        .fact("cursor", cursor)
}
