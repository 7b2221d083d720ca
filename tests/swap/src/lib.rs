//! A backend in memory that lets down whoever changes over to it, as its setting `fault` says:
//! `second configure` answers the first `configure` of an instance, the trial before a change, and fails from then on;
//! `full` has room for [`WRITES_MAX`] writes and no more.

use std::collections::BTreeMap;

use annals_sdk::Result;
use annals_sdk::blobs::Blobs;
use annals_sdk::types::{BackendInfo, Durability, Error, ErrorCode, LeaseScope};

annals_sdk::export!(Fickle);

/// Writes until it is full: fewer than a store with a few sessions has to make.
pub const WRITES_MAX: usize = 5;

/// The backend.
#[derive(Default)]
pub struct Fickle {
    fault: Option<String>,
    blobs: BTreeMap<String, Vec<u8>>,
    writes: usize,
}

impl Fickle {
    fn take_room(&mut self) -> Result<()> {
        self.writes += 1;
        if self.fault.as_deref() == Some("full") && self.writes > WRITES_MAX {
            let message = "the medium is full; free some of it";
            return Err(Error::new(ErrorCode::NoSpace, "medium-full", message));
        }
        Ok(())
    }
}

impl Blobs for Fickle {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<()> {
        let mut fault = String::new();
        for (name, value) in settings {
            match name.as_str() {
                "fault" => fault.clone_from(value),
                _ => return Err(Error::bad_setting(name, "only \"fault\" is known")),
            }
        }
        if self.fault.is_some() && fault == "second configure" {
            let message = "the medium has gone away";
            return Err(Error::new(ErrorCode::Unavailable, "medium-gone", message));
        }
        self.fault = Some(fault);
        Ok(())
    }

    fn info(&self) -> Result<BackendInfo> {
        self.fault.as_ref().ok_or_else(Error::not_configured)?;
        Ok(BackendInfo {
            name: "fickle".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            durability: Durability::None,
            wants_packed: false,
            lease: LeaseScope::None,
            record_bytes_max: 64 << 20,
            notes: Vec::new(),
        })
    }

    fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.blobs.get(name).cloned())
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.take_room()?;
        self.blobs.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.take_room()?;
        self.blobs
            .entry(name.to_owned())
            .or_default()
            .extend_from_slice(bytes);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        self.blobs.remove(name);
        Ok(())
    }

    fn names(&mut self) -> Result<Vec<String>> {
        Ok(self.blobs.keys().cloned().collect())
    }
}
