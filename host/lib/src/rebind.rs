//! Another backend for the sessions that are live.

use std::sync::Arc;

use crate::annals::Annals;
use crate::apart::apart;
use crate::error::{Error, Result};
use crate::link::{Backend, Leaving};
use crate::place::Place;
use crate::records::Bound;

impl Annals {
    /// Another backend takes the place of the present one, while sessions are live. They are flushed first, and then
    /// bound to what is stored in the new place, each with its own outcome: a stored prefix of the session gets the
    /// rest, of what is not there all is stored, and anything else under its id is a collision that is refused. What was
    /// refused stays live with all its events, and only an explicit flush tries again, or the next change; when its last
    /// handle is dropped before, it is let go as it is. No turn is closed. Closed sessions stay where they were closed.
    ///
    /// The present backend, and so the first one, has to be linked dynamically, or absent
    /// ([`Backend::None`](crate::Backend::None)).
    ///
    /// # Errors
    /// Nothing has changed, every lease included: `invalid`, reason `backend-linked-statically`; what
    /// [`Builder::build`](crate::Builder::build) answers to the new place; what the first flush that fails answers, after
    /// all were tried ([`Annals::rescue`] does without).
    /// A place that configured well once and then did not: the former backend goes on, the leases are taken again, and
    /// the error names under `refused` the sessions that it did not take back; they stay live with all their events.
    /// `unavailable`, reason `backend-lost`: the new place could not be configured and the former backend does not
    /// answer any more; there is none now, and sessions live on in memory.
    pub fn rebind(&self, to: Place) -> Result<Vec<Bound>> {
        self.swap(to, Leaving::Flushed)
    }

    /// [`Annals::rebind`] away from a backend that stores nothing any more, for it is full or gone. Nothing is flushed
    /// there; the new place gets what each session has in memory, which is everything.
    ///
    /// # Errors
    /// As [`Annals::rebind`], except for those of flushing.
    pub fn rescue(&self, to: Place) -> Result<Vec<Bound>> {
        self.swap(to, Leaving::AsItIs)
    }

    fn swap(&self, to: Place, leaving: Leaving) -> Result<Vec<Bound>> {
        if self.shared.actor.is_here() {
            return Err(Error::reentrant());
        }
        // Before the new place's root is made.
        self.ask(|linked| linked.check_replaceable())?;
        // Compiled and tried here, so that the other thread goes on renewing leases.
        let chosen = to.choose()?;
        let chosen = apart(|| chosen.map(Backend::tried).transpose())?;
        let noted = Arc::clone(&self.shared.info);
        self.ask(move |linked| {
            let bound = linked.swap(chosen, leaving);
            noted.note(linked);
            bound
        })
    }
}
