//! Backends that mean harm, under the whole of the host: what each tried, what the caller got, that the store went on.

// A test says what it found by panicking, helpers included.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(unix)]

// Other tests use more of it.
#[allow(dead_code)]
#[path = "../../../../host/lib/tests/all/faulty.rs"]
mod faulty;

mod cases;
mod claims;
mod grounds;
mod hangs;
mod renewals;
mod scene;
mod starts;
mod swaps;
mod table;
