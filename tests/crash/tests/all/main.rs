//! The backend and the store over a simulated disk: power cuts after every operation, errors at every operation.

// a test that panics has said what it found
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod examination;
mod process;
mod story;

mod errors;
mod found;
mod full;
mod holes;
mod links;
mod power;
mod sealed;
mod simulation;
