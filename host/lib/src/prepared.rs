//! A session that is in no list yet.

use std::sync::Arc;

use crate::annals::Shared;
use crate::error::Result;
use crate::session::Session;

/// A session that was checked and built and is in no list yet.
///
/// For hosts that set a session up, and tear it down, together with something else: [`Prepared::enter`], set up the
/// rest, [`Session::announce`]; at the end flush, tear the rest down, [`Session::detach`]. Dropping it forgets what did
/// not enter; the session of one that entered goes on.
pub struct Prepared {
    shared: Arc<Shared>,
    key: u64,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let key = self.key;
        self.shared
            .actor
            .post(move |linked| linked.forget_prepared(key));
    }
}

impl Prepared {
    pub(crate) fn new(shared: Arc<Shared>, key: u64) -> Self {
        Self { shared, key }
    }

    /// Into the live list, and no observer is told: [`Session::announce`] does that.
    ///
    /// # Errors
    /// `already-exists`: a session of this id, perhaps this very one, is live or stored; it stays prepared.
    pub fn enter(&self) -> Result<Session> {
        let key = self.key;
        let entered = self
            .shared
            .actor
            .call(move |linked| linked.enter_prepared(key))?;
        Ok(Session::new(Arc::clone(&self.shared), entered))
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Prepared")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
