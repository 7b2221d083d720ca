//! A backend by itself, for those who test one: instances as they are, without a store and without help.

use std::path::Path;

use super::Settings;
use super::dynamic::{Answer, Backend, STARTED_AGAIN};
use crate::apart::apart;
use crate::bindings::store::annals::session::types;
use crate::error::{Error, Result};
use crate::place::Place;
use crate::records::{
    BackendInfo, Batch, ErrorCode, Eviction, Listing, Page, SessionHeader, SessionSummary,
};

/// What to do about one that stopped.
const CURE: &str = "start another instance";

/// A backend's component, compiled once and linked under the limits of a [`Place`], for those who test backends: each
/// instance has a wasmtime store of its own, nothing configures it but its caller, and one that stopped stays stopped.
pub struct Bare {
    backend: Backend,
    settings: Settings,
}

/// One instance of a [`Bare`] backend: interface `persistence`, as the component answers it.
///
/// # Errors
/// Every function answers what the backend does, and `unavailable` once the instance has stopped: reason
/// `backend-trapped`, `backend-limit` or `backend-timeout` from the call that stopped it, `backend-not-running` from all
/// that come after it.
pub struct Started {
    backend: Backend,
}

impl Bare {
    /// Compiles and links the backend of that place. One that uses files is granted the place's root, which is made if
    /// the place says so; [`Bare::start`] names others.
    ///
    /// # Errors
    /// As [`Builder::build`](crate::Builder::build), except for what a backend says to its settings; `invalid`, reason
    /// `backend-missing`, where the place has none.
    pub fn new(place: Place) -> Result<Self> {
        let chosen = place.choose()?.ok_or_else(missing)?;
        let (mut backend, settings) = apart(|| Backend::new(chosen))?;
        backend.is_examined = true;
        // That it can be started is known now.
        backend.stop();
        Ok(Self { backend, settings })
    }

    /// What it is to be configured with: the place's settings and, where it was granted a root, that.
    #[must_use]
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings
    }

    /// Whether it was granted the place's root: it uses files.
    #[must_use]
    pub fn has_root(&self) -> bool {
        self.backend.root().is_some()
    }

    /// Starts an instance, with `root` as the directory of one that uses files. It is not configured yet.
    ///
    /// # Errors
    /// `not-found` or `other`: the root cannot be opened; `unavailable`: it does not start.
    pub fn start(&mut self, root: &Path) -> Result<Started> {
        let backend = &mut self.backend;
        let backend = apart(|| backend.another(root))?;
        Ok(Started { backend })
    }
}

/// Calls an instance, if it runs.
macro_rules! ask {
    ($started:expr, $function:ident($($argument:expr),*)) => {
        $started.ask(|backend| persistence!(backend, $function($($argument),*)))
    };
}

/// The functions of interface `persistence`; see `wit/annals.wit`. Errors are those of [`Started`].
#[allow(clippy::missing_errors_doc)]
impl Started {
    /// Names the settings and learns what the backend promises.
    pub fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        ask!(self, call_configure(settings))
    }

    /// Takes the writer's lease of a session, or without an id of the root, and gets its token.
    pub fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        let id = id.map(str::to_owned);
        ask!(self, call_acquire(id.as_ref(), holder, evict))
    }

    /// Shows that the holder of the token is alive.
    pub fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        let id = id.map(str::to_owned);
        ask!(self, call_renew(id.as_ref(), token))
    }

    /// Gives the lease back.
    pub fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        let id = id.map(str::to_owned);
        ask!(self, call_release(id.as_ref(), token))
    }

    /// Stores header and first batch as one.
    pub fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        ask!(self, call_create(header, token, first))
    }

    /// Stores all of the batch or none.
    pub fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        let id = id.to_owned();
        ask!(self, call_append(&id, token, events))
    }

    /// Reads whole records from `cursor`, about `bytes_max` bytes.
    pub fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let id = id.to_owned();
        ask!(self, call_load(&id, cursor, bytes_max))
    }

    /// Keeps the first `keep_events` events and saves what follows beside the log.
    pub fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        let id = id.to_owned();
        ask!(self, call_truncate(&id, token, keep_events))
    }

    /// At most `count_max` stored sessions, from `cursor` on.
    pub fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        ask!(self, call_list(cursor, count_max))
    }

    /// Whether the session is stored.
    pub fn has(&mut self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        ask!(self, call_has(&id))
    }

    /// Reads what `truncate` saved, about `bytes_max` bytes from `cursor` on.
    pub fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let id = id.to_owned();
        ask!(self, call_load_cut(&id, cursor, bytes_max))
    }

    /// Removes log, summary, cut bytes and lease.
    pub fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        let id = id.to_owned();
        ask!(self, call_delete(&id, token))
    }

    /// Changes the summary, never the log.
    pub fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        let id = id.to_owned();
        ask!(self, call_update(&id, summary))
    }

    fn ask<R: Send>(&mut self, call: impl FnOnce(&mut Backend) -> Answer<R> + Send) -> Result<R> {
        if !self.backend.is_running() {
            return Err(stopped(self.backend.name()));
        }
        self.backend.begin();
        let backend = &mut self.backend;
        apart(|| Ok(call(backend)))?.map_err(not_again)
    }
}

/// Nobody starts this one again.
fn not_again(error: types::Error) -> Error {
    let mut error = Error::from(error);
    error.message = error.message.replace(STARTED_AGAIN, CURE);
    error
}

fn missing() -> Error {
    let message = "there is no backend; name one";
    Error::new(ErrorCode::Invalid, "backend-missing", message, &[])
}

fn stopped(name: &str) -> Error {
    let message = format!("{name} has stopped; {CURE}");
    let facts = [("component", name)];
    Error::new(
        ErrorCode::Unavailable,
        "backend-not-running",
        message,
        &facts,
    )
}

impl std::fmt::Debug for Bare {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Bare");
        shown.field("name", &self.backend.name());
        shown.finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Started {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Started");
        shown.field("name", &self.backend.name());
        shown.finish_non_exhaustive()
    }
}
