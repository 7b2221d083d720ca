//! A component as the contract's checks see it: the sdk's trait over one instance in the sandbox.

mod convert;

use std::path::Path;

use annals::{Bare, Started};
use annals_contract::Subject;
use annals_sdk::types::{
    BackendInfo, Batch, Eviction, Listing, Page, SessionHeader, SessionSummary,
};
use annals_sdk::{Persistence, Result};
use tempfile::TempDir;

use convert::{batch, error, eviction, header, info, listing, page, summary};

/// A component and its medium: an empty directory for each check, where it uses files.
pub struct Tested {
    bare: Bare,
    directory: TempDir,
}

impl Tested {
    /// The first directory is the one that the component was linked with.
    pub fn new(bare: Bare, directory: TempDir) -> Self {
        Self { bare, directory }
    }
}

impl Subject for Tested {
    fn empty(&mut self) -> std::result::Result<(), String> {
        let made = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"));
        self.directory = made?;
        Ok(())
    }

    fn settings(&self) -> Vec<(String, String)> {
        self.bare.settings().to_vec()
    }

    fn start(&mut self) -> std::result::Result<Box<dyn Persistence>, String> {
        let started = self.bare.start(self.directory.path());
        let started = started.map_err(|error| error.message)?;
        Ok(Box::new(Instance(started)))
    }

    fn directory(&self) -> Option<&Path> {
        self.bare.has_root().then(|| self.directory.path())
    }
}

/// One instance.
struct Instance(Started);

impl Persistence for Instance {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        self.0.configure(settings).map(info).map_err(error)
    }

    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        let evict = evict.map(eviction);
        let token = self.0.acquire(id, holder, evict.as_ref());
        token.map_err(error)
    }

    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.0.renew(id, token).map_err(error)
    }

    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.0.release(id, token).map_err(error)
    }

    fn create(&mut self, made: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        let created = self.0.create(&header::given(made), token, &batch(first));
        created.map_err(error)
    }

    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        self.0.append(id, token, &batch(events)).map_err(error)
    }

    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let loaded = self.0.load(id, cursor, bytes_max);
        loaded.map(page).map_err(error)
    }

    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        self.0.truncate(id, token, keep_events).map_err(error)
    }

    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        let listed = self.0.list(cursor, count_max);
        listed.map(listing).map_err(error)
    }

    fn has(&mut self, id: &str) -> Result<bool> {
        self.0.has(id).map_err(error)
    }

    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let loaded = self.0.load_cut(id, cursor, bytes_max);
        loaded.map(page).map_err(error)
    }

    fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        self.0.delete(id, token).map_err(error)
    }

    fn update(&mut self, id: &str, change: &SessionSummary) -> Result<()> {
        self.0.update(id, &summary::given(change)).map_err(error)
    }
}
