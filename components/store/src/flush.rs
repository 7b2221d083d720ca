//! Write-behind: what is in memory and not on the medium goes there, once, in order.

use std::rc::Rc;

use annals_core::chunk_rows::pack;
use annals_core::record::read_record;
use annals_core::session::Session;
use annals_sdk::types::{BackendInfo, Batch, ErrorCode, SessionSummary};
use annals_sdk::{Persistence, Result};

use crate::backend::Backend;
use crate::convert::{lease_lost, listener};
use crate::lease::hold;
use crate::live::{Access, Leaving, Live, SessionKey, Slot};
use crate::medium::{Found, PAGE_BYTES_MAX, adopt};
use crate::observer::Observer;
use crate::store::{Store, live_of};

/// How many entries of a listing are asked for at a time.
const LISTED_COUNT_MAX: u32 = 256;
/// How many pages of the listing are looked through for one session; a hostile listing has no end.
const LISTED_PAGES_MAX: u32 = 400;

/// What is stored at least.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Least {
    /// Nothing, when there are no events.
    Events,
    /// The header, even when there are no events.
    Header,
}

impl<P: Persistence, O: Observer<P>> Store<P, O> {
    /// Everything accepted so far is durable when this returns. A session without events stores nothing, and so does
    /// a store without a backend.
    ///
    /// # Errors
    /// Any of the backend: the events stay in the session, and the next flush tries again. `busy`: the lease is
    /// somebody else's. `other`, reason `listener-error`: the observer's own words, after everything was stored.
    pub fn flush(&mut self, key: SessionKey) -> Result<()> {
        self.settle(key, Least::Events)
    }

    /// As `flush`, but the header is stored although there is no event.
    ///
    /// # Errors
    /// As `flush`; `not-configured`: there is no backend.
    pub fn persist(&mut self, key: SessionKey) -> Result<()> {
        live_of(&mut self.slots, key)?;
        self.backend.configured()?;
        self.settle(key, Least::Header)
    }

    fn settle(&mut self, key: SessionKey, least: Least) -> Result<()> {
        let live = live_of(&mut self.slots, key)?;
        if self.backend.info().is_some() && live.access != Access::ReadOnly {
            drain(&mut self.backend, live, least)?;
        }
        let id = live.id().to_owned();
        let told = Rc::clone(&self.observer).flushed(self, &id);
        told.map_err(|words| listener(&id, words))
    }

    /// Flush, release the lease, leave the live list. Closing again does nothing, nor does closing what was detached.
    ///
    /// # Errors
    /// As `flush`, and what `release` of the backend answers; the session stays live then. `busy`, reason
    /// `lease-lost`, and the session is gone: it lost its lease before, and events of it were never stored.
    pub fn close(&mut self, key: SessionKey) -> Result<()> {
        let Some(Slot::Live(live)) = self.slots.get_mut(&key) else {
            return Ok(());
        };
        if live.is_held() {
            live.leaving = Some(Leaving::Close);
            return Ok(());
        }
        if live.access == Access::Lost {
            // another writer goes on with the log: what is not stored can never be, so nothing is worth waiting for
            let lost = if live.is_drained() {
                Ok(())
            } else {
                Err(lease_lost(live.id()))
            };
            self.leave_closed(key);
            return lost;
        }
        self.flush(key)?;
        // an observer may have detached it meanwhile
        let Some(Slot::Live(live)) = self.slots.get_mut(&key) else {
            return Ok(());
        };
        if let Some(token) = &live.token
            && live.access == Access::Write
        {
            self.backend.release(live.id(), token)?;
        }
        self.leave_closed(key);
        Ok(())
    }
}

/// Hand over what the medium lacks.
pub(crate) fn drain<P: Persistence>(
    backend: &mut Backend<P>,
    live: &mut Live,
    least: Least,
) -> Result<()> {
    let mut has_adopted = false;
    while !live.is_drained() || (least == Least::Header && !live.is_stored) {
        let token = hold(backend, live)?;
        let Some(info) = backend.info() else {
            return Ok(());
        };
        // the batch, and packed once more
        let copies = 1 + usize::from(info.wants_packed);
        live.session.check_room_for_stored(live.cursor, copies)?;
        let batch = next_batch(live, info)?;
        let sent = if live.is_stored {
            backend.append(live.id(), &token, &batch)
        } else {
            backend.create(&live.session.header().clone().into(), &token, &batch)
        };
        let Err(error) = sent else {
            let from = live.cursor;
            live.is_stored = true;
            live.cursor = batch.first_seq + batch.count;
            note_first_prompt(backend, live, from);
            continue;
        };
        if error.code == ErrorCode::Busy {
            live.access = Access::Lost;
            return Err(error);
        }
        // an earlier answer may have been lost after its events were stored, whole or torn
        let is_elsewhere = matches!(
            error.code,
            ErrorCode::AlreadyExists | ErrorCode::SeqConflict | ErrorCode::Corrupt
        );
        let from = live.cursor;
        let found = match is_elsewhere && !has_adopted {
            true => adopt(backend, live, &token)?,
            false => Found::Nothing,
        };
        if !matches!(found, Found::Prefix) {
            if !is_elsewhere || live.is_stored {
                return Err(error);
            }
            // the log is somebody else's, and so is the right to write it; the error of the call says more
            let _ = backend.release(live.id(), &token);
            live.token = None;
            return Err(match found {
                Found::Collision(collision) => collision,
                Found::Nothing | Found::Prefix => error,
            });
        }
        has_adopted = true;
        // whoever stored it may have noted one, or a user wrote one since
        live.prompt_may_be_there = true;
        note_first_prompt(backend, live, from);
    }
    Ok(())
}

/// All records that the medium lacks, as one batch, since a backend stores a batch whole or not at all: as they are, or
/// packed where the backend asks for it. Where the medium ends inside a row, the rest of that row comes before.
fn next_batch(live: &Live, info: &BackendInfo) -> Result<Batch> {
    let stored = live.session.stored_from(live.cursor);
    let batch = if stored.first_seq < live.cursor {
        let row = stored.lines.lines().next().unwrap_or_default();
        let end = stored.first_seq + read_record(row)?.count;
        rest_of_row(&live.session, live.cursor, end)?
    } else {
        Batch {
            first_seq: stored.first_seq,
            count: stored.count,
            last_time_ms: stored.last_time_ms,
            lines: stored.lines.into(),
        }
    };
    if !info.wants_packed {
        return Ok(batch);
    }
    let fits = |lines: &String| {
        lines
            .split_inclusive('\n')
            .all(|line| line.len() as u64 <= info.record_bytes_max)
    };
    Ok(match pack(&batch.lines).ok().filter(fits) {
        Some(lines) => Batch { lines, ..batch },
        None => batch,
    })
}

/// The events of a row from `start` on, expanded: as many as a page takes, since a row may stand for far more than fits
/// in memory.
fn rest_of_row(session: &Session, start: u64, end: u64) -> Result<Batch> {
    let page = session.events(start, PAGE_BYTES_MAX)?;
    let mut batch = Batch {
        first_seq: start,
        count: 0,
        last_time_ms: 0,
        lines: String::new(),
    };
    for line in page.lines.lines().take((end - start) as usize) {
        batch.count += 1;
        batch.last_time_ms = read_record(line)?.last_time_ms;
        batch.lines.push_str(line);
        batch.lines.push('\n');
    }
    Ok(batch)
}

/// Whether the summary has a first prompt, or may have one: the listing alone tells, and it may fail.
fn has_first_prompt<P: Persistence>(backend: &mut Backend<P>, id: &str) -> bool {
    let mut cursor = None;
    for _ in 0..LISTED_PAGES_MAX {
        let Ok(listing) = backend.list(cursor.as_deref(), LISTED_COUNT_MAX) else {
            return true;
        };
        let mut entries = listing.sessions.into_iter();
        if let Some(entry) = entries.find(|entry| entry.id == id) {
            return entry.summary.first_prompt.is_some();
        }
        if listing.next.is_none() {
            return true;
        }
        cursor = listing.next;
    }
    true
}

/// Write the first prompt into the summary, once, when the events from `from` on are stored; failing to do so fails
/// nothing.
fn note_first_prompt<P: Persistence>(backend: &mut Backend<P>, live: &mut Live, from: u64) {
    if !live.prompt_is_due {
        return;
    }
    let Some(first_prompt) = live.session.first_prompt_in(from..live.cursor) else {
        return;
    };
    live.prompt_is_due = false;
    let is_there = live.prompt_may_be_there && has_first_prompt(backend, live.id());
    if first_prompt.is_empty() || is_there {
        return;
    }
    let summary = SessionSummary {
        title: None,
        first_prompt: Some(first_prompt),
    };
    // the log is the truth and it is stored; a listing without this line is still right
    let _ = backend.update(live.id(), &summary);
}
