//! Sessions that enter the live list, are announced and leave it in separate moves.

use wasmtime::component::ResourceAny;

use super::{Entered, Linked};
use crate::error::{Error, Result};
use crate::records::ErrorCode;

impl Linked {
    /// Keeps what the store has just prepared.
    pub(crate) fn keep_prepared(&mut self, handle: ResourceAny) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        self.prepared.insert(key, handle);
        key
    }

    /// Lets a prepared session into the live list.
    pub(crate) fn enter_prepared(&mut self, key: u64) -> Result<Entered> {
        let handle = *self.prepared.get(&key).ok_or_else(|| {
            let message = "nothing is prepared under this handle any more; prepare again";
            Error::new(ErrorCode::NotFound, "session-not-prepared", message, &[])
        })?;
        let session = self.ask(|store, data| store.prepared().call_enter(data, handle))?;
        self.enter(session)
    }

    /// No handle points to what was prepared any more.
    pub(crate) fn forget_prepared(&mut self, key: u64) {
        if let Some(handle) = self.prepared.remove(&key) {
            // Fails only when the store has trapped, and then there is nothing to drop.
            let _ = handle.resource_drop(&mut self.store);
        }
    }

    /// Lets a session leave the live list as it is. It has left also when its lease cannot be given back.
    pub(crate) fn detach(&mut self, key: u64) -> Result<()> {
        if self.live(key)?.is_closed {
            return Ok(());
        }
        let detached = self.ask_session(key, |session, data, handle| {
            session.call_detach(data, handle)
        });
        if let Some(live) = self.sessions.get_mut(&key) {
            live.is_closed = true;
        }
        detached
    }
}
