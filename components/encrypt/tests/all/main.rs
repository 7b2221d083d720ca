//! Sealing over memory and over files.

// a test that panics has said what it found
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod configuring;
mod cuts;
mod damage;
mod layers;
mod limits;
mod pages;
mod sealing;
mod sessions;
mod summaries;
mod support;
