//! Random logs against the model: each property is held by ten thousand of them.

// The rules against panics are for what meets input; a test is right to stop at the first surprise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod appending;
mod check;
mod comparing;
mod forking;
mod fuzzed;
mod packing;
mod regressions;
mod reopening;
mod viewing;
