//! Large inputs: a typed result, in time that grows with the input and memory that is a few times as much.
//!
//! Every shape is run at n, 2n and 4n. A table of what was measured is printed (`--nocapture` shows it), and held
//! against two bounds: four times the input may take six times as long, and what a call needs with what it was given
//! is at most four times the event or log.

// The rules against panics are for what meets input; a test is right to stop at the first surprise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod calls;
mod events;
mod logs;
mod measure;

use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;
