//! The store component with a backend, instantiated, and the live sessions that handles point to.

mod composed;
mod dynamic;
mod entry;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wasmtime::component::{Component, HasSelf, Linker, ResourceAny, ResourceTable};
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::bindings::store::SessionStore;
use crate::bindings::store::annals::session::{observer, types};
use crate::bindings::store::exports::annals::session::store::{Guest, GuestSession};
use crate::builder::Link;
use crate::component::{self, Source};
use crate::error::{Error, Result};
use crate::grants::{GUEST_ROOT, Grants};
use crate::holder;
use crate::medium;
use crate::observer::Observer;
use crate::records::{BackendInfo, Batch, ErrorCode, LeaseScope, SessionHeader};

pub(crate) use dynamic::Limits;

/// The setting that names a backend's root.
const ROOT_SETTING: &str = "root";

/// What the builder chose.
pub(crate) struct Plan {
    pub(crate) source: Source,
    pub(crate) link: Link,
    pub(crate) grants: Grants,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) out_of_band_types: Vec<String>,
    pub(crate) observer: Box<dyn Observer>,
    pub(crate) limits: Limits,
}

/// The store component and what it keeps.
pub(crate) struct Linked {
    store: Store<Data>,
    exports: SessionStore,
    /// By key, which is never used twice.
    sessions: BTreeMap<u64, Live>,
    /// By key too, of the same count.
    prepared: BTreeMap<u64, ResourceAny>,
    next_key: u64,
    lease: LeaseScope,
    /// The directory that the backend was granted.
    root: Option<PathBuf>,
}

/// What linking gives: the store component, not configured yet.
struct Instance {
    store: Store<Data>,
    exports: SessionStore,
    /// For the backend.
    settings: Vec<(String, String)>,
}

struct Live {
    handle: ResourceAny,
    id: String,
    is_closed: bool,
    /// Whether the last call that was to make events durable failed: the caller was told so, and only the caller
    /// tries again.
    has_failed: bool,
}

/// A session that a handle may point to.
pub(crate) struct Entered {
    pub(crate) key: u64,
    pub(crate) header: SessionHeader,
}

/// What the wasmtime store of the store component holds.
pub(crate) struct Data {
    wasi: WasiCtx,
    table: ResourceTable,
    observer: Box<dyn Observer>,
    /// None when the backend is part of the component.
    backend: Option<dynamic::Backend>,
}

impl WasiView for Data {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl types::Host for Data {}

impl observer::Host for Data {
    fn created(&mut self, id: String) -> std::result::Result<(), String> {
        self.observer.created(&id)
    }

    fn appended(&mut self, id: String, events: Batch) {
        self.observer.appended(&id, &events);
    }

    fn flushed(&mut self, id: String) -> std::result::Result<(), String> {
        self.observer.flushed(&id)
    }

    fn disposed(&mut self, id: String) {
        self.observer.disposed(&id);
    }
}

/// A linker with what every store component may import.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<Data>> {
    let mut linker = Linker::new(engine);
    types::add_to_linker::<_, HasSelf<_>>(&mut linker, |data| data)?;
    observer::add_to_linker::<_, HasSelf<_>>(&mut linker, |data| data)?;
    Ok(linker)
}

impl Linked {
    /// Links, instantiates and configures.
    pub(crate) fn new(plan: Plan, since_ms: u64) -> Result<(Self, BackendInfo)> {
        let Plan {
            source,
            link,
            grants,
            settings,
            out_of_band_types,
            observer,
            limits,
        } = plan;
        let root = grants.root().map(Path::to_path_buf);
        let Instance {
            store,
            exports,
            settings,
        } = match link {
            Link::Static => composed::link(&source, grants, settings, observer)?,
            Link::Dynamic => dynamic::link(source, grants, settings, observer, limits)?,
        };
        let mut linked = Self {
            store,
            exports,
            sessions: BTreeMap::new(),
            prepared: BTreeMap::new(),
            next_key: 0,
            lease: LeaseScope::Session,
            root,
        };
        let holder = holder::this_process(since_ms);
        let info = linked
            .ask(|store, data| {
                store.call_configure(data, &holder, &out_of_band_types, Some(&settings))
            })?
            .ok_or_else(|| {
                let message = "the store was configured without a backend";
                Error::new(ErrorCode::NotConfigured, "not-configured", message, &[])
            })?;
        linked.lease = info.lease;
        Ok((linked, info))
    }

    /// Calls the store. A trap becomes `unavailable`, now and for every later call.
    pub(crate) fn ask<R>(
        &mut self,
        call: impl FnOnce(
            &Guest,
            &mut Store<Data>,
        ) -> wasmtime::Result<std::result::Result<R, types::Error>>,
    ) -> Result<R> {
        let guest = self.exports.annals_session_store();
        let answer = call(guest, &mut self.store).map_err(|error| trapped(&error))?;
        answer.map_err(|error| match &self.root {
            Some(root) => medium::explained(error.into(), root),
            None => error.into(),
        })
    }

    /// [`Linked::ask`] of a live session.
    pub(crate) fn ask_session<R>(
        &mut self,
        key: u64,
        call: impl FnOnce(
            GuestSession<'_>,
            &mut Store<Data>,
            ResourceAny,
        ) -> wasmtime::Result<std::result::Result<R, types::Error>>,
    ) -> Result<R> {
        let handle = self.live(key)?.handle;
        self.ask(|store, data| call(store.session(), data, handle))
    }

    /// Asks, and when a lease is held by a process that is gone, takes it and asks again.
    pub(crate) fn ask_judging<R>(
        &mut self,
        id: &String,
        ask: impl Fn(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let error = match ask(self) {
            Err(error) if error.code == ErrorCode::Busy => error,
            answer => return answer,
        };
        let Some(token) = holder::token_of_gone(&error.detail) else {
            return Err(error);
        };
        let eviction = types::Eviction {
            token,
            why: types::EvictionReason::Gone,
        };
        self.ask(|store, data| store.call_evict(data, id, &eviction))?;
        ask(self)
    }

    /// [`Linked::ask_session`] of what stores events, at the caller's wish. The lease of a holder that is gone is taken;
    /// a failure is remembered.
    pub(crate) fn ask_storing(
        &mut self,
        key: u64,
        call: impl Fn(
            GuestSession<'_>,
            &mut Store<Data>,
            ResourceAny,
        ) -> wasmtime::Result<std::result::Result<(), types::Error>>,
    ) -> Result<()> {
        let id = self.live(key)?.id.clone();
        let answer = self.ask_judging(&id, |linked| linked.ask_session(key, &call));
        if let Some(live) = self.sessions.get_mut(&key) {
            live.has_failed = answer.is_err();
        }
        answer
    }

    /// [`Linked::ask_session`] of what appends and stores in one. When events were taken in and it failed all the same,
    /// they could not be stored, and that is remembered; a refusal takes none in.
    pub(crate) fn ask_appending<R>(
        &mut self,
        key: u64,
        call: impl FnOnce(
            GuestSession<'_>,
            &mut Store<Data>,
            ResourceAny,
        ) -> wasmtime::Result<std::result::Result<R, types::Error>>,
    ) -> Result<R> {
        let before = self.next_seq(key)?;
        let answer = self.ask_session(key, call);
        if answer.is_err()
            && self.next_seq(key).ok() != Some(before)
            && let Some(live) = self.sessions.get_mut(&key)
        {
            live.has_failed = true;
        }
        answer
    }

    /// The seq of the session's next event.
    pub(crate) fn next_seq(&mut self, key: u64) -> Result<u64> {
        self.ask_session(key, |session, data, handle| {
            Ok(Ok::<_, types::Error>(session.call_next_seq(data, handle)?))
        })
    }

    /// Keeps a session that the store has just made.
    pub(crate) fn enter(&mut self, handle: ResourceAny) -> Result<Entered> {
        let header = self.ask(|store, data| {
            let header = store.session().call_header(data, handle)?;
            Ok(Ok::<_, types::Error>(header))
        })?;
        let key = self.next_key;
        self.next_key += 1;
        self.sessions.insert(
            key,
            Live {
                handle,
                id: header.id.clone(),
                is_closed: false,
                has_failed: false,
            },
        );
        Ok(Entered { key, header })
    }

    /// No handle points to the session any more, so it is closed. One that cannot be stays live, to be closed at the
    /// end. After a failure that the caller knows of it is let go as it is: what was reported as not stored must not be
    /// stored behind the back of a caller who does it again elsewhere.
    pub(crate) fn forget(&mut self, key: u64) {
        let Ok(live) = self.live(key) else { return };
        let has_left = if live.is_closed {
            true
        } else if live.has_failed {
            // It has left also when its lease cannot be given back.
            let _ = self.ask_session(key, |session, data, handle| {
                session.call_detach(data, handle)
            });
            true
        } else {
            let id = live.id.clone();
            let closed = self.ask_judging(&id, |linked| {
                linked.ask_session(key, |session, data, handle| {
                    session.call_close(data, handle)
                })
            });
            closed.is_ok()
        };
        if has_left && let Some(live) = self.sessions.remove(&key) {
            // Fails only when the store has trapped, and then there is nothing to drop.
            let _ = live.handle.resource_drop(&mut self.store);
        }
    }

    /// [`Linked::forget`] of every session.
    pub(crate) fn forget_all(&mut self) {
        let keys: Vec<u64> = self.sessions.keys().copied().collect();
        for key in keys {
            self.forget(key);
        }
    }

    pub(crate) fn close(&mut self, key: u64) -> Result<()> {
        if self.live(key)?.is_closed {
            return Ok(());
        }
        self.ask_storing(key, |session, data, handle| {
            session.call_close(data, handle)
        })?;
        if let Some(live) = self.sessions.get_mut(&key) {
            live.is_closed = true;
        }
        Ok(())
    }

    /// Closes what it can and answers the first error.
    pub(crate) fn close_all(&mut self) -> Result<()> {
        let open: Vec<u64> = self
            .sessions
            .iter()
            .filter(|(_, live)| !live.is_closed)
            .map(|(key, _)| *key)
            .collect();
        let mut first = Ok(());
        for key in open {
            let closed = self.close(key);
            first = first.and(closed);
        }
        first
    }

    /// Whether a lease is held that others would find abandoned.
    pub(crate) fn needs_renewal(&self) -> bool {
        self.lease != LeaseScope::None && self.sessions.values().any(|live| !live.is_closed)
    }

    /// Shows that this process is alive. A session whose lease was lost refuses its next write, which is soon enough.
    pub(crate) fn renew(&mut self) {
        let _ = self.ask(|store, data| store.call_renew(data));
    }

    fn live(&self, key: u64) -> Result<&Live> {
        self.sessions.get(&key).ok_or_else(|| {
            let message = "the session is closed; open it again";
            Error::new(ErrorCode::NotFound, "session-closed", message, &[])
        })
    }
}

fn trapped(error: &wasmtime::Error) -> Error {
    let cure = "build a new handle and open its sessions again";
    Error::trapped("the session store", "store-trapped", error, cure)
}

/// A component that uses no files gets no root; one that does finds it in the setting `root`, which then is nobody
/// else's to give: another value would name a directory inside the granted one, or none.
fn granted(
    component: &Component,
    grants: Grants,
    mut settings: Vec<(String, String)>,
) -> Result<(Grants, Vec<(String, String)>)> {
    if !component::uses_files(component) {
        return Ok((Grants::nothing(), settings));
    }
    if grants.has_root() {
        if settings.iter().any(|(name, _)| name == ROOT_SETTING) {
            let message = "setting \"root\" is given by the root that was granted; leave it out, and grant the directory that is meant";
            let facts = [("setting", ROOT_SETTING)];
            return Err(Error::new(
                ErrorCode::Invalid,
                "setting-root",
                message,
                &facts,
            ));
        }
        settings.push((ROOT_SETTING.to_owned(), GUEST_ROOT.to_owned()));
    }
    Ok((grants, settings))
}
