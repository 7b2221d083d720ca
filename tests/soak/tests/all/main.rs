//! The checker finds what it is there to find.

// All of this is test code: a broken assumption ends the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod faults;
