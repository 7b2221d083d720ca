//! Looking after a medium: what lies there besides sessions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::apart::apart;
use crate::error::Result;
use crate::holder;
use crate::link::Tended;
use crate::place::Place;
use crate::records::Litter;

/// What a backend knows of its medium besides sessions, where it has that interface: files that killed writers left,
/// leases that nobody gave back, sidecars without a log.
///
/// It runs a backend of its own on the same place, on the caller's thread, and takes no lease.
pub struct Upkeep {
    /// None without a backend.
    tended: Mutex<Option<Tended>>,
}

impl Upkeep {
    /// The backend of that place, which has to be there.
    ///
    /// # Errors
    /// As [`Builder::build`](crate::Builder::build).
    pub fn new(place: Place) -> Result<Self> {
        let chosen = place.choose()?;
        let tended = apart(|| chosen.map(Tended::new).transpose())?;
        Ok(Self {
            tended: Mutex::new(tended),
        })
    }

    /// At most `count_max` finds, and nothing is written; none at all from a backend without the interface. What is at
    /// work just now is among them: see [`Upkeep::is_gone`].
    ///
    /// # Errors
    /// What the backend answers.
    pub fn inspect(&self, count_max: u32) -> Result<Vec<Litter>> {
        match self.tended().as_mut() {
            Some(tended) => apart(|| tended.inspect(count_max)),
            None => Ok(Vec::new()),
        }
    }

    /// Removes one of these finds; ok where it is gone already.
    ///
    /// # Errors
    /// `busy`: somebody else has the lease now; `invalid`: it is none that may be removed.
    pub fn remove(&self, found: &Litter) -> Result<()> {
        match self.tended().as_mut() {
            Some(tended) => apart(|| tended.remove(&found.place, found.token.as_deref())),
            None => Ok(()),
        }
    }

    /// Whether the process that a holder's JSON names is known to be gone. Of one on another host nobody knows.
    #[must_use]
    pub fn is_gone(holder: &str) -> bool {
        serde_json::from_str(holder)
            .is_ok_and(|holder| holder::is_gone(&holder) || holder::is_of_an_earlier_boot(&holder))
    }

    /// Whether a holder's JSON names a process that nobody can look for here: it runs on another host, or does not say
    /// where.
    #[must_use]
    pub fn is_elsewhere(holder: &str) -> bool {
        serde_json::from_str(holder).is_ok_and(|holder| holder::is_elsewhere(&holder))
    }

    fn tended(&self) -> MutexGuard<'_, Option<Tended>> {
        self.tended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Upkeep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Upkeep").finish_non_exhaustive()
    }
}
