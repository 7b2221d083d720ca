//! The reference backend: sessions in memory, and the whole contract of interface `persistence` in one sitting.
//!
//! Absent: I/O, and everything that only a medium needs. A log is one string of JSON Lines, so nothing here can be
//! torn, and a page carries `raw` only for what `truncate` saved.

use std::collections::BTreeMap;

use annals_sdk::leases::Leases;
use annals_sdk::types::{
    BackendInfo, Batch, Durability, Error, Eviction, LeaseScope, Listing, Page, SessionEntry,
    SessionHeader, SessionStatus, SessionSummary,
};
use annals_sdk::{Persistence, Result, listing, log};

annals_sdk::export!(Memory);

/// A cursor is an epoch above these bits and a byte offset below them, so that one from before a `truncate` or a
/// `delete` is recognised.
const OFFSET_BITS: u32 = 40;

/// The longest record that can be stored, in bytes, its newline included.
pub const RECORD_BYTES_MAX: u64 = annals_core::record::RECORD_BYTES_MAX;

/// Sessions in memory, gone with the process.
#[derive(Default)]
pub struct Memory {
    is_configured: bool,
    sessions: BTreeMap<String, Stored>,
    leases: Leases,
    last_epoch: u64,
}

struct Stored {
    header: SessionHeader,
    summary: SessionSummary,
    lines: String,
    next_seq: u64,
    last_time_ms: u64,
    /// What `truncate` dropped, oldest first.
    cut: Vec<u8>,
    /// Another one whenever the log shrinks.
    epoch: u64,
}

impl Memory {
    fn ready(&self) -> Result<()> {
        if self.is_configured {
            Ok(())
        } else {
            Err(Error::not_configured())
        }
    }

    fn stored(&mut self, id: &str) -> Result<&mut Stored> {
        self.ready()?;
        self.sessions
            .get_mut(id)
            .ok_or_else(|| Error::not_found(id))
    }

    /// The session, for the holder of its lease.
    fn writable(&mut self, id: &str, token: &str) -> Result<&mut Stored> {
        self.ready()?;
        self.leases.check(id, token)?;
        self.stored(id)
    }

    fn next_epoch(&mut self) -> u64 {
        self.last_epoch += 1;
        self.last_epoch
    }
}

impl Persistence for Memory {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        let mut wants_packed = false;
        for (name, value) in settings {
            match (name.as_str(), value.as_str()) {
                ("pack-chunks", "true") => wants_packed = true,
                ("pack-chunks", "false") => wants_packed = false,
                ("pack-chunks", _) => return Err(Error::bad_setting(name, "it is true or false")),
                _ => return Err(Error::bad_setting(name, "only \"pack-chunks\" is known")),
            }
        }
        self.is_configured = true;
        Ok(BackendInfo {
            name: "memory".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            durability: Durability::None,
            wants_packed,
            lease: LeaseScope::Session,
            record_bytes_max: RECORD_BYTES_MAX,
            notes: Vec::new(),
        })
    }

    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        self.ready()?;
        self.leases.acquire(id, holder, evict)
    }

    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.ready()?;
        self.leases.renew(id, token)
    }

    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.ready()?;
        self.leases.release(id, token);
        Ok(())
    }

    fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        self.ready()?;
        if header.id.is_empty() {
            return Err(Error::empty_id());
        }
        self.leases.check(&header.id, token)?;
        if self.sessions.contains_key(&header.id) {
            return Err(Error::already_exists(&header.id));
        }
        first.check(&header.id, 0, RECORD_BYTES_MAX)?;
        let stored = Stored {
            header: header.clone(),
            summary: SessionSummary::default(),
            lines: first.lines.clone(),
            next_seq: first.count,
            last_time_ms: first.last_time_ms,
            cut: Vec::new(),
            epoch: self.next_epoch(),
        };
        self.sessions.insert(header.id.clone(), stored);
        Ok(())
    }

    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        let stored = self.writable(id, token)?;
        events.check(id, stored.next_seq, RECORD_BYTES_MAX)?;
        if events.count > 0 {
            stored.lines.push_str(&events.lines);
            stored.next_seq += events.count;
            stored.last_time_ms = events.last_time_ms;
        }
        Ok(())
    }

    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let stored = self.stored(id)?;
        let start = stored.offset(cursor);
        let start = start.ok_or_else(|| Error::bad_cursor(id))?;
        let page = log::records(stored.lines.as_bytes(), start, bytes_max);
        Ok(Page {
            header: (cursor == 0).then(|| stored.header.clone()),
            at_byte: None,
            next: page.next.map(|end| stored.epoch << OFFSET_BITS | end),
            ..page
        })
    }

    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        let epoch = self.next_epoch();
        let stored = self.writable(id, token)?;
        let (bytes, last) = log::keep(id, stored.lines.as_bytes(), keep_events)?;
        let dropped = stored.lines.get(bytes..).unwrap_or_default();
        if !dropped.is_empty() {
            stored.cut.extend_from_slice(dropped.as_bytes());
            stored.lines.truncate(bytes);
            stored.next_seq = keep_events;
            stored.last_time_ms = last.map_or(0, |record| record.last_time_ms);
            stored.epoch = epoch;
        }
        Ok(())
    }

    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        self.ready()?;
        listing::piece(self.sessions.keys(), cursor, count_max, |id| {
            self.sessions.get(id).map(Stored::entry)
        })
    }

    fn has(&mut self, id: &str) -> Result<bool> {
        self.ready()?;
        Ok(self.sessions.contains_key(id))
    }

    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        log::cut_page(id, &self.stored(id)?.cut, cursor, bytes_max)
    }

    fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        self.writable(id, token)?;
        self.sessions.remove(id);
        self.leases.remove(id);
        Ok(())
    }

    fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        self.stored(id)?.summary.change(summary);
        Ok(())
    }
}

impl Stored {
    fn entry(&self) -> SessionEntry {
        SessionEntry {
            id: self.header.id.clone(),
            header: Some(self.header.clone()),
            summary: self.summary.clone(),
            updated_at_ms: (self.next_seq > 0).then_some(self.last_time_ms),
            status: SessionStatus::Ok,
            note: None,
        }
    }

    /// The byte that a cursor stands for, if it is one of this log as it is now.
    fn offset(&self, cursor: u64) -> Option<usize> {
        if cursor == 0 {
            return Some(0);
        }
        let offset = usize::try_from(cursor & ((1 << OFFSET_BITS) - 1)).ok()?;
        let before = self.lines.as_bytes().get(offset.checked_sub(1)?)?;
        (cursor >> OFFSET_BITS == self.epoch && *before == b'\n').then_some(offset)
    }
}
