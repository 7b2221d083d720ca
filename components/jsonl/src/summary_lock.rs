//! One update of a summary at a time, among processes that hold no lease.
//!
//! Who updates makes `<name>.summary.lock` exclusively, with 16 hex digits of its own in it, and writes under
//! `<name>.<its digits>.summary.tmp`. A lock that does not change for long is of somebody who died or was stopped. It is
//! broken: it goes away, and its temporary file. Whoever gets the lock removes every temporary file of that summary before
//! it reads the summary, also those of holders whose lock somebody else broke or is just breaking. A holder looks at the
//! lock after it has made its file and before it renames it; so either it sees that the lock is not its own any more, or
//! its file is gone, or its update was there to be read. In the first two cases it begins again: no update is lost in
//! another.
//!
//! Who updates may hold a lease, and cannot renew it meanwhile: it waits for less than half the time to live.

use std::io::ErrorKind;

use annals_core::fault::quoted;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};

use crate::fault;
use crate::files::{Kind, Mode, PAUSE_MS};
use crate::lines;
use crate::litter;
use crate::place::Place;
use crate::root::Root;

/// How often one unchanged lock is waited for, a pause each: two seconds at most on a real medium.
const PAUSES_MAX: u64 = 400;

/// How often all holders together are waited for, at least: a lock that is left has to be broken.
const PAUSES_IN_ALL_MIN: u64 = 4;

/// More than a lock holds.
const LOCK_BYTES_MAX: usize = 64;

/// How long one update waits for others.
pub(crate) struct Wait {
    /// How often one unchanged lock is waited for.
    of_one_max: u64,
    /// How often holders are looked at, from now on.
    left: u64,
}

impl Wait {
    /// Less than half of `ttl_ms`, also where a pause takes somewhat longer than it should.
    pub(crate) fn below(ttl_ms: u64) -> Wait {
        let left = (ttl_ms / 3 / PAUSE_MS).clamp(PAUSES_IN_ALL_MIN, 10 * PAUSES_MAX);
        let of_one_max = PAUSES_MAX.min(left / 2);
        Wait { of_one_max, left }
    }
}

impl Root {
    /// The digits of the holder that this call became.
    pub(crate) fn lock_summary(
        &mut self,
        id: &str,
        place: &Place,
        wait: &mut Wait,
    ) -> Result<String> {
        let relative = litter::lock(place);
        let own = litter::digits();
        let mut seen = String::new();
        let mut pauses = 0;
        while wait.left > 0 {
            wait.left -= 1;
            match self.files.open(&self.path(&relative), Mode::New) {
                Ok(mut file) => {
                    let written = file.write_all(own.as_bytes());
                    return match written {
                        Ok(()) => Ok(own),
                        Err(error) => {
                            self.discard(&relative);
                            Err(fault::of_files("write", &relative, &error))
                        }
                    };
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                // the bucket went with its last session
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(Error::not_found(id));
                }
                Err(error) => return Err(fault::of_files("write", &relative, &error)),
            }
            let Some(holder) = self.summary_holder(place)? else {
                continue;
            };
            if holder != seen {
                seen.clone_from(&holder);
                pauses = 0;
            }
            if pauses == wait.of_one_max || self.left_locks.remove(&holder) {
                self.break_summary_lock(place, &holder)?;
            } else {
                pauses += 1;
                self.files.pause();
            }
        }
        let message = format!(
            "the summary of session {} is being changed by others; try again",
            quoted(id)
        );
        Err(Error::new(ErrorCode::Busy, "summary-contended", message))
    }

    /// Whether the lock is still this holder's.
    pub(crate) fn has_summary_lock(&self, place: &Place, own: &str) -> Result<bool> {
        Ok(self.summary_holder(place)?.as_deref() == Some(own))
    }

    /// Gives the lock back, if it is still this one. One that stays is known by its digits, and in nobody's way here.
    pub(crate) fn unlock_summary(&mut self, place: &Place, own: String) {
        let is_left = match self.has_summary_lock(place, &own) {
            Ok(true) => self.remove(&litter::lock(place)).is_err(),
            Ok(false) => false,
            Err(_) => true,
        };
        if is_left {
            self.left_locks.insert(own);
        }
    }

    /// Who has the lock; none where nobody has.
    pub(crate) fn summary_holder(&self, place: &Place) -> Result<Option<String>> {
        self.digits_in(&litter::lock(place))
    }

    fn digits_in(&self, relative: &str) -> Result<Option<String>> {
        self.check_file(relative)?;
        let mut file = match self.files.open(&self.path(relative), Mode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fault::of_reading(relative, &error)),
        };
        let mut bytes = Vec::new();
        lines::read_more(file.as_mut(), 0, LOCK_BYTES_MAX, &mut bytes)
            .map_err(|error| fault::of_reading(relative, &error))?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Takes the lock away from a holder that does not go on.
    pub(crate) fn break_summary_lock(&self, place: &Place, holder: &str) -> Result<()> {
        let (lock, taken) = (litter::lock(place), self.summary_temporary(place));
        match self.files.rename(&self.path(&lock), &self.path(&taken)) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(fault::of_files("rename", &lock, &error)),
        }
        if self.digits_in(&taken)?.as_deref() != Some(holder) {
            // somebody quicker broke it, and this is the next one's, who tries again if it stays away
            let _ = self.publish(&taken, &lock);
            self.discard(&taken);
            return Ok(());
        }
        let made = litter::summary_temporary_of(place, holder);
        if self.kind(&made)? == Some(Kind::File) {
            self.remove(&made)?;
        }
        self.discard(&taken);
        Ok(())
    }
}
