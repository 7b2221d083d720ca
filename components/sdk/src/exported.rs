//! The generated interface in terms of [`Persistence`]: this file only converts.

use std::marker::PhantomData;

use crate::Persistence;
use crate::bindings::exports::annals::session::persistence::Guest;
use crate::types::{
    BackendInfo, Batch, Error, Eviction, Listing, Page, SessionHeader, SessionSummary,
};

/// A backend that lives for as long as its component does.
pub trait Hosted: Persistence + 'static {
    /// Calls with the one instance of this component.
    fn with<R>(call: impl FnOnce(&mut Self) -> R) -> R;
}

/// A backend as the component's exports.
pub struct Exported<B>(PhantomData<B>);

impl<B: Hosted> Guest for Exported<B> {
    fn configure(settings: Vec<(String, String)>) -> Result<BackendInfo, Error> {
        B::with(|backend| backend.configure(&settings))
    }

    fn acquire(
        id: Option<String>,
        holder: String,
        evict: Option<Eviction>,
    ) -> Result<String, Error> {
        B::with(|backend| backend.acquire(id.as_deref(), &holder, evict.as_ref()))
    }

    fn renew(id: Option<String>, token: String) -> Result<(), Error> {
        B::with(|backend| backend.renew(id.as_deref(), &token))
    }

    fn release(id: Option<String>, token: String) -> Result<(), Error> {
        B::with(|backend| backend.release(id.as_deref(), &token))
    }

    fn create(header: SessionHeader, token: String, first: Batch) -> Result<(), Error> {
        B::with(|backend| backend.create(&header, &token, &first))
    }

    fn append(id: String, token: String, events: Batch) -> Result<(), Error> {
        B::with(|backend| backend.append(&id, &token, &events))
    }

    fn load(id: String, cursor: u64, bytes_max: u32) -> Result<Page, Error> {
        B::with(|backend| backend.load(&id, cursor, bytes_max))
    }

    fn truncate(id: String, token: String, keep_events: u64) -> Result<(), Error> {
        B::with(|backend| backend.truncate(&id, &token, keep_events))
    }

    fn list(cursor: Option<String>, count_max: u32) -> Result<Listing, Error> {
        B::with(|backend| backend.list(cursor.as_deref(), count_max))
    }

    fn has(id: String) -> Result<bool, Error> {
        B::with(|backend| backend.has(&id))
    }

    fn load_cut(id: String, cursor: u64, bytes_max: u32) -> Result<Page, Error> {
        B::with(|backend| backend.load_cut(&id, cursor, bytes_max))
    }

    fn delete(id: String, token: String) -> Result<(), Error> {
        B::with(|backend| backend.delete(&id, &token))
    }

    fn update(id: String, summary: SessionSummary) -> Result<(), Error> {
        B::with(|backend| backend.update(&id, &summary))
    }
}
