//! Too little memory: a typed limit, and nothing has changed.
//!
//! The heap of this binary ends where a test says, as a WebAssembly memory does. Every call is tried with as little
//! memory as there may be, and then with more and more until it is taken.

// The rules against panics are for what meets input; a test is right to stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod appending;

use std::alloc::System;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap::Cap;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// One at a time, or each would take the memory of the others.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a call with so many bytes of memory more than what is held now.
fn with_memory<R>(bytes: usize, call: impl FnOnce() -> R) -> R {
    HEAP.set_limit(HEAP.allocated() + bytes).unwrap();
    let result = call();
    HEAP.set_limit(usize::MAX).unwrap();
    result
}
