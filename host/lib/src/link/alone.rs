//! The store component without a backend, for its interface `log`.

use wasmtime::Store;

use super::{Data, dynamic};
use crate::bindings::store::SessionStore;
use crate::bindings::store::annals::session::types;
use crate::bindings::store::exports::annals::session::log::Guest;
use crate::error::{Error, Result};
use crate::observer::Observers;

/// An instance that is not configured.
pub(crate) struct Alone {
    store: Store<Data>,
    exports: SessionStore,
}

impl Alone {
    pub(crate) fn new() -> Result<Self> {
        let (store, exports) = dynamic::instantiate(None, Observers::default())?;
        Ok(Self { store, exports })
    }

    /// Calls a rule. An error means that the instance has stopped.
    pub(crate) fn ask<R>(
        &mut self,
        call: impl FnOnce(
            &Guest,
            &mut Store<Data>,
        ) -> wasmtime::Result<std::result::Result<R, types::Error>>,
    ) -> Result<std::result::Result<R, types::Error>> {
        let guest = self.exports.annals_session_log();
        call(guest, &mut self.store).map_err(|error| {
            let cure = "it is started again by the next call";
            Error::trapped("the session store", "store-trapped", &error, cure)
        })
    }
}
