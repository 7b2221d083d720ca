//! A backend that one process has to itself: its only lease is that of the whole root, and ends with the process.

use std::sync::atomic::{AtomicU64, Ordering};

use annals_sdk::leases::Leases;
use annals_sdk::types::{
    BackendInfo, Batch, Eviction, LeaseScope, Listing, Page, SessionHeader, SessionSummary,
};
use annals_sdk::{Persistence, Result};
use annals_template::Template;

pub struct Rooted {
    files: Box<dyn Persistence>,
    leases: Leases,
}

static STARTED: AtomicU64 = AtomicU64::new(0);

impl Default for Rooted {
    fn default() -> Self {
        let mut leases = Leases::default();
        // so that no instance gives the tokens of another
        for _ in 0..STARTED.fetch_add(1, Ordering::Relaxed) {
            let token = leases.acquire(None, "{}", None).unwrap();
            leases.release(None, &token);
        }
        Self {
            files: Box::new(Template::default()),
            leases,
        }
    }
}

impl Persistence for Rooted {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        let info = self.files.configure(settings)?;
        let lease = LeaseScope::Root;
        Ok(BackendInfo { lease, ..info })
    }

    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        self.files.acquire(id, holder, evict)?;
        self.leases.acquire(id, holder, evict)
    }

    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.files.renew(id, token)?;
        self.leases.renew(id, token)
    }

    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.files.release(id, token)?;
        self.leases.release(id, token);
        Ok(())
    }

    fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        self.files.renew(None, token)?;
        self.leases.check(&header.id, token)?;
        self.files.create(header, token, first)
    }

    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        self.files.renew(None, token)?;
        self.leases.check(id, token)?;
        self.files.append(id, token, events)
    }

    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.files.load(id, cursor, bytes_max)
    }

    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        self.files.renew(None, token)?;
        self.leases.check(id, token)?;
        self.files.truncate(id, token, keep_events)
    }

    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        self.files.list(cursor, count_max)
    }

    fn has(&mut self, id: &str) -> Result<bool> {
        self.files.has(id)
    }

    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.files.load_cut(id, cursor, bytes_max)
    }

    fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        self.files.renew(None, token)?;
        self.leases.check(id, token)?;
        self.files.delete(id, token)
    }

    fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        self.files.update(id, summary)
    }
}
