//! Into the live list and out of it: prepare, enter, announce, detach.
//!
//! An announced creation and the disposal that the observer is told of come in pairs. Leaving waits while the observer
//! is being told of the creation, and while a sequence outside the loop has not settled.

use std::rc::Rc;

use annals_core::header::{FORMAT_VERSION, Header};
use annals_sdk::{Persistence, Result};

use crate::CreateOptions;
use crate::convert::{LISTENER_ERROR, already_announced, already_live, listener, not_live};
use crate::live::{Access, Edge, Leaving, Live, SessionKey, Slot};
use crate::observer::Observer;
use crate::store::{Store, live_of};

impl<P: Persistence, O: Observer<P>> Store<P, O> {
    /// A new live session; nothing is stored until its first flush.
    ///
    /// # Errors
    /// `already-exists`: live or stored; `invalid`: a header member or the seed breaks a rule; `limit`: a record of
    /// the seed is too long for the backend; `other`, reason `listener-error`: the observer's veto.
    pub fn create(&mut self, options: CreateOptions, time_ms: u64) -> Result<SessionKey> {
        let key = self.prepare(options, time_ms)?;
        self.publish(key)
    }

    /// A session that is validated and built, in no list yet. Several may have one id; only one of them can enter.
    ///
    /// # Errors
    /// `invalid` and `limit` as `create`.
    pub fn prepare(&mut self, options: CreateOptions, time_ms: u64) -> Result<SessionKey> {
        let id = self.new_id(options.id)?;
        let header = Header {
            version: FORMAT_VERSION,
            id,
            created_at_ms: options.created_at_ms.unwrap_or(time_ms),
            cwd: options.cwd,
            parent_session: options.parent_session,
            seed_length: options.seed_length,
            delegation_depth: options.delegation_depth,
            extra: options.extra,
        };
        let seed = options.seed.as_deref().unwrap_or_default();
        let session = self.seeded(header, seed, self.beside(None))?;
        Ok(self.keep(Slot::Prepared(Box::new(Live::new(session)))))
    }

    /// A prepared session goes into the live list, and the observer is not told. So does a detached one again.
    ///
    /// # Errors
    /// `already-exists`: a session of that id, perhaps this very one, is live or stored; it stays prepared.
    /// `not-found`: closed.
    pub fn enter(&mut self, key: SessionKey) -> Result<()> {
        let id = match self.slots.get(&key) {
            Some(slot @ (Slot::Prepared(_) | Slot::Detached(_))) => slot.id().to_owned(),
            Some(slot @ Slot::Live(_)) => return Err(already_live(slot.id())),
            slot @ (Some(Slot::Closed(_)) | None) => return Err(not_live(slot)),
        };
        self.check_new(&id)?;
        match self.slots.remove(&key) {
            Some(Slot::Prepared(live) | Slot::Detached(live)) => self.admit(key, live),
            Some(slot) => drop(self.slots.insert(key, slot)),
            None => {}
        }
        Ok(())
    }

    /// Names the entry by which a session is in the live list, and no other entry of it; none when it is not live.
    pub fn entry(&self, key: SessionKey) -> Option<u64> {
        Some(self.slots.get(&key)?.live()?.entry)
    }

    /// Tell the observer of the creation, once for each entry.
    ///
    /// # Errors
    /// `invalid`, reason `session-already-announced`: told before, or being told now. `not-found`: not live. `other`,
    /// reason `listener-error`: the observer's veto, after the session was detached again.
    pub fn announce(&mut self, key: SessionKey) -> Result<()> {
        let live = live_of(&mut self.slots, key)?;
        let id = live.id().to_owned();
        if live.edge != Edge::Silent {
            return Err(already_announced(&id));
        }
        live.edge = Edge::Announcing;
        let told = Rc::clone(&self.observer).created(self, &id);
        if let Some(live) = self.slots.get_mut(&key).and_then(Slot::live_mut) {
            live.edge = Edge::Announced;
        }
        match told {
            Ok(()) => {
                self.leave_if_due(key);
                Ok(())
            }
            Err(words) => {
                // the veto says more than a lease that stays behind
                let _ = self.detach(key);
                Err(listener(&id, words))
            }
        }
    }

    /// Out of the live list, without a flush, and give the lease back. The observer is told if it was told of the
    /// creation. What is in memory can still be read and appended to, and nobody is told of it. Detaching what is not
    /// live does nothing, so a stale session never takes its successor out.
    ///
    /// # Errors
    /// The session has left in any case: what `release` of the backend answers.
    pub fn detach(&mut self, key: SessionKey) -> Result<()> {
        let Some(Slot::Live(live)) = self.slots.get_mut(&key) else {
            return Ok(());
        };
        if live.is_held() {
            live.leaving.get_or_insert(Leaving::Detach);
            return Ok(());
        }
        let Some(Slot::Live(mut live)) = self.slots.remove(&key) else {
            return Ok(());
        };
        let id = live.id().to_owned();
        let released = match live.token.take() {
            Some(token) if live.access == Access::Write => self.backend.release(&id, &token),
            Some(_) | None => Ok(()),
        };
        let was_announced = live.edge == Edge::Announced;
        live.edge = Edge::Silent;
        live.leaving = None;
        live.forget_medium();
        self.slots.insert(key, Slot::Detached(live));
        if was_announced {
            Rc::clone(&self.observer).disposed(self, &id);
        }
        released
    }

    /// Out of the live list, only what a closed handle answers is kept.
    pub(crate) fn leave_closed(&mut self, key: SessionKey) {
        let Some(slot) = self.slots.get_mut(&key) else {
            return;
        };
        let id = slot.id().to_owned();
        let was_announced = slot.live().is_some_and(|live| live.edge == Edge::Announced);
        *slot = slot.closed();
        if was_announced {
            Rc::clone(&self.observer).disposed(self, &id);
        }
    }

    /// What was to leave in the middle of a callback leaves now. Who asked for it has its answer already.
    pub(crate) fn leave_if_due(&mut self, key: SessionKey) {
        let Some(live) = self.slots.get_mut(&key).and_then(Slot::live_mut) else {
            return;
        };
        if live.is_held() {
            return;
        }
        let left = match live.leaving.take() {
            Some(Leaving::Detach) => self.detach(key),
            Some(Leaving::Close) => self.close(key),
            None => Ok(()),
        };
        if left.is_err_and(|error| error.reason == LISTENER_ERROR) {
            // everything is stored, and who asked for it could not try again
            let _ = self.detach(key);
        }
    }

    /// A prepared session becomes live, or is forgotten.
    pub(crate) fn publish(&mut self, key: SessionKey) -> Result<SessionKey> {
        let published = self.enter(key).and_then(|()| self.announce(key));
        if published.is_err() {
            self.slots.remove(&key);
        }
        published.map(|()| key)
    }

    /// A session that was loaded becomes live, or is forgotten.
    pub(crate) fn publish_loaded(&mut self, live: Live) -> Result<SessionKey> {
        let key = self.next_key();
        self.admit(key, Box::new(live));
        let published = self.announce(key);
        if published.is_err() {
            self.slots.remove(&key);
        }
        published.map(|()| key)
    }

    /// A session that is in no list.
    pub(crate) fn keep(&mut self, slot: Slot) -> SessionKey {
        let key = self.next_key();
        self.slots.insert(key, slot);
        key
    }

    fn admit(&mut self, key: SessionKey, mut live: Box<Live>) {
        self.last_entry += 1;
        live.entry = self.last_entry;
        self.slots.insert(key, Slot::Live(live));
    }

    fn next_key(&mut self) -> SessionKey {
        self.note_entry();
        self.last_key += 1;
        SessionKey(self.last_key)
    }
}
