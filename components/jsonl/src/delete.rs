//! Removing a session, by a writer that may have lost the right to while it was stopped.
//!
//! No file goes before it is out of the way under a name of its own and the lease is seen to be held after that. A writer
//! that was stopped for longer than the time to live, and overtaken, so finds out that what it moved is its successor's,
//! and gives it its name back, never over what has that name by then.
//!
//! Who updates a summary holds no lease. What it makes beside the log before that is gone is removed after it; later it
//! finds that there is no log, see `summary.rs`.

use std::io::{self, ErrorKind};

use annals_core::fault::quoted;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};

use crate::claim::UNLEASED;
use crate::cut::cut_of;
use crate::fault;
use crate::files::{Kind, Mode};
use crate::lease::number_of;
use crate::litter;
use crate::place::Place;
use crate::root::Root;

/// A session that is gone, but not for good yet.
pub(crate) struct Removed {
    bucket: String,
    /// Its log, out of the way.
    aside: Option<String>,
}

impl Root {
    /// Removes the session: what lies beside the log first, so that no later session of this id inherits it.
    pub fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        let place = self.place_to_write(id)?;
        self.check_lease(id, token)?;
        if self.remove_beside(&place, id, token)? {
            // also after a power loss nothing may be left beside a log that is gone
            self.sync_removal(&place.bucket)?;
        }
        self.remove_as_holder(&place, &place.log(), id, token)?;
        self.forget(id);
        let bucket = place.bucket.clone();
        let aside = None;
        self.removed
            .insert(id.to_owned(), Removed { bucket, aside });
        // an update may have been under way
        self.remove_beside(&place, id, token)
            .map_err(|error| not_for_good(id, "its summary may still be there", error))?;
        // the session is gone: a lease that stays is only in the way until its holder is known to be
        let _ = self.remove_lease(id, token);
        self.settle_removal(id)
    }

    // Whether there was anything.
    fn remove_beside(&mut self, place: &Place, id: &str, token: &str) -> Result<bool> {
        let mut beside = self.names(&place.bucket)?;
        beside.retain(|(name, kind)| *kind != Kind::Directory && is_beside(name, &place.name));
        for (name, _) in &beside {
            self.remove_as_holder(place, &format!("{}/{name}", place.bucket), id, token)?;
        }
        Ok(!beside.is_empty())
    }

    // Whatever `sync` is set to.
    fn sync_removal(&self, bucket: &str) -> Result<()> {
        self.files
            .sync_directory(&self.path(bucket))
            .map_err(|error| fault::of_files("sync directory", bucket, &error))
    }

    fn remove_as_holder(
        &mut self,
        place: &Place,
        relative: &str,
        id: &str,
        token: &str,
    ) -> Result<()> {
        // what cannot be read is told from nothing else
        let identity = self
            .identity_of(relative)
            .unwrap_or_else(|_| litter::digits());
        // what was read is what this holder may delete: a successor's own events are never named so
        self.check_lease(id, token)?;
        let aside = litter::deleted(place, &identity, number_of(token).unwrap_or(0));
        let renamed = |root: &Root| root.files.rename(&root.path(relative), &root.path(&aside));
        let mut moved = renamed(self);
        // a full directory takes no other name
        let has_cut = match &moved {
            Err(error) if fault::is_full(error) => self.make_room(place, id, token)?,
            Ok(()) | Err(_) => false,
        };
        if has_cut {
            moved = renamed(self);
        }
        match moved {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let error = fault::of_files("remove", relative, &error);
                return Err(match has_cut {
                    true => not_for_good(id, "its empty log is still there", error),
                    false => error,
                });
            }
        }
        let held = self.check_lease(id, token);
        let is_held = held.is_ok();
        let Err(error) = held.and_then(|()| self.remove(&aside)) else {
            return Ok(());
        };
        if self.give_name_back(&aside, relative).is_ok() {
            // the one name is durable before the other one goes; where that fails both stay
            if self.sync_removal(&place.bucket).is_ok() {
                self.discard(&aside);
                let _ = self.sync_removal(&place.bucket);
            }
            return Err(error);
        }
        // what has its name by now is somebody else's, and it was not to be deleted any more
        if error.code == ErrorCode::Busy {
            let kept = litter::deleted(place, &litter::digits(), number_of(token).unwrap_or(0));
            let _ = self.files.rename(&self.path(&aside), &self.path(&kept));
        }
        if relative != place.log() || error.code == ErrorCode::Busy {
            return Err(error);
        }
        self.forget(id);
        let removed = Removed {
            bucket: place.bucket.clone(),
            aside: is_held.then_some(aside),
        };
        self.removed.insert(id.to_owned(), removed);
        Err(not_for_good(id, "its bytes are still there", error))
    }

    // A full medium may have no room for a second name, and then nobody makes a file of that name just now.
    fn give_name_back(&self, aside: &str, relative: &str) -> io::Result<()> {
        match self.publish(aside, relative) {
            Err(error) if fault::is_full(&error) && self.kind(relative) == Ok(None) => {
                self.files.rename(&self.path(aside), &self.path(relative))
            }
            published => published,
        }
    }

    // Cuts a log that goes anyway, through a handle that was opened before the lease was looked at: what a successor
    // reads is a copy of it. Without a lease there is none. Whether it was cut.
    fn make_room(&mut self, place: &Place, id: &str, token: &str) -> Result<bool> {
        if token == UNLEASED {
            return Ok(false);
        }
        let log = place.log();
        let opened = self.open_to_write(&log, Mode::Overwrite);
        self.check_lease(id, token)?;
        self.forget_end(id);
        opened?
            .set_bytes(0)
            .map_err(|error| fault::of_files("cut", &log, &error))?;
        Ok(true)
    }

    /// A session that was removed is not said to be gone before that is durable.
    pub(crate) fn settle_removal(&mut self, id: &str) -> Result<()> {
        let Some(Removed { bucket, aside }) = self.removed.get(id) else {
            return Ok(());
        };
        let removed = aside.as_ref().map_or(Ok(()), |aside| self.remove(aside));
        removed.map_err(|error| not_for_good(id, "its bytes are still there", error))?;
        self.sync_removal(bucket)
            .map_err(|error| not_for_good(id, "may be there again after a power loss", error))?;
        self.removed.remove(id);
        Ok(())
    }
}

fn not_for_good(id: &str, how: &str, error: Error) -> Error {
    Error {
        message: format!(
            "session {} is removed, but {how}: {}; delete it again",
            quoted(id),
            error.message
        ),
        reason: "delete-not-durable".to_owned(),
        ..error
    }
}

/// Whether file `name` belongs to the log `of` without being it.
fn is_beside(name: &str, of: &str) -> bool {
    let rest = name
        .strip_prefix(of)
        .and_then(|rest| rest.strip_prefix('.'));
    let log = litter::log_of_lock(name)
        .or_else(|| litter::log_of_damaged(name))
        .or_else(|| Some(litter::Deleted::parse(name)?.log));
    cut_of(name, of).is_some()
        || rest == Some("summary")
        || log == Some(of)
        || litter::is_temporary(name, of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_one_log_is_never_beside_another() {
        for name in [
            "a.summary",
            "a.summary.lock",
            "a.60.torn",
            "a.0123456789abcdef.tmp",
            "a.0123456789abcdef.summary.tmp",
            "a.0123456789abcdef.summary.bad",
            "a.0123456789abcdef.7.deleted",
        ] {
            assert!(is_beside(name, "a"), "{name}");
            assert!(!is_beside(name, "b"), "{name}");
            assert!(!is_beside(&name.replacen("a.", "a.b.", 1), "a"), "{name}");
        }
        assert!(!is_beside("a.jsonl", "a"));
    }
}
