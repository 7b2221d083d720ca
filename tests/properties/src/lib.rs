//! What must hold for every log.
//!
//! [`model`] is a session in the plainest way, [`script`] makes random logs, [`mutation`] breaks them; the tests compare
//! what `annals_core` and the store make of such logs with what the model makes of them. [`large`] makes logs to measure.

// The rules against panics are for what meets input; a test is right to stop at the first surprise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

pub mod fuzzed;
pub mod json;
pub mod large;
pub mod model;
pub mod mutation;
pub mod random;
pub mod script;
