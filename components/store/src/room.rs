//! How much the sessions of a store may hold in memory together.

use annals_core::session::Session;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};

use crate::live::{Live, SessionKey, Slot};
use crate::store::Store;

/// What several sessions hold together at most. A WebAssembly memory ends at 4 GiB; the other half is for what is handed
/// in and out, which is as long as a log may be, and for the gaps that this leaves between sessions.
pub const SESSIONS_BYTES_MAX: u64 = 2 << 30;

/// What a session holds for each stored line, besides its bytes: a place in the index, and one on the surface.
pub(crate) const LINE_BYTES: u64 = 48;

/// The limit, and how much of it is known to be left.
pub(crate) struct Room {
    bytes_max: u64,
    // May be taken without looking at every session again.
    left: u64,
}

impl Default for Room {
    fn default() -> Self {
        Room {
            bytes_max: SESSIONS_BYTES_MAX,
            left: 0,
        }
    }
}

/// What a session holds in memory, in bytes.
pub(crate) fn bytes_of(session: &Session) -> u64 {
    let log = session.log();
    log.bytes() as u64 + log.record_count() as u64 * LINE_BYTES
}

/// What stored lines will hold in memory, in bytes.
pub(crate) fn bytes_of_lines(lines: &str) -> u64 {
    let count = memchr::memchr_iter(b'\n', lines.as_bytes()).count();
    lines.len() as u64 + count as u64 * LINE_BYTES
}

/// What is left beside the other sessions for one that is being read.
#[derive(Clone, Copy)]
pub(crate) struct Beside {
    bytes: u64,
    bytes_max: u64,
    /// Of the session that it begins with, where it is a fork.
    source_bytes: u64,
}

impl Beside {
    /// `limit` where a session that holds so many bytes has no place beside the others. A session alone is bounded by
    /// the limit of a log.
    pub(crate) fn check(self, bytes: u64) -> Result<()> {
        let together = self.bytes.saturating_add(bytes);
        if self.bytes == 0 || together <= self.bytes_max {
            return Ok(());
        }
        // a fork is made beside its source, which nobody can close
        let is_enough_to_close = self.source_bytes.saturating_add(bytes) <= self.bytes_max;
        let cure = match self.source_bytes == 0 || is_enough_to_close {
            true => "close other sessions first",
            false => "fork an earlier part, for source and fork are held together",
        };
        let message = format!(
            "the open sessions would hold {together} bytes together, and at most {} are held in memory; {cure}",
            self.bytes_max
        );
        Err(Error::new(ErrorCode::Limit, "limit-reached", message)
            .fact("limit", "sessions-bytes-max")
            .fact("actual", together)
            .fact("max", self.bytes_max))
    }

    /// The same for a fork: its source is among the others, and not yet counted where it is only `stored`.
    pub(crate) fn and_source(self, source: &Session, stored: Option<&Session>) -> Beside {
        let bytes = self.bytes + stored.map_or(0, bytes_of);
        let source_bytes = bytes_of(source);
        Beside {
            bytes,
            source_bytes,
            ..self
        }
    }
}

impl<P, O> Store<P, O> {
    /// Holds another limit against what comes; [`SESSIONS_BYTES_MAX`] until then.
    pub fn set_sessions_bytes_max(&mut self, bytes_max: u64) {
        self.room = Room { bytes_max, left: 0 };
    }

    /// All sessions in memory, live or not, but for that one.
    pub(crate) fn beside(&self, key: Option<SessionKey>) -> Beside {
        let others = self.slots.iter().filter(|(of, _)| Some(**of) != key);
        let held = others.filter_map(|(_, slot)| slot.open());
        Beside {
            bytes: held.map(|live| bytes_of(&live.session)).sum(),
            bytes_max: self.room.bytes_max,
            source_bytes: 0,
        }
    }

    /// `limit` where a session may not grow by so many bytes.
    pub(crate) fn check_growth(&mut self, key: SessionKey, bytes: u64) -> Result<()> {
        if bytes <= self.room.left {
            return Ok(());
        }
        let own = self.slots.get(&key).and_then(Slot::open).map_or(0, held);
        let beside = self.beside(Some(key));
        beside.check(own.saturating_add(bytes))?;
        self.room.left = beside.bytes_max.saturating_sub(beside.bytes + own);
        Ok(())
    }

    /// What a session has taken of the room since it held so many bytes.
    pub(crate) fn note_growth(&mut self, key: SessionKey, before: u64) {
        let after = self.slots.get(&key).and_then(Slot::open).map_or(0, held);
        self.room.left = self.room.left.saturating_sub(after.saturating_sub(before));
    }

    /// Another session is in memory.
    pub(crate) fn note_entry(&mut self) {
        self.room.left = 0;
    }
}

fn held(live: &Live) -> u64 {
    bytes_of(&live.session)
}
