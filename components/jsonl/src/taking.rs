//! Taking a lease: one step that one contender wins, and what the winner has to do before the lease is of use.

use std::io::ErrorKind;

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Eviction, EvictionReason};

use crate::fault;
use crate::files::{Handle, Kind, Mode};
use crate::lease::{Asked, Lease, NUMBER_MAX, directory_of};
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
        let asked = Asked::parse(holder)?;
        self.check_directory(&directory)?;
        if let Some(id) = id {
            self.check_sole(id)?;
        }
        match id.filter(|_| asked.is_to_delete) {
            Some(id) => self.acquire_to_delete(id, &directory, &asked, evict),
            None => self.take_lease(id, &directory, &asked, evict),
        }
    }

    /// The next number.
    pub(crate) fn take_lease(
        &mut self,
        id: Option<&str>,
        directory: &str,
        asked: &Asked,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        for _ in 0..ATTEMPTS_MAX {
            let present = self.present(directory)?;
            let mut has_evicted = false;
            let mut taken = Lease {
                number: 1,
                renewals: 0,
                is_free: false,
                is_fence_due: false,
                holder: asked.holder.clone(),
                taking: litter::digits(),
                is_whole: true,
            };
            if let Some(lease) = &present {
                let is_silent = self.check_may_follow(id, directory, lease, evict)?;
                has_evicted = !lease.is_free;
                taken.number = next_number(directory, lease.number)?;
                taken.is_fence_due = is_silent || lease.is_fence_due;
            }
            if self.take(directory, &taken, present.as_ref())? {
                let token = taken.token();
                let settled = self.settle(id, directory, taken, has_evicted, asked);
                match settled {
                    Ok(()) => self.forget_unused(directory),
                    Err(_) => self.note_unused(directory, token.clone()),
                };
                return settled.map(|()| token);
            }
        }
        let message = format!("{} is being taken by others; try again", shown(id));
        Err(Error::new(ErrorCode::Busy, "lease-contended", message))
    }

    /// `busy` unless the lease is free or its holder evicted; whether that one may wake up.
    pub(crate) fn check_may_follow(
        &self,
        id: Option<&str>,
        directory: &str,
        lease: &Lease,
        evict: Option<&Eviction>,
    ) -> Result<bool> {
        // one that was to be given back, and could not be, is free
        if lease.is_free || self.is_unused(directory, &lease.token()) {
            return Ok(false);
        }
        match evict.filter(|evict| evict.token == lease.token()) {
            Some(eviction) => Ok(eviction.why == EvictionReason::Silent),
            None => Err(self.busy(id, "lease-held", Some(lease))),
        }
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
        asked: &Asked,
    ) -> Result<()> {
        if let Some(id) = id {
            self.forget_end(id);
            if taken.is_fence_due && asked.is_to_delete {
                // a log that goes needs no copy of itself; whoever writes it all the same pays the debt first
                self.doubt(id);
            } else if let Err(error) = self.settle_log(id, directory, &mut taken, has_evicted) {
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
