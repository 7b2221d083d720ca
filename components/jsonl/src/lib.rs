//! The JSONL backend: one append-only file a session, readable by every tool.
//!
//! A log is `<root>/<bucket>/<name>.jsonl`: a header line, then one event or packed row a line, as given. It has no
//! state but what is on the medium; what it remembers is checked before it is used. It uses `std::fs` only, so that the
//! same code runs natively and as a component over WASI files.
//!
//! Absent: turns, surfaces, messages, a clock.

pub mod files;
pub mod paths;

mod claim;
mod copy;
mod cut;
mod delete;
mod fault;
mod holding;
mod identity;
mod lease;
mod leases;
mod lines;
mod listing;
mod litter;
mod place;
mod publish;
mod read;
mod root;
mod settings;
mod summary;
mod summary_lock;
mod taking;
pub mod upkeep;
mod write;

use std::rc::Rc;

use annals_sdk::types::{
    BackendInfo, Batch, Error, ErrorCode, Eviction, LeaseScope, Listing, Page, SessionHeader,
    SessionSummary,
};
use annals_sdk::{Persistence, Result};

use files::{Disk, Fs, Kind};
use root::Root;
use settings::Settings;

/// The longest record that can be stored, in bytes, its newline included.
pub const RECORD_BYTES_MAX: u64 = annals_core::record::RECORD_BYTES_MAX;

/// The backend. Before [`Persistence::configure`] every other call fails with `not-configured`.
pub struct Jsonl {
    files: Rc<dyn Fs>,
    root: Option<Root>,
}

impl Default for Jsonl {
    fn default() -> Self {
        Jsonl::over(Rc::new(Disk))
    }
}

impl Jsonl {
    /// The backend over other files than the real ones.
    pub fn over(files: Rc<dyn Fs>) -> Jsonl {
        Jsonl { files, root: None }
    }

    /// What lies under the root besides logs, at most `count_max` finds; see `upkeep.wit`.
    ///
    /// # Errors
    /// As reading.
    pub fn inspect(&mut self, count_max: u32) -> Result<Vec<upkeep::Litter>> {
        self.root()?.inspect(count_max)
    }

    /// Removes one of these finds.
    ///
    /// # Errors
    /// `busy`: the lease is not that token any more; `invalid`: it is none that may be removed.
    pub fn remove_litter(&mut self, place: &str, token: Option<&str>) -> Result<()> {
        self.root()?.remove_litter(place, token)
    }

    fn root(&mut self) -> Result<&mut Root> {
        self.root.as_mut().ok_or_else(Error::not_configured)
    }
}

impl Persistence for Jsonl {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        let settings = Settings::parse(settings)?;
        let root = Root::new(Rc::clone(&self.files), settings);
        if root.kind("")? == Some(Kind::File) {
            let message = format!(
                "the root {:?} is a file; name a directory",
                root.settings.root
            );
            return Err(Error::new(
                ErrorCode::Invalid,
                "root-not-a-directory",
                message,
            ));
        }
        let info = info_of(&root);
        self.root = Some(root);
        Ok(info)
    }

    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        self.root()?.acquire(id, holder, evict)
    }

    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.root()?.renew(id, token)
    }

    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.root()?.release(id, token)
    }

    fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        self.root()?.create(header, token, first)
    }

    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        self.root()?.append(id, token, events)
    }

    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.root()?.load(id, cursor, bytes_max)
    }

    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        self.root()?.truncate(id, token, keep_events)
    }

    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        self.root()?.list(cursor, count_max)
    }

    fn has(&mut self, id: &str) -> Result<bool> {
        Ok(self.root()?.find(id)?.is_some())
    }

    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.root()?.load_cut(id, cursor, bytes_max)
    }

    fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        self.root()?.delete(id, token)
    }

    fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        self.root()?.update(id, summary)
    }
}

fn info_of(root: &Root) -> BackendInfo {
    let settings = &root.settings;
    BackendInfo {
        name: "jsonl".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        durability: settings.sync.durability(),
        wants_packed: settings.pack_chunks,
        lease: LeaseScope::Session,
        record_bytes_max: RECORD_BYTES_MAX,
        notes: vec![
            root.links_note().to_owned(),
            settings.sync.note().to_owned(),
        ],
    }
}

annals_sdk::export!(Jsonl);
