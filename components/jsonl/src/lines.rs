//! Lines of a log, found from its ends or one after the other, in bounded memory and with few reads.

use std::io;

use crate::RECORD_BYTES_MAX;
use crate::files::Handle;

/// A header line longer than this is none.
pub const HEADER_BYTES_MAX: u64 = 16 << 20;

/// The first piece read of a log: most headers fit, and many whole logs do.
pub const HEAD_BYTES: usize = 8 << 10;

/// The first piece read of a log's end.
const TAIL_BYTES: u64 = 16 << 10;

/// How much a walk over the lines reads at a time.
const WALK_BYTES: usize = 256 << 10;

/// The first line of a log.
pub enum FirstLine {
    /// The file is empty.
    None,
    /// There is no newline; all that there is.
    Torn(Vec<u8>),
    /// The line with its newline.
    Whole(Vec<u8>),
    /// The line is longer than [`HEADER_BYTES_MAX`].
    Longer,
}

/// Reads the first line and little more.
pub fn first_line(log: &mut dyn Handle) -> io::Result<FirstLine> {
    let mut bytes = Vec::new();
    let mut piece = HEAD_BYTES;
    loop {
        let searched = bytes.len();
        let read = read_more(log, searched as u64, piece, &mut bytes)?;
        if let Some(found) = memchr::memchr(b'\n', bytes.get(searched..).unwrap_or_default()) {
            bytes.truncate(searched + found + 1);
            return Ok(FirstLine::Whole(bytes));
        }
        if read < piece {
            let is_empty = bytes.is_empty();
            return Ok(if is_empty {
                FirstLine::None
            } else {
                FirstLine::Torn(bytes)
            });
        }
        if bytes.len() as u64 >= HEADER_BYTES_MAX {
            return Ok(FirstLine::Longer);
        }
        piece = bytes.len();
    }
}

/// The last line of a log.
pub enum LastLine {
    /// The file is empty.
    None,
    /// The file does not end in a newline.
    Torn,
    /// The line with its newline, and where it begins.
    Whole {
        /// In bytes from the log's start.
        start: u64,
        /// The line.
        line: Vec<u8>,
    },
    /// The line is longer than what was asked for.
    Longer,
}

/// Reads the last line of a log of length `end`, looking at most `bytes_max` bytes back.
pub fn last_line(log: &mut dyn Handle, end: u64, bytes_max: u64) -> io::Result<LastLine> {
    if end == 0 {
        return Ok(LastLine::None);
    }
    // grows backwards: what was read stays the end of what is read next
    let mut tail: Vec<u8> = Vec::new();
    let mut piece = TAIL_BYTES;
    loop {
        let have = tail.len() as u64;
        let start = end.saturating_sub((have + piece).min(bytes_max));
        let mut bytes = Vec::with_capacity(usize_of(end - start));
        read_more(log, start, usize_of(end - start - have), &mut bytes)?;
        bytes.extend_from_slice(&tail);
        tail = bytes;
        if let Some(last) = last_in(&tail, start) {
            return Ok(last);
        }
        if tail.len() as u64 >= bytes_max {
            return Ok(LastLine::Longer);
        }
        piece = tail.len() as u64;
    }
}

// None where the line begins before `tail`, which begins at `start`.
fn last_in(tail: &[u8], start: u64) -> Option<LastLine> {
    let Some((b'\n', body)) = tail.split_last() else {
        return Some(LastLine::Torn);
    };
    let length = match memchr::memrchr(b'\n', body) {
        Some(found) => found + 1,
        None if start == 0 => 0,
        None => return None,
    };
    let line = tail.get(length..).unwrap_or_default().to_vec();
    Some(LastLine::Whole {
        start: start + length as u64,
        line,
    })
}

/// Both ends of a log, a short one read at once: see [`first_line`] and [`last_line`].
pub fn ends(log: &mut dyn Handle, bytes_max: u64) -> io::Result<(FirstLine, LastLine)> {
    let end = log.bytes()?;
    if end == 0 {
        return Ok((FirstLine::None, LastLine::None));
    }
    if end > HEAD_BYTES as u64 {
        return Ok((first_line(log)?, last_line(log, end, bytes_max)?));
    }
    let mut bytes = Vec::new();
    read_more(log, 0, usize_of(end), &mut bytes)?;
    let last = last_in(&bytes, 0).unwrap_or(LastLine::Torn);
    let first = match memchr::memchr(b'\n', &bytes) {
        Some(found) => {
            bytes.truncate(found + 1);
            FirstLine::Whole(bytes)
        }
        None => FirstLine::Torn(bytes),
    };
    Ok((first, last))
}

/// The lines of a log, one after the other.
pub struct Walk<'a> {
    log: &'a mut dyn Handle,
    // what was read and not yet handed out begins at `used`
    bytes: Vec<u8>,
    used: usize,
    read: u64,
    start: u64,
    is_ended: bool,
}

impl<'a> Walk<'a> {
    /// From the start of the log.
    pub fn new(log: &'a mut dyn Handle) -> Walk<'a> {
        Walk {
            log,
            bytes: Vec::new(),
            used: 0,
            read: 0,
            start: 0,
            is_ended: false,
        }
    }

    /// Where the next line begins, in bytes from the log's start.
    pub fn at(&self) -> u64 {
        self.start
    }

    /// The next whole line with its newline; none at the end, before bytes without a newline, and before a line
    /// longer than a record may be.
    pub fn line(&mut self) -> io::Result<Option<&[u8]>> {
        let mut searched = self.used;
        let end = loop {
            let unsearched = self.bytes.get(searched..).unwrap_or_default();
            if let Some(found) = memchr::memchr(b'\n', unsearched) {
                break searched + found + 1;
            }
            let pending = self.bytes.len() - self.used;
            if self.is_ended || pending as u64 > RECORD_BYTES_MAX {
                return Ok(None);
            }
            self.bytes.drain(..self.used);
            self.used = 0;
            searched = self.bytes.len();
            let piece = WALK_BYTES.max(pending);
            let count = read_more(self.log, self.read, piece, &mut self.bytes)?;
            self.read += count as u64;
            self.is_ended = count < piece;
        };
        let line = self.bytes.get(self.used..end).unwrap_or_default();
        self.start += line.len() as u64;
        self.used = end;
        Ok(Some(line))
    }
}

/// Reads up to `count` bytes from `offset` behind what `into` holds; fewer only where the file ends.
pub fn read_more(
    log: &mut dyn Handle,
    offset: u64,
    count: usize,
    into: &mut Vec<u8>,
) -> io::Result<usize> {
    let have = into.len();
    into.resize(have + count, 0);
    let read = log.read_at(offset, into.get_mut(have..).unwrap_or_default());
    into.truncate(have + read.as_ref().map_or(0, |read| *read));
    read
}

/// A line's text without its newline; none where it is no UTF-8.
pub fn text_of(line: &[u8]) -> Option<&str> {
    std::str::from_utf8(line.strip_suffix(b"\n").unwrap_or(line)).ok()
}

/// A length that is in memory, or about to be.
pub fn usize_of(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
