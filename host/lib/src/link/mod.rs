//! The store component with a backend, instantiated, and the live sessions that handles point to.

#[macro_use]
mod calls;

mod alone;
mod bare;
mod border;
mod composed;
mod directories;
mod dynamic;
mod entry;
mod files;
mod forward;
mod leases;
mod live;
mod sandbox;
mod swap;
mod tended;
mod ticker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wasmtime::component::{Component, HasSelf, Linker, ResourceAny, ResourceTable};
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::bindings::store::SessionStore;
use crate::bindings::store::annals::session::{observer, types};
use crate::bindings::store::exports::annals::session::store::Guest;
use crate::builder::Link;
use crate::cache::Cache;
use crate::component::{self, Source};
use crate::error::{Error, Result};
use crate::grants::{GUEST_ROOT, Grants};
use crate::holder;
use crate::limits::Limits;
use crate::medium;
use crate::needs::{self, Need};
use crate::observer::Observers;
use crate::records::{BackendInfo, Batch, ErrorCode, StoreOptions};
use crate::room::Room;
use crate::watch::Watch;

pub(crate) use alone::Alone;
pub use bare::{Bare, Started};
pub(crate) use dynamic::Backend;
pub(crate) use live::Entered;
pub(crate) use swap::Leaving;
pub(crate) use tended::Tended;

use live::Live;

/// The setting that names a backend's root.
const ROOT_SETTING: &str = "root";

/// What a store composed with a backend imports besides.
const OBSERVER: &str = "annals:session/observer@0.1.0";

/// Name and value of each setting of a backend.
type Settings = Vec<(String, String)>;

/// A backend, not linked yet.
pub(crate) struct Chosen {
    pub(crate) source: Source,
    pub(crate) grants: Grants,
    pub(crate) settings: Settings,
    pub(crate) limits: Limits,
    pub(crate) cache: Option<Cache>,
}

/// What the builder chose.
pub(crate) struct Plan {
    /// None: no backend.
    pub(crate) chosen: Option<Chosen>,
    pub(crate) link: Link,
    pub(crate) options: StoreOptions,
    pub(crate) observers: Observers,
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
    /// How the store is configured, whatever its backend.
    host: Host,
    bound: Bound,
    watch: Watch,
}

/// This process and what it chose.
struct Host {
    holder: String,
    options: StoreOptions,
}

/// The present backend, as it is configured.
#[derive(Default)]
struct Bound {
    /// None without a backend.
    settings: Option<Settings>,
    /// The directory that it was granted.
    root: Option<PathBuf>,
    /// None without a backend, and while it is not configured.
    info: Option<BackendInfo>,
}

/// What linking gives: the store component, not configured yet.
struct Instance {
    store: Store<Data>,
    exports: SessionStore,
    /// For the backend; none without one.
    settings: Option<Settings>,
    root: Option<PathBuf>,
}

/// What the wasmtime store of the store component holds.
pub(crate) struct Data {
    wasi: WasiCtx,
    table: ResourceTable,
    observers: Observers,
    backend: Attached,
}

/// Where the store component finds its backend.
enum Attached {
    /// In itself.
    Composed,
    /// In a wasmtime store of its own, if there is one.
    Forwarded(Option<Box<Backend>>),
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
        self.observers.created(&id)
    }

    fn appended(&mut self, id: String, events: Batch) {
        self.observers.appended(&id, &events);
    }

    fn flushed(&mut self, id: String) -> std::result::Result<(), String> {
        self.observers.flushed(&id)
    }

    fn disposed(&mut self, id: String) {
        self.observers.disposed(&id);
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
    pub(crate) fn new(plan: Plan, since_ms: u64) -> Result<Self> {
        let Plan {
            chosen,
            link,
            options,
            observers,
        } = plan;
        let instance = match (chosen, link) {
            (Some(chosen), Link::Static) => composed::link(chosen, observers)?,
            (Some(chosen), Link::Dynamic) => {
                let (backend, settings) = Backend::new(chosen)?;
                dynamic::link(Some(backend), Some(settings), observers)?
            }
            (None, Link::Static | Link::Dynamic) => dynamic::link(None, None, observers)?,
        };
        let mut linked = Self {
            store: instance.store,
            exports: instance.exports,
            sessions: BTreeMap::new(),
            prepared: BTreeMap::new(),
            next_key: 0,
            host: Host {
                holder: holder::this_process(since_ms),
                options,
            },
            bound: Bound {
                root: instance.root,
                ..Bound::default()
            },
            watch: Watch::default(),
        };
        linked.configure(instance.settings)?;
        Ok(linked)
    }

    /// Hands the settings to the backend; none means that there is none.
    fn configure(&mut self, settings: Option<Settings>) -> Result<()> {
        let (holder, options) = (self.host.holder.clone(), self.host.options.clone());
        let info = self.ask(|store, data| {
            store.call_configure(data, &holder, &options, settings.as_deref())
        })?;
        self.bound.settings = settings;
        self.bound.info = info;
        Ok(())
    }

    /// What people should know of where the sessions are.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let root = self.bound.root.as_deref();
        root.and_then(medium::too_open).into_iter().collect()
    }

    /// What the backend promises, if there is one.
    pub(crate) fn info(&self) -> Option<&BackendInfo> {
        self.bound.info.as_ref()
    }

    /// Calls the store. A trap becomes `unavailable`, now and for every later call.
    pub(crate) fn ask<R>(
        &mut self,
        call: impl FnOnce(
            &Guest,
            &mut Store<Data>,
        ) -> wasmtime::Result<std::result::Result<R, types::Error>>,
    ) -> Result<R> {
        if let Attached::Forwarded(Some(backend)) = &mut self.store.data_mut().backend {
            backend.begin();
        }
        let guest = self.exports.annals_session_store();
        let answer = call(guest, &mut self.store).map_err(|error| trapped(&error))?;
        answer.map_err(|error| {
            let error = explained(error, self.bound.root.as_deref());
            match &self.store.data().backend {
                Attached::Forwarded(Some(backend)) => backend.named_in(error),
                Attached::Forwarded(None) | Attached::Composed => error,
            }
        })
    }
}

/// An answer of the store, with what only the host can see of a medium.
fn explained(error: types::Error, root: Option<&Path>) -> Error {
    match root {
        Some(root) => medium::explained(error.into(), root),
        None => error.into(),
    }
}

fn trapped(error: &wasmtime::Error) -> Error {
    if let Some(room) = Room::of_wasmtime(error) {
        return room.ran_out("the session store cannot run");
    }
    let cure = "build a new handle and open its sessions again";
    Error::trapped("the session store", "store-trapped", error, cure)
}

/// What a component gets of its grants, its directories found, and its settings.
fn granted(
    source: &Source,
    component: &Component,
    grants: Grants,
    settings: Settings,
) -> Result<(Grants, Settings)> {
    let (grants, settings) = rooted(source, component, grants, settings)?;
    Ok((grants.settled(source.is_own())?, settings))
}

/// A component that uses no files, or is to get none, gets no root; any other finds it in the setting `root`, which then is
/// nobody else's to give: another value would name a directory inside the granted one, or none. One that imports more than
/// it is granted is refused, unless it came with this crate.
fn rooted(
    source: &Source,
    component: &Component,
    grants: Grants,
    mut settings: Settings,
) -> Result<(Grants, Settings)> {
    let imports = source.imports_to_grant(component);
    // A store composed with it imports its observer.
    let of_backend = imports.iter().filter(|name| *name != OBSERVER);
    needs::check(&source.name, of_backend.map(String::as_str), &grants)?;
    if grants.inert.contains(&Need::Files) && !source.keeps_files() {
        return Ok((grants.without_files(), settings));
    }
    if !source.uses_files(component) {
        let grants = match component::uses_files(&imports) {
            true => grants.without_root(),
            false => grants.without_files(),
        };
        return Ok((grants, settings));
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
