//! A medium that is no directory.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;

use annals_contract::Subject;
use annals_sdk::blobs::Blobs;
use annals_sdk::types::{BackendInfo, Durability, Error, LeaseScope};
use annals_sdk::{Persistence, Result as Answer};

type Medium = Rc<RefCell<BTreeMap<String, Vec<u8>>>>;

/// Blobs whose medium outlives the instance.
#[derive(Default)]
pub struct InMap(Medium);

struct Map {
    blobs: Medium,
    is_configured: bool,
}

impl Map {
    fn blobs(&self) -> Answer<RefMut<'_, BTreeMap<String, Vec<u8>>>> {
        self.info().map(|_| self.blobs.borrow_mut())
    }
}

impl Blobs for Map {
    fn configure(&mut self, settings: &[(String, String)]) -> Answer<()> {
        match settings.first() {
            Some((name, _)) => Err(Error::bad_setting(name, "none is known")),
            None => {
                self.is_configured = true;
                Ok(())
            }
        }
    }

    fn info(&self) -> Answer<BackendInfo> {
        if !self.is_configured {
            return Err(Error::not_configured());
        }
        Ok(BackendInfo {
            name: "map".to_owned(),
            version: "1".to_owned(),
            durability: Durability::Process,
            wants_packed: false,
            lease: LeaseScope::None,
            record_bytes_max: 4 << 10,
            notes: Vec::new(),
        })
    }

    fn read(&mut self, name: &str) -> Answer<Option<Vec<u8>>> {
        Ok(self.blobs()?.get(name).cloned())
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Answer<()> {
        self.blobs()?.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> Answer<()> {
        self.blobs()?
            .get_mut(name)
            .unwrap()
            .extend_from_slice(bytes);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Answer<()> {
        self.blobs()?.remove(name);
        Ok(())
    }

    fn names(&mut self) -> Answer<Vec<String>> {
        Ok(self.blobs()?.keys().cloned().collect())
    }
}

impl Subject for InMap {
    fn empty(&mut self) -> Result<(), String> {
        self.0 = Medium::default();
        Ok(())
    }

    fn settings(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn start(&mut self) -> Result<Box<dyn Persistence>, String> {
        Ok(Box::new(Map {
            blobs: Rc::clone(&self.0),
            is_configured: false,
        }))
    }
}
