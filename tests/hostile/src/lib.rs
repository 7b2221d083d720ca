//! A backend that keeps sessions in files as it should, until it is armed: then it does to one session, or to the
//! listing, what its setting `attack` says. It is armed while the file `armed` is in its root, so that whoever watches
//! can see what comes after.

// It is what it is, and its tests say what they found by panicking.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing)]

mod attack;
mod escape;
mod kept;

use annals_sdk::types::{
    BackendInfo, Batch, Error, Eviction, Listing, Page, SessionHeader, SessionSummary,
};
use annals_sdk::{Persistence, Result};

use kept::Kept;

annals_sdk::export!(Hostile);

/// The session that is attacked.
pub const VICTIM: &str = "victim";

/// The backend.
#[derive(Default)]
pub struct Hostile {
    kept: Kept,
    settings: Vec<(String, String)>,
}

impl Hostile {
    /// What to do now, if anything.
    fn attack(&self) -> &str {
        if self.kept.is_armed() {
            self.setting("attack")
        } else {
            ""
        }
    }

    fn setting(&self, name: &str) -> &str {
        let found = self.settings.iter().find(|(of, _)| of == name);
        found.map_or("", |(_, value)| value)
    }
}

impl Persistence for Hostile {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        self.settings = settings.to_vec();
        self.kept = Kept::new(self.setting("root"));
        if self.attack() == "loop in configure" {
            attack::turn_for_ever();
        }
        Ok(kept::info())
    }

    fn acquire(&mut self, _: Option<&str>, _: &str, _: Option<&Eviction>) -> Result<String> {
        Ok("1".to_owned())
    }

    fn renew(&mut self, id: Option<&str>, _: &str) -> Result<()> {
        if !self.attack().is_empty() {
            self.kept.note_renewal(id.unwrap_or_default());
        }
        Ok(())
    }

    fn release(&mut self, _: Option<&str>, _: &str) -> Result<()> {
        Ok(())
    }

    fn create(&mut self, header: &SessionHeader, _: &str, first: &Batch) -> Result<()> {
        self.kept.create(header, first)
    }

    fn append(&mut self, id: &str, _: &str, events: &Batch) -> Result<()> {
        if id == VICTIM {
            attack::on_append(self.attack(), &self.kept)?;
            escape::on_append(self.attack(), |name| self.setting(name))?;
        }
        self.kept.append(id, events)
    }

    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let attack = if id == VICTIM { self.attack() } else { "" };
        match attack::page(attack, id, cursor) {
            Some(page) => Ok(page),
            None => Ok(attack::spoiled(
                attack,
                cursor,
                self.kept.load(id, cursor, bytes_max)?,
            )),
        }
    }

    fn truncate(&mut self, id: &str, _: &str, keep_events: u64) -> Result<()> {
        self.kept.truncate(id, keep_events)
    }

    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        match attack::listing(self.attack(), cursor, count_max) {
            Some(listing) => Ok(listing),
            None => self.kept.list(),
        }
    }

    fn has(&mut self, id: &str) -> Result<bool> {
        Ok(self.kept.has(id))
    }

    fn load_cut(&mut self, id: &str, _: u64, _: u32) -> Result<Page> {
        if !self.kept.has(id) {
            return Err(Error::not_found(id));
        }
        Ok(kept::page(None, String::new(), None))
    }

    fn delete(&mut self, id: &str, _: &str) -> Result<()> {
        self.kept.delete(id)
    }

    fn update(&mut self, id: &str, _: &SessionSummary) -> Result<()> {
        match self.kept.has(id) {
            true => Ok(()),
            false => Err(Error::not_found(id)),
        }
    }
}
