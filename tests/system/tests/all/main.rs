//! What the `annals` command does to a real disk: system calls counted, processes killed, large roots listed.
//!
//! Absent: Annals as a library. Everything here is seen from outside, through the built command (`cargo xtask build`),
//! and through strace.

// All of this is test code: a broken assumption ends the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod command;
mod durability;
mod follower;
mod kill;
mod kill_rounds;
mod late;
mod leases;
mod links;
mod listing;
mod signals;
mod trace;
