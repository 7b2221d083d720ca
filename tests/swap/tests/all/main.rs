//! The backend is exchanged while sessions are written. Needs what `cargo xtask build` leaves.

// A test says what it found by panicking, helpers included.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod bites;
mod changes;
mod checker;
mod exchange;
mod journal;
mod medium;
mod scene;
mod writers;
