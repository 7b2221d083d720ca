// The rules against panics are for what meets input; a test is right to stop at the first surprise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod closers;
mod event;
mod header;
mod json;
mod limits;
mod load;
mod message;
mod prompt;
mod properties;
mod request_header;
mod rows;
mod salvage;
mod scan;
mod sealed;
mod session;
mod shown;
mod surface;
mod trace;
mod usage;
mod usual;
mod vectors;
