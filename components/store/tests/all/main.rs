//! The store over the memory backend, over one that fails on demand, and over ones that break the contract.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod adopting;
mod entries;
mod files;
mod fork;
mod hostile;
mod leases;
mod lifecycle;
mod limits;
mod log;
mod opening;
mod out_of_band;
mod prompts;
mod strict;
mod support;
mod writing;
