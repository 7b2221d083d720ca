//! Leases: who may write a session, by number of token. Where the backend knows one lease for the whole root, it is
//! taken once and shared.

use annals_sdk::types::{Error, ErrorCode, Eviction, LeaseScope};
use annals_sdk::{Persistence, Result};
use serde_json::{Map, Value};

use crate::backend::Backend;
use crate::convert::lease_lost;
use crate::live::{Access, Live};
use crate::observer::Observer;
use crate::store::Store;

/// How many sessions are remembered that were to be deleted and could not be yet.
const TO_DELETE_MAX: usize = 4096;

/// The session was written since it was to be deleted.
const SESSION_CHANGED: &str = "session-changed";

/// What the backend says that is stored, for it to compare later.
fn stored_of(busy: &Error) -> Option<String> {
    let detail: Value = serde_json::from_str(&busy.detail).ok()?;
    detail.get("stored")?.as_str().map(str::to_owned)
}

/// The lease of the whole root and how many share it.
pub(crate) struct Root {
    token: String,
    users: usize,
}

impl<P: Persistence> Backend<P> {
    pub(crate) fn has_root_lease(&self) -> bool {
        self.info()
            .is_some_and(|info| info.lease == LeaseScope::Root)
    }

    /// The token to write session `id` with.
    pub(crate) fn acquire(&mut self, id: &str) -> Result<String> {
        let holder = self.holder.clone();
        self.acquire_as(id, &holder)
    }

    /// The token to delete session `id` with, as it was stored when that was first asked for.
    pub(crate) fn acquire_to_delete(&mut self, id: &str) -> Result<String> {
        let mut holder: Map<String, Value> = serde_json::from_str(&self.holder).unwrap_or_default();
        holder.insert("task".to_owned(), Value::from("delete"));
        let stored = self.to_delete.remove(id);
        if let Some(stored) = &stored {
            holder.insert("stored".to_owned(), Value::from(stored.as_str()));
        }
        let taken = self.acquire_as(id, &Value::from(holder).to_string());
        let Err(busy) = taken else { return taken };
        if busy.reason == SESSION_CHANGED {
            // since a call before this one
            return Err(match stored {
                Some(_) => busy.fact("asked-before", true),
                None => busy,
            });
        }
        if busy.code == ErrorCode::Busy
            && let Some(stored) = stored.or_else(|| stored_of(&busy))
        {
            if self.to_delete.len() >= TO_DELETE_MAX {
                self.to_delete.clear();
            }
            self.to_delete.insert(id.to_owned(), stored);
        }
        Err(busy)
    }

    fn acquire_as(&mut self, id: &str, holder: &str) -> Result<String> {
        let is_root = self.has_root_lease();
        if let Some(root) = self.root.as_mut().filter(|_| is_root) {
            root.users += 1;
            return Ok(root.token.clone());
        }
        // used up by this attempt, whatever comes of it: the host judges anew what a second `busy` names
        let eviction = self.evictions.remove(id);
        let of = (!is_root).then_some(id);
        let token = self.configured()?.acquire(of, holder, eviction.as_ref())?;
        if is_root {
            self.root = Some(Root {
                token: token.clone(),
                users: 1,
            });
        }
        Ok(token)
    }

    /// Give back what `acquire` gave.
    pub(crate) fn release(&mut self, id: &str, token: &str) -> Result<()> {
        if !self.has_root_lease() {
            return self.configured()?.release(Some(id), token);
        }
        let Some(root) = self.root.as_mut().filter(|root| root.token == token) else {
            return Ok(());
        };
        root.users = root.users.saturating_sub(1);
        // a root that could not be given back stays ours, for the next call to use or to give back
        if root.users == 0 && self.configured()?.release(None, token).is_ok() {
            self.root = None;
        }
        Ok(())
    }

    /// A call that needs no lease of its own: under the root's, where there is one. Without an id nobody is evicted.
    pub(crate) fn reading<R>(
        &mut self,
        id: &str,
        call: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.configured()?;
        if !self.has_root_lease() {
            return call(self);
        }
        let token = self.acquire(id)?;
        let result = call(self);
        self.release(id, &token)?;
        result
    }
}

/// The token of a live session, taken now if it has none.
pub(crate) fn hold<P: Persistence>(backend: &mut Backend<P>, live: &mut Live) -> Result<String> {
    match live.access {
        Access::ReadOnly => return Err(crate::convert::read_only(live.id())),
        Access::Lost => return Err(lease_lost(live.id())),
        Access::Write => {}
    }
    if let Some(token) = &live.token {
        return Ok(token.clone());
    }
    let token = backend.acquire(live.id())?;
    live.token = Some(token.clone());
    Ok(token)
}

impl<P: Persistence, O: Observer<P>> Store<P, O> {
    /// Keep the leases of open sessions; the host calls it about once a second.
    ///
    /// # Errors
    /// `busy`: one was lost; its session refuses every further write. An error of the backend, as it came, when a
    /// lease could not be renewed for another reason; the others are renewed all the same.
    pub fn renew(&mut self) -> Result<()> {
        let mut failed = None;
        let mut lost = None;
        let is_root = self.backend.has_root_lease();
        let root = match &self.backend.root {
            Some(root) if is_root => {
                let token = root.token.clone();
                Some(self.backend.configured()?.renew(None, &token))
            }
            Some(_) | None => None,
        };
        for slot in self.slots.values_mut() {
            let Some(live) = slot.live_mut() else {
                continue;
            };
            let (Some(token), Access::Write) = (&live.token, live.access) else {
                continue;
            };
            let renewed = match &root {
                Some(renewed) => renewed.clone(),
                None => self.backend.configured()?.renew(Some(live.id()), token),
            };
            match renewed {
                Ok(()) => {}
                Err(error) if error.code == ErrorCode::Busy => {
                    live.access = Access::Lost;
                    lost.get_or_insert_with(|| lease_lost(live.id()));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if root.is_some_and(|renewed| renewed.is_err_and(|error| error.code == ErrorCode::Busy)) {
            self.backend.root = None;
        }
        lost.or(failed).map_or(Ok(()), Err)
    }

    /// Give back every lease, before another medium takes the place of this one: later nobody could. A session that
    /// goes on here all the same takes its lease again at its next write. One that cannot be given back goes to the
    /// next writer once it was silent for long enough.
    pub(crate) fn release_all(&mut self) -> Result<()> {
        let mut released = Ok(());
        for slot in self.slots.values_mut() {
            let Some(live) = slot.live_mut() else {
                continue;
            };
            if live.access == Access::Write
                && let Some(token) = live.token.take()
            {
                let of_this = self.backend.release(live.id(), &token);
                released = released.and(of_this);
            }
        }
        released
    }

    /// What the host found out about the holder that a `busy` named; used by the next acquire for this session only.
    ///
    /// # Errors
    /// `invalid`: an empty id or token.
    pub fn evict(&mut self, id: &str, holder: Eviction) -> Result<()> {
        crate::convert::check_id(id)?;
        if holder.token.is_empty() {
            let message = "an eviction has no token; use the one that busy named";
            return Err(Error::new(
                ErrorCode::Invalid,
                "eviction-token-empty",
                message,
            ));
        }
        self.backend.configured()?;
        self.backend.evictions.insert(id.to_owned(), holder);
        Ok(())
    }
}
