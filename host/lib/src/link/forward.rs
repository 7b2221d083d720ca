//! The store component's calls of its backend, passed on to where that runs.

use wasmtime::Store;

use super::Attached;
use super::dynamic::{Answer, Sandbox};
use crate::bindings::backend::exports::annals::session::persistence::Guest;
use crate::bindings::store::annals::session::persistence::Host;
use crate::bindings::store::annals::session::types::Eviction;
use crate::error::Error;
use crate::records::{BackendInfo, Batch, ErrorCode, Listing, Page, SessionHeader, SessionSummary};

fn not_linked() -> Error {
    let message = "there is no backend; build with one, or bind one";
    Error::new(ErrorCode::NotConfigured, "not-configured", message, &[])
}

/// Forwards to the backend, where there is one.
fn forward<R>(
    attached: &mut Attached,
    call: impl FnOnce(&Guest, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
) -> Answer<R> {
    match attached {
        Attached::Forwarded(Some(backend)) => backend.call(call),
        Attached::Forwarded(None) | Attached::Composed => Err(not_linked().into()),
    }
}

impl Host for Attached {
    fn configure(&mut self, settings: Vec<(String, String)>) -> Answer<BackendInfo> {
        let info = forward(self, |guest, store| guest.call_configure(store, &settings))?;
        if let Attached::Forwarded(Some(backend)) = self {
            backend.remember(settings);
        }
        Ok(info)
    }

    fn acquire(
        &mut self,
        id: Option<String>,
        holder: String,
        evict: Option<Eviction>,
    ) -> Answer<String> {
        forward(self, |guest, store| {
            guest.call_acquire(store, id.as_ref(), &holder, evict.as_ref())
        })
    }

    fn renew(&mut self, id: Option<String>, token: String) -> Answer<()> {
        forward(self, |guest, store| {
            guest.call_renew(store, id.as_ref(), &token)
        })
    }

    fn release(&mut self, id: Option<String>, token: String) -> Answer<()> {
        forward(self, |guest, store| {
            guest.call_release(store, id.as_ref(), &token)
        })
    }

    fn create(&mut self, header: SessionHeader, token: String, first: Batch) -> Answer<()> {
        forward(self, |guest, store| {
            guest.call_create(store, &header, &token, &first)
        })
    }

    fn append(&mut self, id: String, token: String, events: Batch) -> Answer<()> {
        forward(self, |guest, store| {
            guest.call_append(store, &id, &token, &events)
        })
    }

    fn load(&mut self, id: String, cursor: u64, bytes_max: u32) -> Answer<Page> {
        forward(self, |guest, store| {
            guest.call_load(store, &id, cursor, bytes_max)
        })
    }

    fn truncate(&mut self, id: String, token: String, keep_events: u64) -> Answer<()> {
        forward(self, |guest, store| {
            guest.call_truncate(store, &id, &token, keep_events)
        })
    }

    fn list(&mut self, cursor: Option<String>, count_max: u32) -> Answer<Listing> {
        forward(self, |guest, store| {
            guest.call_list(store, cursor.as_deref(), count_max)
        })
    }

    fn has(&mut self, id: String) -> Answer<bool> {
        forward(self, |guest, store| guest.call_has(store, &id))
    }

    fn load_cut(&mut self, id: String, cursor: u64, bytes_max: u32) -> Answer<Page> {
        forward(self, |guest, store| {
            guest.call_load_cut(store, &id, cursor, bytes_max)
        })
    }

    fn delete(&mut self, id: String, token: String) -> Answer<()> {
        forward(self, |guest, store| guest.call_delete(store, &id, &token))
    }

    fn update(&mut self, id: String, summary: SessionSummary) -> Answer<()> {
        forward(self, |guest, store| guest.call_update(store, &id, &summary))
    }
}
