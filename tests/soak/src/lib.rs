//! Annals under siege: several processes append to a few sessions, kill and stop each other, and run out of disk.
//!
//! What was acknowledged is written down outside the disk that fills, and a checker reads every log byte by byte. It
//! shares no code with Annals: a line is JSON, an event has a `seq`, a payload carries a token that nobody else uses.
//!
//! Absent: power cuts, since what a killed process wrote is still in the kernel (`tests/crash` simulates them).

pub mod checker;
pub mod command;
pub mod counts;
pub mod disk;
pub mod inspection;
pub mod journal;
pub mod payload;
pub mod processes;
pub mod random;
pub mod siege;
pub mod visitor;
pub mod writer;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A thread that panicked ends the run anyway; what it left is still true.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
