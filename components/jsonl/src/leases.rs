//! Who may write: numbered leases, one directory a session, `_leases/<name>.lease/<number>`.
//!
//! A lease is taken by exclusive creation of the next number, the highest number holds. Numbers are removed in
//! ascending order only, and the highest stays when it is given back while its session is stored, so that:
//! - a number is never used twice while its session is stored, and an old token never becomes good again;
//! - a token is good exactly when the next number is absent and its own is present with the token's holder in it, looked
//!   at in this order;
//! - a contender that was slow finds the number it built on gone, and gives up.
//!
//! A holder that was only silent may wake up in the middle of a write. Whoever takes over from it owes a fence: the log
//! is copied and the copy takes its name, so that a late write lands in a file that nobody reads. The debt is written in
//! the lease itself and passes on until it is paid.

use std::io::ErrorKind;

use annals_core::fault::{quoted, shown_value};
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};
use serde_json::Value;

use crate::claim::UNLEASED;
use crate::fault;
use crate::files::{Kind, Mode};
use crate::lease::{
    HOLDER_BYTES_MAX, Lease, NUMBER_MAX, STATE_BYTES, TAKING_BYTES, directory_of, number_of,
};
use crate::lines;
use crate::litter;
use crate::root::Root;

/// How often a lease is tried when others are quicker.
pub(crate) const ATTEMPTS_MAX: usize = 32;

/// A lease taken here.
pub struct Held {
    pub(crate) token: String,
    pub(crate) renewals: u64,
    /// Whether the holder before was evicted: it may have left temporary files.
    pub(crate) has_evicted: bool,
}

impl Root {
    /// Shows that the holder is alive.
    pub fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        let directory = directory_of(id)?;
        self.check_lease_in(&directory, id, token)?;
        if token == UNLEASED {
            return Ok(());
        }
        let number = number_of(token).unwrap_or(0);
        let (before, has_evicted) = match self.held.get(&directory) {
            Some(held) if held.token == token => (held.renewals, held.has_evicted),
            // taken before this backend was restarted
            Some(_) | None => {
                let lease = self.lease(&directory, number)?;
                (lease.map_or(0, |lease| lease.renewals), false)
            }
        };
        let renewals = before.wrapping_add(1);
        let written = self.write_state(&directory, number, &format!("{renewals:020}"));
        // its file may be gone, or another's, because the lease is
        self.check_lease_in(&directory, id, token)?;
        written?;
        let held = Held {
            token: token.to_owned(),
            renewals,
            has_evicted,
        };
        self.held.insert(directory, held);
        Ok(())
    }

    /// Gives the lease back, if it is still this one. Of a session that was never stored nothing stays.
    pub fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        let directory = directory_of(id)?;
        let released = self.give_back(&directory, id, token);
        if released.is_err() {
            self.note_unused(&directory, token.to_owned());
        }
        released
    }

    fn give_back(&mut self, directory: &str, id: Option<&str>, token: &str) -> Result<()> {
        let is_held = self.holds(directory, token)?;
        self.held.remove(directory);
        if let Some(id) = id {
            self.forget_end(id);
            if is_held && self.find(id)?.is_none() {
                return self.remove_lease(id, token);
            }
        }
        let number = number_of(token).unwrap_or(0);
        match self.lease(directory, number)? {
            Some(mut lease) if is_held => {
                lease.is_free = true;
                // what is in doubt here is settled by whoever comes next
                lease.is_fence_due |= id.is_some_and(|id| self.is_doubted(id));
                let written = self.write_state(directory, number, &lease.state());
                match self.holds(directory, token) {
                    // taken meanwhile, and its file is gone
                    Ok(false) => Ok(()),
                    Ok(true) | Err(_) => written,
                }
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether the session's lease was taken from somebody who may have left temporary files.
    pub(crate) fn has_evicted(&self, id: &str) -> bool {
        let held = directory_of(Some(id)).map(|directory| self.held.get(&directory));
        matches!(held, Ok(Some(held)) if held.has_evicted)
    }

    /// `busy` unless the token is the session's lease.
    pub(crate) fn check_lease(&mut self, id: &str, token: &str) -> Result<()> {
        let directory = directory_of(Some(id))?;
        self.check_lease_in(&directory, Some(id), token)
    }

    /// Removes the lease of a session that is no more.
    pub(crate) fn remove_lease(&mut self, id: &str, token: &str) -> Result<()> {
        let directory = directory_of(Some(id))?;
        self.remove_numbers(&directory, token)
    }

    /// Removes the lease of that token, those before it, and the directory: nothing once the lease is another one.
    pub(crate) fn remove_numbers(&mut self, directory: &str, token: &str) -> Result<()> {
        self.held.remove(directory);
        let own = number_of(token).unwrap_or(0);
        let mut numbers = self.numbers(directory)?;
        numbers.retain(|number| *number <= own);
        for number in numbers {
            if !self.remove_number(directory, number, token)? {
                return Ok(());
            }
        }
        // not empty when somebody came meanwhile, who then keeps it
        let _ = self.files.remove_directory(&self.path(directory));
        Ok(())
    }

    // False when the lease is another one by now. Who was stopped before this may meet the leases of a later session of
    // that id, of which the numbers are the same: each is moved out of the way and looked at once more before it goes.
    fn remove_number(&self, directory: &str, number: u64, token: &str) -> Result<bool> {
        let own = number_of(token).unwrap_or(0);
        let is_own = |relative: &str| -> Result<bool> {
            let lease = self.lease_in(relative, own)?;
            Ok(lease.is_some_and(|lease| lease.token() == token))
        };
        let last = format!("{directory}/{own}");
        if !is_own(&last)? {
            return Ok(false);
        }
        let relative = format!("{directory}/{number}");
        let aside = litter::lease_aside(&relative);
        match self.files.rename(&self.path(&relative), &self.path(&aside)) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(fault::of_files("remove", &relative, &error)),
        }
        let is_own = is_own(if number == own { &aside } else { &last })?;
        if !is_own {
            // never over what has its name by then
            let _ = self.publish(&aside, &relative);
        }
        self.remove(&aside)?;
        Ok(is_own)
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

    pub(crate) fn holds(&self, directory: &str, token: &str) -> Result<bool> {
        if token == UNLEASED {
            return self.is_unleased(directory);
        }
        let Some(number) = number_of(token) else {
            return Ok(false);
        };
        // in this order: the own number is removed only after the next one was made
        if self.kind(&format!("{directory}/{}", number + 1))?.is_some() {
            return Ok(false);
        }
        // the content each time: after a delete the numbers begin again, and the file may be another's
        Ok(self
            .lease(directory, number)?
            .is_some_and(|lease| !lease.is_free && lease.token() == token))
    }

    /// The lease with the highest number; none when the session never had one.
    pub(crate) fn present(&self, directory: &str) -> Result<Option<Lease>> {
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

    pub(crate) fn numbers(&self, directory: &str) -> Result<Vec<u64>> {
        let names = self.names(directory)?;
        let mut numbers: Vec<u64> = names
            .iter()
            .filter_map(|(name, _)| number_named(name))
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(crate) fn lease(&self, directory: &str, number: u64) -> Result<Option<Lease>> {
        self.lease_in(&format!("{directory}/{number}"), number)
    }

    fn lease_in(&self, relative: &str, number: u64) -> Result<Option<Lease>> {
        if !matches!(self.kind(relative)?, None | Some(Kind::File)) {
            // held by nobody known
            return Ok(Some(Lease::parse(number, "")));
        }
        let mut file = match self.files.open(&self.path(relative), Mode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fault::of_reading(relative, &error)),
        };
        let mut bytes = Vec::new();
        let bytes_max = STATE_BYTES + HOLDER_BYTES_MAX + TAKING_BYTES + 2;
        lines::read_more(file.as_mut(), 0, bytes_max, &mut bytes)
            .map_err(|error| fault::of_reading(relative, &error))?;
        Ok(Some(Lease::parse(number, &String::from_utf8_lossy(&bytes))))
    }

    pub(crate) fn write_state(&self, directory: &str, number: u64, state: &str) -> Result<()> {
        let relative = format!("{directory}/{number}");
        self.open_to_write(&relative, Mode::Overwrite)?
            .write_all(state.as_bytes())
            .map_err(|error| fault::of_files("write", &relative, &error))
    }

    pub(crate) fn busy(&self, id: Option<&str>, reason: &str, lease: Option<&Lease>) -> Error {
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

/// The number that a lease's file name is.
pub(crate) fn number_named(name: &str) -> Option<u64> {
    let number: u64 = name.parse().ok()?;
    (number <= NUMBER_MAX && number.to_string() == name).then_some(number)
}

pub(crate) fn shown(id: Option<&str>) -> String {
    id.map_or_else(
        || "the root".to_owned(),
        |id| format!("session {}", quoted(id)),
    )
}

fn described(holder: &Value) -> String {
    let known = ["host", "pid", "since"];
    let brief = |value: &Value| shown_value(&value.to_string());
    let parts: Vec<String> = known
        .iter()
        .filter_map(|name| {
            holder
                .get(name)
                .map(|value| format!("{name} {}", brief(value)))
        })
        .collect();
    if parts.is_empty() {
        brief(holder)
    } else {
        parts.join(", ")
    }
}
