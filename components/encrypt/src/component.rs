//! The component: over whatever backend it was composed with.

use annals_sdk::types::{
    BackendInfo, Batch, Eviction, Listing, Page, SessionHeader, SessionSummary,
};
use annals_sdk::{Persistence, Result};

use crate::{Encrypt, Surroundings};
use bindings::annals::session::persistence as below;

#[allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]
mod bindings {
    //! Generated from the WIT. Only the import is used: the SDK exports.
    wit_bindgen::generate!({
        path: "../../wit",
        world: "persistence-middleware",
        with: { "annals:session/types@0.1.0": annals_sdk::types },
    });
}

/// The imported backend.
pub(crate) struct Below;

impl Default for Encrypt<Below> {
    fn default() -> Self {
        Encrypt::over(Below, Surroundings::own())
    }
}

impl Persistence for Below {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        below::configure(settings)
    }

    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        below::acquire(id, holder, evict)
    }

    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        below::renew(id, token)
    }

    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        below::release(id, token)
    }

    fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        below::create(header, token, first)
    }

    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        below::append(id, token, events)
    }

    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        below::load(id, cursor, bytes_max)
    }

    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        below::truncate(id, token, keep_events)
    }

    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        below::list(cursor, count_max)
    }

    fn has(&mut self, id: &str) -> Result<bool> {
        below::has(id)
    }

    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        below::load_cut(id, cursor, bytes_max)
    }

    fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        below::delete(id, token)
    }

    fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        below::update(id, summary)
    }
}

annals_sdk::export!(Encrypt<Below>);
