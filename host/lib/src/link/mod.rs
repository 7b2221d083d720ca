//! The store component with a backend, instantiated, and the live sessions that handles point to.

mod composed;
mod dynamic;

use std::collections::BTreeMap;

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
    pub(crate) observer: Box<dyn Observer>,
    pub(crate) limits: Limits,
}

/// The store component and what it keeps.
pub(crate) struct Linked {
    store: Store<Data>,
    exports: SessionStore,
    /// By key, which is never used twice.
    sessions: BTreeMap<u64, Live>,
    next_key: u64,
    lease: LeaseScope,
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
    is_closed: bool,
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
            observer,
            limits,
        } = plan;
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
            next_key: 0,
            lease: LeaseScope::Session,
        };
        let holder = holder::this_process(since_ms);
        let info = linked
            .ask(|store, data| store.call_configure(data, &holder, &[], Some(&settings)))?
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
        answer.map_err(Error::from)
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

    /// Keeps a session that the store has just made.
    pub(crate) fn enter(&mut self, handle: ResourceAny) -> Result<Entered> {
        let key = self.next_key;
        self.next_key += 1;
        self.sessions.insert(
            key,
            Live {
                handle,
                is_closed: false,
            },
        );
        let header = self.ask_session(key, |session, data, handle| {
            Ok(Ok::<_, types::Error>(session.call_header(data, handle)?))
        })?;
        Ok(Entered { key, header })
    }

    /// No handle points to the session any more, so it is closed. One that cannot be stays live, to be closed at the
    /// end.
    pub(crate) fn forget(&mut self, key: u64) {
        if self.close(key).is_ok()
            && let Some(live) = self.sessions.remove(&key)
        {
            // Fails only when the store has trapped, and then there is nothing to drop.
            let _ = live.handle.resource_drop(&mut self.store);
        }
    }

    pub(crate) fn close(&mut self, key: u64) -> Result<()> {
        if self.live(key)?.is_closed {
            return Ok(());
        }
        self.ask_session(key, |session, data, handle| {
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

/// A component that uses no files gets no root; one that does finds it in the setting `root`.
fn granted(
    component: &Component,
    grants: Grants,
    mut settings: Vec<(String, String)>,
) -> (Grants, Vec<(String, String)>) {
    if !component::uses_files(component) {
        return (Grants::nothing(), settings);
    }
    if grants.has_root() && !settings.iter().any(|(name, _)| name == ROOT_SETTING) {
        settings.push((ROOT_SETTING.to_owned(), GUEST_ROOT.to_owned()));
    }
    (grants, settings)
}
