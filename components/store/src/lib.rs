//! The store component: live sessions in memory over a persistence backend.
//!
//! [`Store`] is a plain type over two traits, so that everything here runs natively in tests; `component.rs` makes the
//! component of it and only converts. The store is the trusted coordinator: it checks whatever a backend hands back.
//! Absent: any I/O of its own, a clock, randomness, and the rules of a log, which are `annals_core`'s.

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
        world: "session-store",
        with: { "annals:session/types@0.1.0": annals_sdk::types },
    });
}

mod adopting;
mod backend;
#[cfg(target_family = "wasm")]
mod component;
mod convert;
mod flush;
mod fork;
mod lease;
mod lifecycle;
mod live;
pub mod log;
mod medium;
mod observer;
mod open;
mod out_of_band;
mod room;
mod session;
mod store;
mod strict;

pub use bindings::exports::annals::session::log::{Fold, Replacement};
pub use bindings::exports::annals::session::store::{
    Binding, Bound, CreateOptions, Messages, OpenMode, Repair, StepUsage, StoreOptions, Surface,
    Usage, UsageCount,
};
pub use live::SessionKey;
pub use observer::Observer;
pub use room::SESSIONS_BYTES_MAX;
pub use store::Store;
