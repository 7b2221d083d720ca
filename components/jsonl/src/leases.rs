//! Who may write: numbered leases, one directory a session, `_leases/<name>.lease/<number>`.
//!
//! A lease is taken by exclusive creation of the next number, the highest number holds. Numbers are removed in
//! ascending order only, and the highest stays when it is given back while its session is stored, so that:
//! - a number is never used twice while its session is stored, and an old token never becomes good again;
//! - a token is good exactly when the next number is absent and its own is present, looked at in this order;
//! - a contender that was slow finds the number it built on gone, and gives up.
//!
//! A holder that was only silent may wake up in the middle of a write. Whoever takes over from it owes a fence: the log
//! is copied and the copy takes its name, so that a late write lands in a file that nobody reads. The debt is written in
//! the lease itself and passes on until it is paid.

use std::io::ErrorKind;

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Eviction, EvictionReason};
use serde_json::Value;

use crate::fault;
use crate::files::{Handle, Mode};
use crate::lease::{HOLDER_BYTES_MAX, Lease, STATE_BYTES, checked_holder, directory_of, number_of};
use crate::lines;
use crate::paths;
use crate::root::Root;

/// How often a lease is tried when others are quicker.
const ATTEMPTS_MAX: usize = 32;

/// A lease taken here.
pub struct Held {
    token: String,
    renewals: u64,
}

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
        for _ in 0..ATTEMPTS_MAX {
            let present = self.present(&directory)?;
            let evicted = |lease: &Lease| evict.filter(|evict| evict.token == lease.token());
            let mut taken = Lease {
                number: 1,
                renewals: 0,
                is_free: false,
                is_fence_due: false,
                holder: holder.clone(),
            };
            if let Some(lease) = &present {
                let is_silent = match (lease.is_free, evicted(lease)) {
                    (true, _) => false,
                    (false, Some(eviction)) => eviction.why == EvictionReason::Silent,
                    (false, None) => return Err(self.busy(id, "lease-held", Some(lease))),
                };
                taken.number = lease.number + 1;
                taken.is_fence_due = is_silent || lease.is_fence_due;
            }
            if self.take(&directory, &taken, present.as_ref())? {
                return self.settle(id, &directory, taken);
            }
        }
        let message = format!("{} is being taken by others; try again", shown(id));
        Err(Error::new(ErrorCode::Busy, "lease-contended", message))
    }

    /// Shows that the holder is alive.
    pub fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        let directory = directory_of(id)?;
        self.check_lease_in(&directory, id, token)?;
        let number = number_of(token).unwrap_or(0);
        let renewals = match self.held.get(&directory) {
            Some(held) => held.renewals.wrapping_add(1),
            None => self
                .lease(&directory, number)?
                .map_or(0, |lease| lease.renewals)
                .wrapping_add(1),
        };
        self.write_state(&directory, number, &format!("{renewals:020}"))?;
        let held = Held {
            token: token.to_owned(),
            renewals,
        };
        self.held.insert(directory, held);
        Ok(())
    }

    /// Gives the lease back, if it is still this one. Of a session that was never stored nothing stays.
    pub fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        let directory = directory_of(id)?;
        let is_held = self.holds(&directory, token)?;
        self.held.remove(&directory);
        if let Some(id) = id {
            self.forget_end(id);
            if is_held && self.find(id)?.is_none() {
                return self.remove_lease(id, token);
            }
        }
        let number = number_of(token).unwrap_or(0);
        match self.lease(&directory, number)? {
            Some(mut lease) if is_held => {
                lease.is_free = true;
                self.write_state(&directory, number, &lease.state())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// `busy` unless the token is the session's lease.
    pub(crate) fn check_lease(&mut self, id: &str, token: &str) -> Result<()> {
        let directory = directory_of(Some(id))?;
        self.check_lease_in(&directory, Some(id), token)
    }

    /// Removes the lease of a session that is no more.
    pub(crate) fn remove_lease(&mut self, id: &str, token: &str) -> Result<()> {
        let directory = directory_of(Some(id))?;
        self.held.remove(&directory);
        let own = number_of(token).unwrap_or(0);
        for number in self
            .numbers(&directory)?
            .into_iter()
            .filter(|number| *number <= own)
        {
            self.remove(&format!("{directory}/{number}"))?;
        }
        // not empty when somebody came meanwhile, who then keeps it
        let _ = self.files.remove_directory(&self.path(&directory));
        Ok(())
    }

    fn check_lease_in(&mut self, directory: &str, id: Option<&str>, token: &str) -> Result<()> {
        if self.holds(directory, token)? {
            return Ok(());
        }
        self.held.remove(directory);
        if let Some(id) = id {
            self.forget_end(id);
        }
        let present = self.present(directory).ok().flatten();
        let holding = present.filter(|lease| !lease.is_free);
        Err(self.busy(id, "lease-lost", holding.as_ref()))
    }

    fn holds(&self, directory: &str, token: &str) -> Result<bool> {
        let Some(number) = number_of(token) else {
            return Ok(false);
        };
        // in this order: the own number is removed only after the next one was made
        if self.kind(&format!("{directory}/{}", number + 1))?.is_some() {
            return Ok(false);
        }
        match self.held.get(directory) {
            Some(held) if held.token == token => {
                Ok(self.kind(&format!("{directory}/{number}"))?.is_some())
            }
            // taken before this backend was restarted
            Some(_) | None => Ok(self
                .lease(directory, number)?
                .is_some_and(|lease| !lease.is_free && lease.token() == token)),
        }
    }

    /// The lease with the highest number; none when the session never had one.
    fn present(&self, directory: &str) -> Result<Option<Lease>> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(highest) = self.numbers(directory)?.last().copied() else {
                return Ok(None);
            };
            if let Some(lease) = self.lease(directory, highest)? {
                return Ok(Some(lease));
            }
        }
        let message = format!("{directory:?} changes all the time; try again");
        Err(Error::new(ErrorCode::Busy, "lease-contended", message))
    }

    fn numbers(&self, directory: &str) -> Result<Vec<u64>> {
        let names = self.names(directory)?;
        let mut numbers: Vec<u64> = names
            .iter()
            .filter_map(|(name, _)| name.parse().ok())
            // one without a successor is no lease
            .filter(|number| *number < u64::MAX)
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn lease(&self, directory: &str, number: u64) -> Result<Option<Lease>> {
        let relative = format!("{directory}/{number}");
        let mut file = match self.files.open(&self.path(&relative), Mode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fault::of_reading(&relative, &error)),
        };
        let mut bytes = Vec::new();
        let bytes_max = STATE_BYTES + HOLDER_BYTES_MAX + 1;
        lines::read_more(file.as_mut(), 0, bytes_max, &mut bytes)
            .map_err(|error| fault::of_reading(&relative, &error))?;
        Ok(Some(Lease::parse(number, &String::from_utf8_lossy(&bytes))))
    }

    // Whether the lease is taken; not when somebody was quicker. It appears with its holder in it: after a crash between
    // the two nobody could tell whose it is, and everybody would have to wait for its silence.
    fn take(&self, directory: &str, taken: &Lease, previous: Option<&Lease>) -> Result<bool> {
        let relative = format!("{directory}/{}", taken.number);
        let writer = paths::hash_hex(taken.holder.as_bytes(), 16);
        let temporary = format!("{relative}.{writer}.tmp");
        let Some(mut file) = self.open_new_lease(directory, &temporary)? else {
            // what an earlier try of this holder left would be in the way of the next one
            self.discard(&temporary);
            return Ok(false);
        };
        let text = format!("{}{}\n", taken.state(), taken.holder);
        let written = file.write(text.as_bytes());
        let made = written.and_then(|()| {
            self.files
                .link(&self.path(&temporary), &self.path(&relative))
        });
        self.discard(&temporary);
        match made {
            Ok(()) => {}
            Err(error) if is_lost(error.kind()) => return Ok(false),
            Err(error) => return Err(fault::of_files("write", &relative, &error)),
        }
        if self.is_successor(directory, taken, previous)? {
            return Ok(true);
        }
        self.discard(&relative);
        Ok(false)
    }

    // None when the name is taken already, or its directory is being removed.
    fn open_new_lease(&self, directory: &str, relative: &str) -> Result<Option<Box<dyn Handle>>> {
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
    fn settle(&mut self, id: Option<&str>, directory: &str, mut taken: Lease) -> Result<String> {
        if let Some(id) = id {
            self.forget_end(id);
            if taken.is_fence_due {
                if let Err(error) = self.fence(id) {
                    // given back with its debt
                    taken.is_free = true;
                    self.write_state(directory, taken.number, &taken.state())?;
                    return Err(error);
                }
                taken.is_fence_due = false;
                self.write_state(directory, taken.number, &taken.state())?;
            }
        }
        let mut passed: Vec<(u64, String)> = Vec::new();
        for (name, _) in self.names(directory)? {
            // temporary files of contenders that died go with the numbers they were for
            let number = name.split('.').next().and_then(|text| text.parse().ok());
            passed.extend(
                number
                    .filter(|number| *number < taken.number)
                    .map(|number| (number, name)),
            );
        }
        passed.sort_unstable();
        for (_, name) in passed {
            self.discard(&format!("{directory}/{name}"));
        }
        let token = taken.token();
        let held = Held {
            token: token.clone(),
            renewals: taken.renewals,
        };
        self.held.insert(directory.to_owned(), held);
        Ok(token)
    }

    fn write_state(&self, directory: &str, number: u64, state: &str) -> Result<()> {
        let relative = format!("{directory}/{number}");
        self.open_to_write(&relative, Mode::Overwrite)?
            .write(state.as_bytes())
            .map_err(|error| fault::of_files("write", &relative, &error))
    }

    fn busy(&self, id: Option<&str>, reason: &str, lease: Option<&Lease>) -> Error {
        let thing = shown(id);
        let holder = lease.and_then(|lease| serde_json::from_str::<Value>(&lease.holder).ok());
        let message = match (reason, &holder) {
            ("lease-held", Some(holder)) => {
                format!(
                    "{thing} is being written by {}; wait, or fork it",
                    described(holder)
                )
            }
            ("lease-held", None) => {
                format!("{thing} is being written by somebody unknown; wait, or fork it")
            }
            _ => format!("{thing} is not held by this writer any more; open it again"),
        };
        let error = Error::new(ErrorCode::Busy, reason, message)
            .fact("lease-ttl-ms", self.settings.lease_ttl_ms);
        match lease {
            None => error,
            Some(lease) => error
                .fact("holder", holder.unwrap_or(Value::Null))
                .fact("token", lease.token())
                .fact("renewals", lease.renewals),
        }
    }
}

fn is_lost(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::AlreadyExists | ErrorKind::NotFound)
}

fn shown(id: Option<&str>) -> String {
    id.map_or_else(|| "the root".to_owned(), |id| format!("session {id:?}"))
}

fn described(holder: &Value) -> String {
    let known = ["host", "pid", "since"];
    let parts: Vec<String> = known
        .iter()
        .filter_map(|name| holder.get(name).map(|value| format!("{name} {value}")))
        .collect();
    if parts.is_empty() {
        holder.to_string()
    } else {
        parts.join(", ")
    }
}
