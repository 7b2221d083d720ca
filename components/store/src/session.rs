//! What a session handle answers from memory.

use annals_sdk::types::{Batch, Error, ErrorCode, Page, SessionHeader};
use annals_sdk::{Persistence, Result};

use crate::convert::{batch, closed, error, lease_lost, read_only};
use crate::live::{Access, SessionKey, Slot};
use crate::observer::Observer;
use crate::store::{Store, live_of};
use crate::{Messages, Surface};

/// What a stored line has beyond the line that was given: seq, time and the newline.
const ENVELOPE_BYTES_MAX: u64 = 64;

impl<P: Persistence, O: Observer> Store<P, O> {
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

    /// Seqs of the events that the model sees, also once the session is closed.
    pub fn surface(&self, key: SessionKey) -> Option<Surface> {
        self.slots.get(&key).map(Slot::surface)
    }

    /// Append lines of `{type, data, surfaceOp?, sourceEventSeqs?, seq?, time?}`, all or none, in memory.
    ///
    /// # Errors
    /// `invalid`: a line breaks a rule, detail has `line`; `seq-conflict`; `read-only` in an inspected session;
    /// `busy`: the lease was lost; `limit`: a record would be too long for the backend; `not-found`: closed.
    pub fn append(&mut self, key: SessionKey, events: &str, time_ms: u64) -> Result<Batch> {
        let live = live_of(&mut self.slots, key)?;
        match live.access {
            Access::Write => {}
            Access::ReadOnly => return Err(read_only(live.id())),
            Access::Lost => return Err(lease_lost(live.id())),
        }
        if let Some(info) = self.backend.info() {
            check_lengths(events, info.record_bytes_max, ENVELOPE_BYTES_MAX)?;
        }
        let batch = batch(live.session.append(events, time_ms).map_err(error)?);
        if batch.count > 0 {
            self.observer.appended(live.id(), &batch);
        }
        Ok(batch)
    }

    /// Event lines from `start`, rows expanded, about `bytes_max` bytes at most but at least one event.
    ///
    /// # Errors
    /// `invalid`: `start` is beyond the end; `not-found`: closed.
    pub fn events(&self, key: SessionKey, start: u64, bytes_max: u32) -> Result<Page> {
        match self.slots.get(&key) {
            Some(Slot::Live(live)) => {
                let page = live.session.events(start, bytes_max).map_err(error)?;
                Ok(Page {
                    header: None,
                    at_byte: None,
                    lines: page.lines,
                    raw: None,
                    next: page.next,
                })
            }
            Some(Slot::Closed(_)) | None => Err(closed(&self.id(key).unwrap_or_default())),
        }
    }

    /// The history that the model sees, from position `start`.
    ///
    /// # Errors
    /// `invalid`: `start` is beyond the end; `not-found`: closed.
    pub fn messages(&mut self, key: SessionKey, start: u32, bytes_max: u32) -> Result<Messages> {
        let live = live_of(&mut self.slots, key)?;
        let page = live.session.messages(start, bytes_max).map_err(error)?;
        Ok(Messages {
            generation: page.generation,
            start: page.start,
            total: page.total,
            lines: page.lines,
        })
    }

    /// The handle was dropped. A live session stays live; of a closed one nothing is kept any longer.
    pub fn forget(&mut self, key: SessionKey) {
        if matches!(self.slots.get(&key), Some(Slot::Closed(_))) {
            self.slots.remove(&key);
        }
    }
}

/// `limit` where a line would be too long to store: better now than at every flush.
pub(crate) fn check_lengths(lines: &str, bytes_max: u64, envelope_bytes: u64) -> Result<()> {
    for (at, line) in lines.split_inclusive('\n').enumerate() {
        let bytes = line.len() as u64 + envelope_bytes;
        if bytes > bytes_max {
            let message = format!(
                "line {} has {bytes} bytes as stored, the backend takes {bytes_max}; split the event",
                at + 1
            );
            return Err(Error::new(ErrorCode::Limit, "record-too-long", message)
                .fact("line", at as u64 + 1)
                .fact("record-bytes-max", bytes_max));
        }
    }
    Ok(())
}
