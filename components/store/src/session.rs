//! What a session handle answers from memory.

use std::rc::Rc;

use annals_core::fault::{Fact, Fault};
use annals_core::log::Limits;
use annals_sdk::types::{Batch, Error, Page, SessionHeader};
use annals_sdk::{Persistence, Result};

use crate::convert::{append_reentrant, batch, lease_lost, not_live, read_only, record_too_long};
use crate::live::{Access, Live, SessionKey, Slot};
use crate::observer::Observer;
use crate::room::bytes_of;
use crate::store::{Store, live_of};
use crate::{Messages, Surface, Usage};

impl<P: Persistence, O: Observer<P>> Store<P, O> {
    /// The session's id, also once it is closed; none for a handle that was forgotten.
    pub fn id(&self, key: SessionKey) -> Option<String> {
        self.slots.get(&key).map(|slot| slot.id().to_owned())
    }

    /// The header, also once the session is closed.
    pub fn header(&self, key: SessionKey) -> Option<SessionHeader> {
        self.slots.get(&key).map(Slot::header)
    }

    /// The seq of the next event, also once the session is closed.
    pub fn next_seq(&self, key: SessionKey) -> Option<u64> {
        self.slots.get(&key).map(Slot::next_seq)
    }

    /// The number for the next `turn/start`, counted on from the last one of the log; none once the session is closed.
    pub fn next_turn(&self, key: SessionKey) -> Option<u64> {
        let live = self.slots.get(&key)?.open()?;
        Some(live.next_turn())
    }

    /// Seqs of the events that the model sees, also once the session is closed.
    pub fn surface(&self, key: SessionKey) -> Option<Surface> {
        self.slots.get(&key).map(Slot::surface)
    }

    /// Append lines of `{type, data, surfaceOp?, sourceEventSeqs?, seq?, time?}`, all or none, in memory. Nobody is told
    /// of what is appended to a session that is not live.
    ///
    /// # Errors
    /// `invalid`: a line breaks a rule, or is for the surface and holds nothing to make a message of, detail has `line`;
    /// `seq-conflict`; `read-only` in an inspected session; `busy`: the lease was lost; `limit`: a record would be too long for the backend; `not-found`: closed;
    /// `reentrant`, reason `append-reentrant`: the observer is being told of other events of the session.
    pub fn append(&mut self, key: SessionKey, events: &str, time_ms: u64) -> Result<Batch> {
        let live = self.slots.get(&key).and_then(Slot::open);
        if live.is_some_and(|live| check_writable(live).is_ok()) {
            self.check_growth(key, events.len() as u64)?;
        }
        self.append_in_room(key, events, time_ms)
    }

    /// [`Store::append`] where there is room for it among the sessions.
    pub(crate) fn append_in_room(
        &mut self,
        key: SessionKey,
        events: &str,
        time_ms: u64,
    ) -> Result<Batch> {
        let Some(slot) = self.slots.get_mut(&key) else {
            return Err(not_live(None));
        };
        let is_told = slot.live().is_some();
        let Some(live) = slot.open_mut() else {
            return Err(not_live(Some(slot)));
        };
        check_writable(live)?;
        let before = bytes_of(&live.session);
        let record_bytes_max = self.backend.info().map(|info| info.record_bytes_max);
        live.session.set_limits(limits(record_bytes_max));
        // looked at already, unless the store was configured anew since
        self.options.check_log(&mut live.session)?;
        let appended = live.session.append(events, time_ms);
        let batch = batch(appended.map_err(|fault| refused(fault, record_bytes_max))?);
        self.note_growth(key, before);
        if batch.count == 0 || !is_told {
            return Ok(batch);
        }
        let live = live_of(&mut self.slots, key)?;
        live.writing.is_published = true;
        let id = live.id().to_owned();
        Rc::clone(&self.observer).appended(self, &id, &batch);
        if let Some(live) = self.slots.get_mut(&key).and_then(Slot::open_mut) {
            live.writing.is_published = false;
        }
        Ok(batch)
    }

    /// Event lines from `start`, rows expanded, about `bytes_max` bytes at most but at least one event.
    ///
    /// # Errors
    /// `invalid`: `start` is beyond the end; `not-found`: closed.
    pub fn events(&self, key: SessionKey, start: u64, bytes_max: u32) -> Result<Page> {
        let slot = self.slots.get(&key);
        let live = slot.and_then(Slot::open).ok_or_else(|| not_live(slot))?;
        let page = live.session.events(start, bytes_max)?;
        Ok(Page {
            header: None,
            at_byte: None,
            lines: page.lines,
            raw: None,
            next: page.next,
        })
    }

    /// The present request header in its canonical form, as the text of one JSON object; none before the first one.
    ///
    /// # Errors
    /// `invalid`: the newest snapshot holds no header with a config; `not-found`: closed.
    pub fn request_header(&self, key: SessionKey) -> Result<Option<String>> {
        let slot = self.slots.get(&key);
        let live = slot.and_then(Slot::open).ok_or_else(|| not_live(slot))?;
        live.session.request_header().map_err(Error::from)
    }

    /// What the session's own requests used; none once the session is closed.
    pub fn usage(&self, key: SessionKey) -> Option<Usage> {
        let live = self.slots.get(&key)?.open()?;
        Some(live.session.usage().into())
    }

    /// The history that the model sees, from position `start`.
    ///
    /// # Errors
    /// `invalid`: `start` is beyond the end; `not-found`: closed.
    pub fn messages(&mut self, key: SessionKey, start: u32, bytes_max: u32) -> Result<Messages> {
        let Some(slot) = self.slots.get_mut(&key) else {
            return Err(not_live(None));
        };
        let Some(live) = slot.open_mut() else {
            return Err(not_live(Some(slot)));
        };
        let page = live.session.messages(start, bytes_max)?;
        Ok(Messages {
            generation: page.generation,
            start: page.start,
            total: page.total,
            lines: page.lines,
        })
    }

    /// The handle was dropped. A live session stays live; of another one nothing is kept any longer.
    pub fn forget(&mut self, key: SessionKey) {
        if self
            .slots
            .get(&key)
            .is_some_and(|slot| slot.live().is_none())
        {
            self.slots.remove(&key);
        }
    }
}

/// Whether events may be appended now.
pub(crate) fn check_writable(live: &Live) -> Result<()> {
    match live.access {
        Access::Write if live.writing.is_published => Err(append_reentrant(live.id())),
        Access::Write => Ok(()),
        Access::ReadOnly => Err(read_only(live.id())),
        Access::Lost => Err(lease_lost(live.id())),
    }
}

/// What a log may hold: no line that the backend would refuse at every flush.
fn limits(record_bytes_max: Option<u64>) -> Limits {
    let usual = Limits::default();
    let line_bytes_max = record_bytes_max.map_or(usual.line_bytes_max, |bytes_max| {
        bytes_max.min(usual.line_bytes_max)
    });
    Limits {
        line_bytes_max,
        ..usual
    }
}

/// A fault of appending; where the limit is the backend's, with that name.
fn refused(fault: Fault, record_bytes_max: Option<u64>) -> Error {
    let is_of_line = |(name, fact): &(&str, Fact)| {
        *name == "limit" && matches!(fact, Fact::Text(limit) if limit == "line-bytes-max")
    };
    let bytes_max = fault
        .number_of("max")
        .filter(|_| fault.facts.iter().any(is_of_line));
    match (
        fault.number_of("line"),
        fault.number_of("actual"),
        bytes_max,
    ) {
        (Some(line), Some(bytes), Some(bytes_max)) if record_bytes_max == Some(bytes_max) => {
            record_too_long(line, bytes, bytes_max)
        }
        _ => fault.into(),
    }
}

/// `limit` where a complete line is too long to store: better now than at every flush.
pub(crate) fn check_lengths(lines: &str, bytes_max: u64) -> Result<()> {
    if (lines.len() as u64) < bytes_max {
        return Ok(());
    }
    for (number, line) in (1u64..).zip(lines.split_terminator('\n')) {
        let bytes = line.len() as u64 + 1;
        if bytes > bytes_max {
            return Err(record_too_long(number, bytes, bytes_max));
        }
    }
    Ok(())
}
