//! A backend takes the place of another one while sessions are live.

use annals_sdk::{Persistence, Result};

use crate::backend::Backend;
use crate::flush::{Least, drain};
use crate::lease::hold;
use crate::live::{Access, Live, SessionKey, Slot};
use crate::medium::{Found, adopt};
use crate::observer::Observer;
use crate::store::{Store, live_of};
use crate::{Binding, Bound};

impl<P: Persistence, O: Observer<P>> Store<P, O> {
    /// Before a backend that still answers is replaced: flush every live session, then give every lease back. The
    /// sessions stay live.
    ///
    /// # Errors
    /// `not-configured`; what the first flush that fails answers: every session was tried and no lease given back. What
    /// `release` of the backend answers: the other leases were given back.
    pub fn unbind(&mut self) -> Result<()> {
        self.backend.configured()?;
        let mut flushed = Ok(());
        for key in self.keys_in_order() {
            let of_this = match self.slots.get(&key).and_then(Slot::live) {
                Some(live) if live.access == Access::Write => self.flush(key),
                Some(_) | None => Ok(()),
            };
            flushed = flushed.and(of_this);
        }
        flushed?;
        self.release_all()
    }

    /// After the backend was replaced and configured: bind every live session to what is stored there. Where that is a
    /// prefix of the session, the rest is stored; where there is nothing, all of it; anything else is a collision, and
    /// that session stores nothing. An open turn stays open. Answers what became of each session, in the order of the
    /// live list; one that could not be bound keeps its events, and its next flush tries again.
    ///
    /// # Errors
    /// `not-configured`.
    pub fn adopt(&mut self) -> Result<Vec<Bound>> {
        self.backend.configured()?;
        // where the medium is the old one, the leases on it are ours; where it is not, nobody knows them
        let _ = self.release_all();
        self.backend.root = None;
        let mut bound = Vec::new();
        for key in self.keys_in_order() {
            let live = live_of(&mut self.slots, key)?;
            let id = live.id().to_owned();
            let (binding, error) = match bind(&mut self.backend, live) {
                Ok(binding) => (binding, None),
                Err(error) => (Binding::Refused, Some(error)),
            };
            bound.push(Bound { id, binding, error });
        }
        Ok(bound)
    }

    /// Live sessions in the order of the list.
    pub(crate) fn keys_in_order(&self) -> Vec<SessionKey> {
        let entries = self.slots.iter();
        let mut keys: Vec<(u64, SessionKey)> = entries
            .filter_map(|(key, slot)| Some((slot.live()?.entry, *key)))
            .collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, key)| key).collect()
    }
}

fn bind<P: Persistence>(backend: &mut Backend<P>, live: &mut Live) -> Result<Binding> {
    if live.access == Access::ReadOnly {
        return Ok(Binding::Inspected);
    }
    live.forget_medium();
    let id = live.id().to_owned();
    let is_stored = backend.reading(&id, |backend| backend.has(&id))?;
    if !is_stored {
        drain(backend, live, Least::Events)?;
        return Ok(Binding::Stored);
    }
    let token = hold(backend, live)?;
    let refused = match adopt(backend, live, &token) {
        Ok(Found::Prefix) => {
            // whoever stored the first prompt has noted it, or a user wrote another one since
            live.prompt_is_due = live.session.first_prompt_in(0..live.cursor).is_none();
            live.prompt_may_be_there = true;
            drain(backend, live, Least::Events)?;
            return Ok(Binding::Adopted);
        }
        // gone since it was seen
        Ok(Found::Nothing) => {
            drain(backend, live, Least::Events)?;
            return Ok(Binding::Stored);
        }
        Ok(Found::Collision(collision)) => collision,
        Err(error) => error,
    };
    // what is not ours to write is not ours to hold; the error says more
    let _ = backend.release(&id, &token);
    live.token = None;
    Err(refused)
}
