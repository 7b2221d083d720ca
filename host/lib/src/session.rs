//! A live session's handle.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::annals::Shared;
use crate::bindings::store::annals::session::types::Error as Answer;
use crate::error::Result;
use crate::link::{Entered, Linked};
use crate::records::{Batch, Messages, Page, SessionHeader, Surface, Usage};

/// Bytes asked for at a time when the whole history is read.
const HISTORY_BYTES: u32 = 1 << 20;

/// A live session. A clone is another handle to the same.
///
/// Dropping the last handle closes the session and ignores errors; [`Session::close`] reports them. But when the last
/// [`Session::flush`], [`Session::persist`] or [`Session::close`] failed, or [`Annals::rebind`](crate::Annals::rebind)
/// told that the session was refused, dropping lets go of it without storing anything and gives its lease back: its
/// caller was told that the events are not stored and may have them elsewhere, so only an explicit call stores them. An
/// observer that refuses a flush keeps no session: everything is stored then, and a session that nobody holds leaves.
#[derive(Clone)]
pub struct Session {
    handle: Arc<Handle>,
}

struct Handle {
    shared: Arc<Shared>,
    entered: Entered,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let key = self.entered.key;
        self.shared.handles.tidy(&self.entered.header.id);
        self.shared.actor.post(move |linked| linked.forget(key));
    }
}

/// The handles that somebody holds, by id: what the last session of an id was entered with.
#[derive(Default)]
pub(crate) struct Handles(Mutex<HashMap<String, Weak<Handle>>>);

impl Handles {
    /// Another handle to the session of this id and key, if somebody holds one.
    pub(crate) fn get(&self, id: &str, key: u64) -> Option<Session> {
        let handle = self.held().get(id)?.upgrade()?;
        (handle.entered.key == key).then_some(Session { handle })
    }

    fn note(&self, handle: &Arc<Handle>) {
        let id = handle.entered.header.id.clone();
        self.held().insert(id, Arc::downgrade(handle));
    }

    /// A handle of this id was dropped, which may not be the one that is noted.
    fn tidy(&self, id: &str) {
        let mut held = self.held();
        if held
            .get(id)
            .is_some_and(|handle| handle.strong_count() == 0)
        {
            held.remove(id);
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Weak<Handle>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>, entered: Entered) -> Self {
        let handle = Arc::new(Handle { shared, entered });
        handle.shared.handles.note(&handle);
        Self { handle }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.handle.entered.header.id
    }

    /// What is written once, when the session is first stored.
    #[must_use]
    pub fn header(&self) -> &SessionHeader {
        &self.handle.entered.header
    }

    /// The seq of the next event, which is the number of events.
    ///
    /// # Errors
    /// `reentrant`, `unavailable`.
    pub fn next_seq(&self) -> Result<u64> {
        self.ask(Linked::next_seq)
    }

    /// The number for the next `turn/start`: one more than that of the last, 1 where there is none.
    ///
    /// # Errors
    /// `reentrant`, `unavailable`.
    pub fn next_turn(&self) -> Result<u64> {
        self.ask(|linked, key| {
            linked.ask_session(key, |session, data, handle| {
                Ok(Ok::<_, Answer>(session.call_next_turn(data, handle)?))
            })
        })
    }

    /// Appends event lines `{type, data, surfaceOp?, sourceEventSeqs?, seq?, time?}`, all or none, at the present time.
    /// They are in memory when this returns; [`Session::flush`] makes them durable. Answers the complete lines.
    ///
    /// # Errors
    /// `invalid`: a line breaks a rule, or is for the surface and holds nothing to make a message of, detail has `line`;
    /// `seq-conflict`; `read-only` in an inspected session; `limit`; `reentrant`.
    pub fn append(&self, events: &str) -> Result<Batch> {
        let time_ms = (self.handle.shared.clock)();
        self.append_at(events, time_ms)
    }

    /// [`Session::append`] at a given time, in milliseconds since 1970-01-01T00:00Z.
    ///
    /// # Errors
    /// As [`Session::append`].
    pub fn append_at(&self, events: &str, time_ms: u64) -> Result<Batch> {
        let events = events.to_owned();
        self.ask(move |linked, key| {
            linked.ask_session(key, |session, data, handle| {
                session.call_append(data, handle, &events, time_ms)
            })
        })
    }

    /// Appends one event `{type, data}` outside the loop, of a type that
    /// [`Builder::out_of_band_type`](crate::Builder::out_of_band_type) named: into the open turn, or else into a turn of
    /// its own that `trigger` (the text of one JSON value) begins, and that is closed and flushed even when the event is
    /// refused. Answers the event alone.
    ///
    /// # Errors
    /// `invalid`: more than one line, reason `out-of-band-type`, or as [`Session::append`]; `not-found`: not live;
    /// `busy`: somebody else writes, and after waiting as [`Session::flush`] does nothing was appended; and what
    /// [`Session::flush`] answers, the events then stay in the session.
    pub fn append_out_of_band(&self, event: &str, trigger: &str) -> Result<Batch> {
        let shared = &self.handle.shared;
        let answer = shared.ask_waiting(|| {
            let time_ms = (shared.clock)();
            let (event, trigger) = (event.to_owned(), trigger.to_owned());
            self.ask(move |linked, key| linked.append_out_of_band(key, &event, &trigger, time_ms))
        });
        answer?
    }

    /// Event lines from `start`, one event a line, about `bytes_max` bytes at most but at least one event; `next` is
    /// the seq to go on from.
    ///
    /// # Errors
    /// `invalid`: `start` is beyond the end.
    pub fn events(&self, start: u64, bytes_max: u32) -> Result<Page> {
        self.ask(move |linked, key| {
            linked.ask_session(key, |session, data, handle| {
                session.call_events(data, handle, start, bytes_max)
            })
        })
    }

    /// The history that the model sees from position `start`, one JSON message a line, about `bytes_max` bytes at
    /// most but at least one message.
    ///
    /// # Errors
    /// `invalid`: `start` is beyond the end.
    pub fn messages(&self, start: u32, bytes_max: u32) -> Result<Messages> {
        self.ask(move |linked, key| {
            linked.ask_session(key, |session, data, handle| {
                session.call_messages(data, handle, start, bytes_max)
            })
        })
    }

    /// The whole history that the model sees, one JSON message a line.
    ///
    /// # Errors
    /// As [`Session::messages`].
    pub fn history(&self) -> Result<String> {
        self.ask(|linked, key| {
            let mut lines = String::new();
            let mut start = 0;
            loop {
                let piece = linked.ask_session(key, |session, data, handle| {
                    session.call_messages(data, handle, start, HISTORY_BYTES)
                })?;
                let count = piece.lines.bytes().filter(|byte| *byte == b'\n').count();
                start = piece
                    .start
                    .saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
                lines.push_str(&piece.lines);
                if count == 0 || start >= piece.total {
                    return Ok(lines);
                }
            }
        })
    }

    /// Seqs of the events that the model sees, in its order, and how often that order was rewritten.
    ///
    /// # Errors
    /// `reentrant`, `unavailable`.
    pub fn surface(&self) -> Result<Surface> {
        self.ask(|linked, key| {
            linked.ask_session(key, |session, data, handle| {
                Ok(Ok::<_, Answer>(session.call_surface(data, handle)?))
            })
        })
    }

    /// The present request header in its canonical form, as the text of one JSON object; none before the first
    /// `request/header`, and in a closed session.
    ///
    /// # Errors
    /// `reentrant`, `unavailable`.
    pub fn request_header(&self) -> Result<Option<String>> {
        self.ask(|linked, key| {
            linked.ask_session(key, |session, data, handle| {
                Ok(Ok::<_, Answer>(session.call_request_header(data, handle)?))
            })
        })
    }

    /// What the session's own requests used, per step and in all; what a fork inherited counts for its parent.
    ///
    /// # Errors
    /// `reentrant`, `unavailable`.
    pub fn usage(&self) -> Result<Usage> {
        self.ask(|linked, key| {
            linked.ask_session(key, |session, data, handle| {
                Ok(Ok::<_, Answer>(session.call_usage(data, handle)?))
            })
        })
    }

    /// Everything accepted so far is durable, as [`BackendInfo`](crate::BackendInfo) says, when this returns. A
    /// session without events stores nothing. After an error the next flush tries again.
    ///
    /// # Errors
    /// What the backend answers, `busy` above all: the lease was lost.
    pub fn flush(&self) -> Result<()> {
        self.ask_waiting(|linked, key| {
            linked.ask_storing(key, |session, data, handle| {
                session.call_flush(data, handle)
            })
        })
    }

    /// Stores the header now although there is no event.
    ///
    /// # Errors
    /// What the backend answers.
    pub fn persist(&self) -> Result<()> {
        self.ask_waiting(|linked, key| {
            linked.ask_storing(key, |session, data, handle| {
                session.call_persist(data, handle)
            })
        })
    }

    /// Flushes, gives the lease back, leaves the live list. Idempotent. From inside an observer's callback it answers
    /// ok at once and is done, its errors unseen, when the outer call has returned.
    ///
    /// # Errors
    /// What the backend answers to the flush; the session then stays live.
    pub fn close(&self) -> Result<()> {
        let key = self.handle.entered.key;
        let actor = &self.handle.shared.actor;
        if actor.is_here() {
            actor.post(move |linked| drop(linked.close(key)));
            return Ok(());
        }
        self.ask_waiting(Linked::close)
    }

    /// Tells the observer that the session of a [`Prepared`](crate::Prepared) is live.
    ///
    /// # Errors
    /// `invalid`, reason `session-already-announced`: it was told before; `not-found`: not live; `other`, reason
    /// `listener-error`: the observer's veto, after the session was detached again.
    pub fn announce(&self) -> Result<()> {
        self.ask(Linked::announce)
    }

    /// Leaves the live list without a flush and gives the lease back. What is in memory can still be read, and appended
    /// to, unobserved. Idempotent. From inside an observer's callback it answers ok at once and is done, its errors
    /// unseen, when the outer call has returned.
    ///
    /// # Errors
    /// The session has left in any case: why the lease could not be given back.
    pub fn detach(&self) -> Result<()> {
        let key = self.handle.entered.key;
        let actor = &self.handle.shared.actor;
        if actor.is_here() {
            actor.post(move |linked| drop(linked.detach(key)));
            return Ok(());
        }
        actor.call(move |linked| linked.detach(key))
    }

    fn ask<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Linked, u64) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let key = self.handle.entered.key;
        self.handle
            .shared
            .actor
            .call(move |linked| job(linked, key))
    }

    /// [`Session::ask`] of what needs the lease, which somebody else may hold for a while.
    fn ask_waiting<R: Send + 'static>(
        &self,
        job: impl Fn(&mut Linked, u64) -> Result<R> + Copy + Send + 'static,
    ) -> Result<R> {
        self.handle.shared.ask_waiting(|| self.ask(job))
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Session")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
