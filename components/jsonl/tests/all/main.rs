//! The JSONL backend on real files, and on files that fail.

// a test that panics has said what it found
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod append;
mod buckets;
mod create;
mod cut;
mod delete;
mod faults;
mod fold;
mod lease;
mod listing;
mod load;
mod meddling;
mod overtaken;
mod paths;
mod settings;
mod summary;
mod support;
mod twice;
mod upkeep;
mod upkeep_leases;
mod watched;
