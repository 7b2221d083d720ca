//! Taking a lease: one step that one contender wins, and what the winner has to do before the lease is of use.

use std::io::ErrorKind;

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Eviction, EvictionReason};

use crate::fault;
use crate::files::{Handle, Kind, Mode};
use crate::lease::{Lease, NUMBER_MAX, checked_holder, directory_of};
use crate::leases::{ATTEMPTS_MAX, Held, shown};
use crate::litter;
use crate::paths::LEASES;
use crate::root::Root;

impl Root {
    /// Takes the lease; one contender of a given state wins.
    pub fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        let directory = directory_of(id)?;
        let holder = checked_holder(holder)?;
        self.check_directory(&directory)?;
        if let Some(id) = id {
            self.check_sole(id)?;
        }
        for _ in 0..ATTEMPTS_MAX {
            let present = self.present(&directory)?;
            let evicted = |lease: &Lease| evict.filter(|evict| evict.token == lease.token());
            let mut has_evicted = false;
            let mut taken = Lease {
                number: 1,
                renewals: 0,
                is_free: false,
                is_fence_due: false,
                holder: holder.clone(),
                taking: litter::digits(),
                is_whole: true,
            };
            if let Some(lease) = &present {
                // one that was to be given back, and could not be, is free
                let is_unused = self.is_unused(&directory, &lease.token());
                let is_silent = match (lease.is_free || is_unused, evicted(lease)) {
                    (true, _) => false,
                    (false, Some(eviction)) => eviction.why == EvictionReason::Silent,
                    (false, None) => return Err(self.busy(id, "lease-held", Some(lease))),
                };
                has_evicted = !lease.is_free;
                taken.number = next_number(&directory, lease.number)?;
                taken.is_fence_due = is_silent || lease.is_fence_due;
            }
            if self.take(&directory, &taken, present.as_ref())? {
                let token = taken.token();
                let settled = self.settle(id, &directory, taken, has_evicted);
                match settled {
                    Ok(()) => self.forget_unused(&directory),
                    Err(_) => self.note_unused(&directory, token.clone()),
                };
                return settled.map(|()| token);
            }
        }
        let message = format!("{} is being taken by others; try again", shown(id));
        Err(Error::new(ErrorCode::Busy, "lease-contended", message))
    }

    // A link could lead out of the root.
    fn check_directory(&self, directory: &str) -> Result<()> {
        for directory in [LEASES, directory] {
            match self.kind(directory)? {
                None | Some(Kind::Directory) => {}
                Some(kind @ (Kind::File | Kind::Link | Kind::Other)) => {
                    return Err(fault::of_no_directory(directory, kind));
                }
            }
        }
        Ok(())
    }

    // Whether the lease is taken; not when somebody was quicker. It appears with its holder in it: after a crash between
    // the two nobody could tell whose it is, and everybody would have to wait for its silence.
    pub(crate) fn take(
        &mut self,
        directory: &str,
        taken: &Lease,
        previous: Option<&Lease>,
    ) -> Result<bool> {
        let relative = format!("{directory}/{}", taken.number);
        let temporary = litter::lease_aside(&relative);
        let Some(mut file) = self.open_new_lease(directory, &temporary)? else {
            return Ok(false);
        };
        let written = file.write_all(taken.text().as_bytes());
        let made = written.and_then(|()| self.publish(&temporary, &relative));
        self.discard(&temporary);
        match made {
            Ok(()) => {}
            Err(error) if is_lost(error.kind()) => return Ok(false),
            Err(error) => {
                // without hard links an empty one may stay behind
                let empty = Lease::parse(taken.number, "").token();
                self.note_unused(directory, empty);
                return Err(fault::of_files("write", &relative, &error));
            }
        }
        let is_successor = self.is_successor(directory, taken, previous);
        if is_successor != Ok(true) {
            self.discard(&relative);
        }
        if is_successor.is_err() {
            self.note_unused(directory, taken.token());
        }
        is_successor
    }

    // None when the name is taken already, or its directory is being removed.
    fn open_new_lease(
        &mut self,
        directory: &str,
        relative: &str,
    ) -> Result<Option<Box<dyn Handle>>> {
        let path = self.path(relative);
        let opened = match self.files.open(&path, Mode::New) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.ensure_root()?;
                self.make_directory(directory)?;
                self.files.open(&path, Mode::New)
            }
            opened => opened,
        };
        match opened {
            Ok(file) => Ok(Some(file)),
            Err(error) if is_lost(error.kind()) => Ok(None),
            Err(error) => Err(fault::of_files("write", relative, &error)),
        }
    }

    // A slow contender makes a number that was there before and is gone: then what it built on is gone as well.
    fn is_successor(
        &self,
        directory: &str,
        taken: &Lease,
        previous: Option<&Lease>,
    ) -> Result<bool> {
        match previous {
            Some(previous) => Ok(self
                .lease(directory, previous.number)?
                .is_some_and(|now| now.is_same_as(previous))),
            None => Ok(self.numbers(directory)? == [taken.number]),
        }
    }

    // What the winner still has to do before the lease is of use.
    fn settle(
        &mut self,
        id: Option<&str>,
        directory: &str,
        mut taken: Lease,
        has_evicted: bool,
    ) -> Result<()> {
        if let Some(id) = id {
            self.forget_end(id);
            if let Err(error) = self.settle_log(id, directory, &mut taken, has_evicted) {
                // given back with its debt: a fence also makes the names durable
                taken.is_free = true;
                taken.is_fence_due = true;
                // what stays behind is free to whoever tries again here
                let _ = self.write_state(directory, taken.number, &taken.state());
                return Err(error);
            }
        }
        if let (Some(id), true) = (id, has_evicted) {
            // litter is no reason to refuse the lease
            if let Ok(Some(place)) = self.find(id) {
                let _ = self.sweep(&place);
            }
        }
        // numbers that stay are in nobody's way
        let _ = self.remove_passed(directory, taken.number);
        let held = Held {
            token: taken.token(),
            renewals: taken.renewals,
            has_evicted,
        };
        self.held.insert(directory.to_owned(), held);
        Ok(())
    }

    // What the holder before may have left undone.
    fn settle_log(
        &mut self,
        id: &str,
        directory: &str,
        taken: &mut Lease,
        has_evicted: bool,
    ) -> Result<()> {
        if taken.is_fence_due {
            self.fence(id)?;
            taken.is_fence_due = false;
            let written = self.write_state(directory, taken.number, &taken.state());
            taken.is_fence_due = written.is_err();
            return written;
        }
        if has_evicted && let Some(place) = self.find(id)? {
            // it may have died between naming the log and making the name durable
            self.settle_names(&place)?;
        }
        Ok(())
    }

    // In ascending order; temporary files of contenders that died go with the numbers they were for.
    pub(crate) fn remove_passed(&self, directory: &str, own: u64) -> Result<()> {
        let mut passed: Vec<(u64, String)> = Vec::new();
        for (name, _) in self.names(directory)? {
            let number = name.split('.').next().and_then(|text| text.parse().ok());
            passed.extend(
                number
                    .filter(|number| *number < own)
                    .map(|number| (number, name)),
            );
        }
        passed.sort_unstable();
        for (_, name) in passed {
            self.discard(&format!("{directory}/{name}"));
        }
        Ok(())
    }
}

fn next_number(directory: &str, number: u64) -> Result<u64> {
    if number < NUMBER_MAX {
        return Ok(number + 1);
    }
    let message = format!(
        "{:?} is no lease; move it away",
        format!("{directory}/{number}")
    );
    Err(Error::new(ErrorCode::Other, "lease-number", message))
}

fn is_lost(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::AlreadyExists | ErrorKind::NotFound)
}
