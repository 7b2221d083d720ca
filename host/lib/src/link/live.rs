//! The live sessions that handles point to.

use std::time::Instant;

use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::{Data, Linked};
use crate::bindings::store::annals::session::types;
use crate::bindings::store::exports::annals::session::store::GuestSession;
use crate::error::{Error, Result};
use crate::records::{Batch, ErrorCode, LeaseScope, SessionHeader};
use crate::watch::Busy;

/// Reason of a session whose lease is somebody else's now.
const LEASE_LOST: &str = "lease-lost";

/// Start, event and end of an append outside the loop, where no turn was open.
const OWN_TURN_EVENTS: u64 = 3;

pub(super) struct Live {
    handle: ResourceAny,
    pub(super) id: String,
    pub(super) is_closed: bool,
    /// Whether the last call that was to make events durable failed: the caller was told so, and only the caller
    /// tries again.
    pub(super) has_failed: bool,
}

/// A session that a handle may point to.
pub(crate) struct Entered {
    pub(crate) key: u64,
    pub(crate) header: SessionHeader,
}

impl Linked {
    /// [`Linked::ask`] of a live session.
    pub(crate) fn ask_session<R>(
        &mut self,
        key: u64,
        call: impl FnOnce(
            GuestSession<'_>,
            &mut Store<Data>,
            ResourceAny,
        ) -> wasmtime::Result<std::result::Result<R, types::Error>>,
    ) -> Result<R> {
        let handle = self.live(key)?.handle;
        self.ask(|store, data| call(store.session(), data, handle))
    }

    /// Asks, and when the holder of a lease in the way is gone or was silent for too long, takes it and asks again.
    pub(crate) fn ask_judging<R>(
        &mut self,
        id: &String,
        ask: impl Fn(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let asked = Instant::now();
        match ask(self) {
            Err(error) if self.evict_if_due(id, &error, asked)? => ask(self),
            Err(error) => Err(self.with_silence(id, error)),
            Ok(answer) => Ok(answer),
        }
    }

    /// Whether the error, of a call that began when `asked`, names a holder of the session's lease from whom it may be
    /// taken: it may now.
    pub(super) fn evict_if_due(
        &mut self,
        id: &String,
        error: &Error,
        asked: Instant,
    ) -> Result<bool> {
        // Whoever lost a lease in the middle of a call is not to do it again to what the next one stored.
        if error.code != ErrorCode::Busy || error.reason == LEASE_LOST {
            return Ok(false);
        }
        let Some(busy) = Busy::parse(&error.detail) else {
            return Ok(false);
        };
        let Some(why) = self.watch.judge(id, &busy, asked) else {
            return Ok(false);
        };
        let token = busy.token;
        let eviction = types::Eviction { token, why };
        self.ask(|store, data| store.call_evict(data, id, &eviction))?;
        Ok(true)
    }

    /// The error with the fact for how long the holder of the lease in the way has shown no sign of life.
    fn with_silence(&self, id: &str, error: Error) -> Error {
        let busy = Busy::parse(&error.detail).filter(|_| error.code == ErrorCode::Busy);
        let silent = busy.and_then(|busy| self.watch.silent_for(id, &busy, Instant::now()));
        match silent {
            None => error,
            Some(silent) => {
                let silent_ms = u64::try_from(silent.as_millis()).unwrap_or(u64::MAX);
                error.fact("silent-ms", silent_ms)
            }
        }
    }

    /// [`Linked::ask_session`] of what stores events, at the caller's wish. A lease in the way is judged; a failure is
    /// remembered.
    pub(crate) fn ask_storing(
        &mut self,
        key: u64,
        call: impl Fn(
            GuestSession<'_>,
            &mut Store<Data>,
            ResourceAny,
        ) -> wasmtime::Result<std::result::Result<(), types::Error>>,
    ) -> Result<()> {
        let id = self.live(key)?.id.clone();
        let answer = self.ask_judging(&id, |linked| linked.ask_session(key, &call));
        if let Some(live) = self.sessions.get_mut(&key) {
            live.has_failed = answer.as_ref().is_err_and(|error| !is_veto(error));
        }
        answer
    }

    /// An append outside the loop, which stores what it appends in a turn of its own. A lease in the way is judged; that
    /// the events could not be stored is remembered, and so is that they could.
    ///
    /// The outer error is one before anything was appended, so that it may be tried again; the inner one came after.
    pub(crate) fn append_out_of_band(
        &mut self,
        key: u64,
        event: &str,
        trigger: &str,
        time_ms: u64,
    ) -> Result<Result<Batch>> {
        let before = self.next_seq(key)?;
        let append = |linked: &mut Self| {
            linked.ask_session(key, |session, data, handle| {
                session.call_append_out_of_band(data, handle, event, trigger, time_ms)
            })
        };
        let id = self.live(key)?.id.clone();
        let asked = Instant::now();
        let mut answer = append(self);
        // Asked again only where nothing was appended yet: the lease comes first.
        if let Err(error) = &answer
            && self.next_seq(key).ok() == Some(before)
            && self.evict_if_due(&id, error, asked)?
        {
            answer = append(self);
        }
        let appended = self.next_seq(key).ok();
        let appended = appended.map(|after| after.saturating_sub(before));
        if appended == Some(0) {
            return answer
                .map(Ok)
                .map_err(|error| self.with_silence(&id, error));
        }
        let is_refused = |error: &Error| {
            let is_refusal = matches!(error.code, ErrorCode::Invalid | ErrorCode::Limit);
            is_refusal && appended < Some(OWN_TURN_EVENTS)
        };
        match &answer {
            // Behind a start of its own it was flushed; alone in an open turn it was not.
            Ok(batch) if batch.first_seq > before => self.note_failed(key, false),
            Ok(_) => {}
            Err(error) if is_veto(error) => self.note_failed(key, false),
            // The event was refused, its turn closed and flushed; how that went nobody said.
            Err(error) if is_refused(error) => self.make_good(key),
            Err(_) => self.note_failed(key, true),
        }
        Ok(answer)
    }

    fn note_failed(&mut self, key: u64, has_failed: bool) {
        if let Some(live) = self.sessions.get_mut(&key) {
            live.has_failed = has_failed;
        }
    }

    /// After a failure, and a flush of which nothing is known: finds out whether everything is stored now.
    fn make_good(&mut self, key: u64) {
        if self.live(key).is_ok_and(|live| live.has_failed) {
            // Remembers what it finds out; the caller is told of the refusal.
            let _ = self.ask_storing(key, |session, data, handle| {
                session.call_flush(data, handle)
            });
        }
    }

    /// Tells the observer of an entry. One that is vetoed has left.
    pub(crate) fn announce(&mut self, key: u64) -> Result<()> {
        let announced = self.ask_session(key, |session, data, handle| {
            session.call_announce(data, handle)
        });
        if announced.is_err() {
            self.note_left(key);
        }
        announced
    }

    /// After an error that the session may have left with: notes whether it did. Its handle may no longer close it
    /// then, for its entry in the store may belong to a later one.
    fn note_left(&mut self, key: u64) {
        let ids = self.ask(|store, data| Ok(Ok::<_, types::Error>(store.call_live(data)?)));
        if let (Ok(ids), Some(live)) = (ids, self.sessions.get_mut(&key)) {
            live.is_closed |= !ids.contains(&live.id);
        }
    }

    /// The seq of the session's next event.
    pub(crate) fn next_seq(&mut self, key: u64) -> Result<u64> {
        self.ask_session(key, |session, data, handle| {
            Ok(Ok::<_, types::Error>(session.call_next_seq(data, handle)?))
        })
    }

    /// Keeps a session that the store has just made.
    pub(crate) fn enter(&mut self, handle: ResourceAny) -> Result<Entered> {
        let header = self.ask(|store, data| {
            let header = store.session().call_header(data, handle)?;
            Ok(Ok::<_, types::Error>(header))
        })?;
        let key = self.next_key;
        self.next_key += 1;
        self.sessions.insert(
            key,
            Live {
                handle,
                id: header.id.clone(),
                is_closed: false,
                has_failed: false,
            },
        );
        Ok(Entered { key, header })
    }

    /// No handle points to the session any more, so it is closed. One that cannot be stays live, to be closed at the
    /// end. After a failure that the caller knows of it is let go as it is: what was reported as not stored must not be
    /// stored behind the back of a caller who does it again elsewhere.
    pub(crate) fn forget(&mut self, key: u64) {
        let Ok(live) = self.live(key) else { return };
        let has_left = if live.is_closed {
            true
        } else if live.has_failed {
            // It has left also when its lease cannot be given back.
            let _ = self.ask_session(key, |session, data, handle| {
                session.call_detach(data, handle)
            });
            true
        } else {
            let id = live.id.clone();
            let closed = self.ask_judging(&id, |linked| {
                linked.ask_session(key, |session, data, handle| {
                    session.call_close(data, handle)
                })
            });
            if let Err(error) = &closed
                && (error.reason == LEASE_LOST || is_veto(error))
            {
                // Nothing of it can be stored any more, and it may have left with that or be known as lost only now. Or
                // everything is stored, and nobody is there to make the observer content.
                let _ = self.ask_session(key, |session, data, handle| {
                    session.call_detach(data, handle)
                });
                true
            } else {
                closed.is_ok()
            }
        };
        if has_left && let Some(live) = self.sessions.remove(&key) {
            // Fails only when the store has trapped, and then there is nothing to drop.
            let _ = live.handle.resource_drop(&mut self.store);
        }
    }

    /// [`Linked::forget`] of every session.
    pub(crate) fn forget_all(&mut self) {
        let keys: Vec<u64> = self.sessions.keys().copied().collect();
        for key in keys {
            self.forget(key);
        }
    }

    pub(crate) fn close(&mut self, key: u64) -> Result<()> {
        if self.live(key)?.is_closed {
            return Ok(());
        }
        let closed = self.ask_storing(key, |session, data, handle| {
            session.call_close(data, handle)
        });
        if closed.is_err() {
            // One that lost its lease leaves all the same.
            self.note_left(key);
        } else if let Some(live) = self.sessions.get_mut(&key) {
            live.is_closed = true;
        }
        closed
    }

    /// Closes what it can and answers the first error.
    pub(crate) fn close_all(&mut self) -> Result<()> {
        let mut first = Ok(());
        for key in self.open_keys() {
            let closed = self.close(key);
            first = first.and(closed);
        }
        first
    }

    /// Keys of what was not closed.
    pub(super) fn open_keys(&self) -> Vec<u64> {
        let open = self.sessions.iter().filter(|(_, live)| !live.is_closed);
        open.map(|(key, _)| *key).collect()
    }

    /// Whether a lease may be held that others would find abandoned.
    pub(crate) fn needs_renewal(&self) -> bool {
        let has_leases = self
            .info()
            .is_some_and(|info| info.lease != LeaseScope::None);
        has_leases && self.sessions.values().any(|live| !live.is_closed)
    }

    /// Shows that this process is alive. A session whose lease was lost refuses its next write, which is soon enough.
    /// Whether the backend answered.
    pub(crate) fn renew(&mut self) -> bool {
        let renewed = self.ask(|store, data| store.call_renew(data));
        !renewed.is_err_and(|error| error.code == ErrorCode::Unavailable)
    }

    /// The session of this id that can still be written or read as a live one.
    pub(crate) fn key_of(&self, id: &str) -> Option<u64> {
        let mut live = self.sessions.iter();
        let found = live.find(|(_, live)| live.id == id && !live.is_closed);
        found.map(|(key, _)| *key)
    }

    pub(super) fn live(&self, key: u64) -> Result<&Live> {
        self.sessions.get(&key).ok_or_else(|| {
            let message = "the session is closed; open it again";
            Error::new(ErrorCode::NotFound, "session-closed", message, &[])
        })
    }
}

/// An observer's own words: it is told of a flush once everything is stored.
fn is_veto(error: &Error) -> bool {
    error.code == ErrorCode::Other && error.reason == "listener-error"
}
