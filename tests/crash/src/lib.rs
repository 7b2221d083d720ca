//! A simulated disk under the JSONL backend: what it holds after a power loss, and errors at any operation.
//!
//! # The model
//!
//! **Kept by a disk** is what was synced, and of everything else one of finitely many outcomes, each chosen for itself:
//!
//! - A *write* is absent, whole, or reached the disk as far as a cut: its first byte, its middle, all but its last byte,
//!   or any border of a 4 KiB block of the file. Behind the cut the file either ends or has the length that the write
//!   gave it, and what the write added to the file reads as zeros (the length is metadata and may be ahead of the
//!   data). What it wrote over keeps its old bytes there. Writes of one file do not wait for each other.
//! - A *change of length* is absent or there.
//! - A *name* that was made, linked, renamed or removed is so or still as it was; a rename is one step. Names do not
//!   wait for each other either, nor for the content of what they name: a file may be there without its bytes.
//! - A sync of a file makes its content and length durable, and no name. A sync of a directory makes the names in it
//!   durable: not the directory's own name, and no content.
//! - After a *failed sync* what it was to make durable stays in doubt for ever: it has the outcomes above whatever is
//!   synced later. Reading the file then shows it, or zeros in its place, or the file without it. After a failed sync of
//!   a directory its names are as unsynced as before.
//!
//! What is seen without a power loss, as after a killed process, is the state in which everything is whole; it is one of
//! the states of every cut.
//!
//! This is more than a disk does: no journal keeps names in order here. One thing is left out: data behind a hole. What a
//! write left is a beginning of it, never its later blocks without an earlier one. A log with such a hole before a
//! `turn/end` cannot be told from a damaged one and is not opened; it loses nothing that was acknowledged.
//!
//! **Errors** are injected at one operation, or from one on until the disk is healed: see [`Fault`].

// a simulation that panics is wrong itself
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod directory;
mod draws;
mod fault;
mod file;
mod handle;
mod power;
mod sim;
mod tree;

pub use draws::Draws;
pub use fault::{Fault, Loss, Operation, Plan};
pub use power::{PowerCut, States};
pub use sim::{Sim, Step};
pub use tree::Tree;
