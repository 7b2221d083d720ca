//! The rules of a session log: lossless JSON, events, headers, stored records and packed rows.
//!
//! Events stay the bytes they came as; what is read from them borrows. Absent: I/O, clock, randomness, WIT, wasm.

pub mod chunk_rows;
pub mod closers;
pub mod event;
pub mod fault;
pub mod header;
pub mod json;
pub mod load;
pub mod log;
pub mod message;
pub mod prompt;
pub mod record;
pub mod request_header;
pub mod salvage;
pub mod sealed;
pub mod session;
pub mod surface;
pub mod trace;
pub mod usage;
