//! How much a log holds, and whether there is memory for it.

use super::CHUNK_BYTES_MAX;
use crate::fault::{Fault, Reason};
use crate::record::RECORD_BYTES_MAX;

/// How much a log in memory may hold. What is beyond is refused before memory is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest line, its newline included.
    pub line_bytes_max: u64,
    /// All lines together, newlines included.
    pub log_bytes_max: u64,
}

impl Default for Limits {
    /// A line of [`RECORD_BYTES_MAX`], a log of [`LOG_BYTES_MAX`].
    fn default() -> Limits {
        Limits {
            line_bytes_max: RECORD_BYTES_MAX,
            log_bytes_max: LOG_BYTES_MAX,
        }
    }
}

/// The longest log that is held in memory. A WebAssembly memory ends at 4 GiB, and there the lines stand once, their
/// index beside them, and while they are handed over to be stored or forked a second time.
pub const LOG_BYTES_MAX: u64 = 1 << 30;

/// Fails with [`Reason::LimitReached`] where so much memory cannot be had at once: better now than in the middle of
/// what needs it.
pub fn check_room(bytes: usize) -> Result<(), Fault> {
    // what is small is had from what the allocator keeps
    if bytes <= CHUNK_BYTES_MAX {
        return Ok(());
    }
    ask_room(bytes)
}

/// Like [`check_room`], however little it is.
pub(crate) fn ask_room(bytes: usize) -> Result<(), Fault> {
    let mut room: Vec<u8> = Vec::new();
    let asked = room.try_reserve_exact(bytes);
    // memory that nobody looks at need not be asked for
    std::hint::black_box(&room);
    asked.map_err(|_| no_memory(bytes))
}

#[inline(always)]
pub(super) fn check_limit(name: &'static str, actual: usize, limit: u64) -> Result<(), Fault> {
    match actual as u64 <= limit {
        true => Ok(()),
        false => Err(limit_reached(name, actual, limit)),
    }
}

#[cold]
fn limit_reached(name: &'static str, actual: usize, limit: u64) -> Fault {
    let actual = actual as u64;
    let what = match name {
        "line-bytes-max" => "the line has",
        _ => "the log would have",
    };
    let message = format!("{what} {actual} bytes, and at most {limit} are held in memory");
    Fault::new(Reason::LimitReached, message)
        .text("limit", name)
        .number("actual", actual)
        .number("max", limit)
}

#[cold]
pub(crate) fn no_memory(bytes: usize) -> Fault {
    let message = format!("there is no memory for {bytes} bytes more; close other sessions first");
    Fault::new(Reason::LimitReached, message)
        .text("limit", "memory")
        .number("actual", bytes as u64)
}
