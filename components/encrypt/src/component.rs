//! The component: over whatever backend it was composed with.

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

annals_sdk::imported!(Below, below);
annals_sdk::export!(Encrypt<Below>);
