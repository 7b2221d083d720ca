//! A backend by itself, for its interface `upkeep`.

use wasmtime::Store;

use super::dynamic::{Answer, Backend, Sandbox};
use super::{Chosen, explained};
use crate::bindings::upkeep::exports::annals::session::upkeep::Guest;
use crate::error::Result;
use crate::records::Litter;

/// A configured backend without a store. It holds no lease, and others may use the same medium.
pub(crate) struct Tended {
    backend: Backend,
}

impl Tended {
    pub(crate) fn new(chosen: Chosen) -> Result<Self> {
        let (backend, _) = Backend::tried(chosen)?;
        Ok(Self { backend })
    }

    /// Nothing where the backend does not have the interface.
    pub(crate) fn inspect(&mut self, count_max: u32) -> Result<Vec<Litter>> {
        let found = self.ask(|upkeep, store| upkeep.call_inspect(store, count_max));
        found.unwrap_or_else(|| Ok(Vec::new()))
    }

    pub(crate) fn remove(&mut self, place: &str, token: Option<&str>) -> Result<()> {
        let removed = self.ask(|upkeep, store| upkeep.call_remove(store, place, token));
        removed.unwrap_or(Ok(()))
    }

    fn ask<R>(
        &mut self,
        call: impl FnOnce(&Guest, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
    ) -> Option<Result<R>> {
        let root = self.backend.root();
        let answer = self.backend.call_upkeep(call)?;
        Some(answer.map_err(|error| explained(error, root.as_deref())))
    }
}
