//! How components are compiled: one configuration for compiling, compiling ahead of time, and loading.
//!
//! The only module with `unsafe`, but for the bundle's embedded bytes, which come from the build.

use wasmtime::component::Component;
use wasmtime::{Config, Engine, Result};

use crate::cache::Checked;

/// What a component is trusted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Runs until it returns: the store, and a backend composed with it.
    Full,
    /// Is interrupted at a deadline: a backend in its own wasmtime store.
    Bounded,
}

/// Bytes that one call may carry out of a component: a log of 1 GiB, the longest that is held in memory, as one batch, and
/// what goes with it. wasmtime's own limit is 128 MiB.
pub(crate) const CALL_BYTES_MAX: usize = (1 << 30) + (1 << 20);

/// An engine for components of this trust.
pub(crate) fn new(trust: Trust) -> Result<Engine> {
    let mut config = Config::new();
    // Calls across the border are plain functions; keeping a task for each would make them three times as slow.
    config.concurrency_support(false);
    config.epoch_interruption(trust == Trust::Bounded);
    Engine::new(&config)
}

/// Machine code out of the build, to be loaded by [`load`] in an engine of the same trust.
pub(crate) struct Precompiled {
    code: &'static [u8],
}

impl Precompiled {
    /// # Safety
    /// The bytes are what `Engine::precompile_component` gave in the build of this binary.
    #[allow(
        unsafe_code,
        dead_code,
        reason = "loading runs whatever the bytes are; a build without a bundle has none, the one that makes the bundle first of all"
    )]
    pub(crate) const unsafe fn embedded(code: &'static [u8]) -> Self {
        Self { code }
    }
}

/// Loads precompiled machine code. An error means that it was compiled by another version or for another processor.
#[allow(unsafe_code)]
pub(crate) fn load(engine: &Engine, precompiled: &Precompiled) -> Result<Component> {
    // SAFETY: whoever made `precompiled` vouched for its bytes, which are part of this binary, so nobody could change
    // them since; wasmtime itself refuses those of another version, configuration or processor.
    unsafe { Component::deserialize(engine, precompiled.code) }
}

/// Loads machine code that this user's cache kept.
#[allow(unsafe_code)]
pub(crate) fn load_checked(engine: &Engine, checked: &Checked) -> Result<Component> {
    // SAFETY: only the cache makes a `Checked`, of a file that nobody but this user can have written and whose digest
    // says that it is what `Component::serialize` gave; wasmtime itself refuses what another version, configuration or
    // processor made.
    unsafe { Component::deserialize(engine, checked.code()) }
}
