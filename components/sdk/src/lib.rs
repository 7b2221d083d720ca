//! What a backend needs: implement [`blobs::Blobs`], the short way, or [`Persistence`] itself, then write
//! `annals_sdk::export!(Backend);`. `docs/writing-a-backend.md` leads through it.
//!
//! The types are those of `wit/types.wit`; the comments there and in `wit/annals.wit` are the contract of every
//! function here. What many backends need besides is here too: a log as bytes ([`log`]), names for files ([`names`]),
//! pieces of a listing ([`listing`]), leases in memory ([`leases`]), errors ([`types::Error`]), checks of a batch, and for
//! middleware the backend below it ([`imported!`]).
//!
//! Absent: any I/O, and any knowledge of turns, surfaces or messages.

#[allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]
pub mod bindings {
    //! Generated from the WIT.
    wit_bindgen::generate!({
        path: "../../wit",
        world: "session-persistence",
        pub_export_macro: true,
        export_macro_name: "export_persistence",
        default_bindings_module: "annals_sdk::bindings",
        additional_derives: [PartialEq],
    });
}

mod batch;
pub mod blobs;
mod core;
mod error;
mod exported;
mod imported;
pub mod leases;
pub mod listing;
pub mod log;
pub mod names;
mod summary;

pub use bindings::annals::session::types;
pub use exported::{Exported, Hosted};

use types::{BackendInfo, Batch, Error, Eviction, Listing, Page, SessionHeader, SessionSummary};

/// What every call of the contract answers.
pub type Result<T> = std::result::Result<T, Error>;

/// Interface `persistence` as a trait: where sessions are kept.
pub trait Persistence {
    /// Name the settings and learn what the backend promises.
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo>;
    /// Take the writer's lease of one session, or with no id of the whole root, and get its token.
    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String>;
    /// Show that the holder of the token is alive.
    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()>;
    /// Give the lease back.
    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()>;
    /// Store header and first batch as one: both or neither.
    fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()>;
    /// Store all of the batch or none of it.
    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()>;
    /// Read whole records from `cursor`, about `bytes_max` bytes at most.
    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page>;
    /// Keep the first `keep_events` events and save what follows beside the log.
    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()>;
    /// Every stored session, a bounded piece at a time.
    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing>;
    /// Whether the session is stored.
    fn has(&mut self, id: &str) -> Result<bool>;
    /// What `truncate` saved.
    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page>;
    /// Remove log, summary, cut bytes and lease.
    fn delete(&mut self, id: &str, token: &str) -> Result<()>;
    /// Change the summary, never the log.
    fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()>;
}

/// Exports a backend (`Default + Persistence + 'static`) as a component; nothing on other targets than wasm.
#[macro_export]
macro_rules! export {
    ($backend:ty) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            ::std::thread_local! {
                static BACKEND: ::std::cell::RefCell<$backend> = ::std::cell::RefCell::default();
            }
            impl $crate::Hosted for $backend {
                fn with<R>(call: impl FnOnce(&mut Self) -> R) -> R {
                    BACKEND.with(|backend| call(&mut backend.borrow_mut()))
                }
            }
            type Component = $crate::Exported<$backend>;
    $crate::bindings::export_persistence!(Component with_types_in $crate::bindings);
        };
    };
}
