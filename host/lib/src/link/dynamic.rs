//! Dynamic link: the backend in its own wasmtime store, with its own memory limit and deadline.
//!
//! The store component's calls are forwarded. Whatever happens to the backend, the forwarding function answers with
//! an error of the interface, since anything else would stop the store component too.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime::{Engine, Store, StoreLimits, StoreLimitsBuilder, Trap};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::{Attached, Chosen, Data, Instance, Settings, explained, granted, linker, trapped};
use crate::bindings::backend::exports::annals::session::persistence::Guest;
use crate::bindings::backend::{SessionPersistence, SessionPersistencePre};
use crate::bindings::store::SessionStore;
use crate::bindings::store::annals::session::{persistence, types};
use crate::bindings::upkeep::SessionUpkeep;
use crate::bindings::upkeep::exports::annals::session::upkeep::Guest as Upkeep;
use crate::bundle;
use crate::component;
use crate::engine::{self, Trust};
use crate::error::{Error, Result};
use crate::grants::Grants;
use crate::observer::Observers;
use crate::records::ErrorCode;
use crate::room::Room;

/// How exactly the deadline of a call is kept.
const TICK: Duration = Duration::from_millis(50);

/// What a backend may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) memory_bytes_max: usize,
    /// For one call.
    pub(crate) call_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes_max: 1 << 30,
            call_max: Duration::from_secs(60),
        }
    }
}

/// The store component, its calls forwarded to the backend, if there is one.
pub(super) fn link(
    backend: Option<Backend>,
    settings: Option<Settings>,
    observers: Observers,
) -> Result<Instance> {
    let root = backend.as_ref().and_then(Backend::root);
    let (store, exports) = instantiate(backend, observers)?;
    Ok(Instance {
        store,
        exports,
        settings,
        root,
    })
}

/// The store component alone.
pub(super) fn instantiate(
    backend: Option<Backend>,
    observers: Observers,
) -> Result<(Store<Data>, SessionStore)> {
    let engine = engine::new(Trust::Full).map_err(|error| trapped(&error))?;
    let bundled = bundle::store()?;
    let bytes = || Ok(bundled.wasm.into());
    let component = component::compile(&engine, Some(&bundled.alone), bytes, "the session store")?;
    let mut linker = linker(&engine).map_err(|error| trapped(&error))?;
    persistence::add_to_linker::<_, HasSelf<_>>(&mut linker, |data: &mut Data| &mut data.backend)
        .map_err(|error| trapped(&error))?;
    let data = Data {
        wasi: Grants::nothing().wasi()?,
        table: ResourceTable::new(),
        observers,
        backend: Attached::Forwarded(backend.map(Box::new)),
    };
    let mut store = Store::new(&engine, data);
    store.set_hostcall_fuel(engine::CALL_BYTES_MAX);
    let exports = SessionStore::instantiate(&mut store, &component, &linker)
        .map_err(|error| trapped(&error))?;
    Ok((store, exports))
}

/// What the wasmtime store of a backend holds.
pub(super) struct Sandbox {
    wasi: WasiCtx,
    table: ResourceTable,
    limits: StoreLimits,
}

impl WasiView for Sandbox {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl types::Host for Sandbox {}

/// A backend that is started when it is called, and again when it is called after it stopped.
pub(crate) struct Backend {
    name: String,
    engine: Engine,
    component: SessionPersistencePre<Sandbox>,
    grants: Grants,
    limits: Limits,
    /// What `configure` was called with, for the next start.
    configured: Option<Settings>,
    running: Option<Running>,
    /// Kept for its end.
    _ticker: Ticker,
}

struct Running {
    store: Store<Sandbox>,
    exports: SessionPersistence,
    /// None where it does not have that interface.
    upkeep: Option<SessionUpkeep>,
}

pub(super) type Answer<R> = std::result::Result<R, types::Error>;

impl Backend {
    /// Compiles and starts the backend; the settings are what it is to be configured with.
    pub(crate) fn new(chosen: Chosen) -> Result<(Self, Settings)> {
        let Chosen {
            source,
            grants,
            settings,
            limits,
        } = chosen;
        let engine = engine::new(Trust::Bounded).map_err(|error| trapped(&error))?;
        let component = source.compile(&engine)?;
        let (grants, settings) = granted(&component, grants, settings)?;
        let mut linker = Linker::new(&engine);
        types::add_to_linker::<_, HasSelf<_>>(&mut linker, |sandbox: &mut Sandbox| sandbox)
            .and_then(|()| wasmtime_wasi::p2::add_to_linker_sync(&mut linker))
            .map_err(|error| trapped(&error))?;
        let instance = linker
            .instantiate_pre(&component)
            .map_err(|error| component::import_missing(&source.name, &error))?;
        let component = SessionPersistencePre::new(instance)
            .map_err(|error| source.lacks_world(&error.root_cause().to_string()))?;
        let ticker = Ticker::start(&engine)?;
        let mut backend = Self {
            name: source.name,
            engine,
            component,
            grants,
            limits,
            configured: None,
            running: None,
            _ticker: ticker,
        };
        // A root that is not there, or a component that cannot even start, is an error of the builder.
        backend.running = Some(backend.start()?);
        // One that went away later is not to be replaced by an empty one when the backend starts again.
        backend.grants = backend.grants.made();
        Ok((backend, settings))
    }

    /// [`Backend::new`], and configured: what the backend says against its settings is an error here.
    pub(crate) fn tried(chosen: Chosen) -> Result<(Self, Settings)> {
        let (mut backend, settings) = Self::new(chosen)?;
        let configured = backend.call(|guest, store| guest.call_configure(store, &settings));
        configured.map_err(|error| explained(error, backend.root().as_deref()))?;
        backend.remember(settings.clone());
        Ok((backend, settings))
    }

    /// The directory that it was granted.
    pub(super) fn root(&self) -> Option<PathBuf> {
        self.grants.root().map(Path::to_path_buf)
    }

    /// What it is to be configured with when it starts again.
    pub(super) fn remember(&mut self, settings: Settings) {
        self.configured = Some(settings);
    }

    /// Starts a new instance, not configured yet.
    fn start(&self) -> Result<Running> {
        let limits = StoreLimitsBuilder::new()
            .memory_size(self.limits.memory_bytes_max)
            .build();
        let sandbox = Sandbox {
            wasi: self.grants.wasi()?,
            table: ResourceTable::new(),
            limits,
        };
        let mut store = Store::new(&self.engine, sandbox);
        store.set_hostcall_fuel(engine::CALL_BYTES_MAX);
        store.limiter(|sandbox| &mut sandbox.limits);
        store.set_epoch_deadline(self.ticks());
        let instance = self.component.instance_pre().instantiate(&mut store);
        let instance = instance.map_err(|error| self.stopped(&error))?;
        let exports =
            SessionPersistence::new(&mut store, &instance).map_err(|error| self.stopped(&error))?;
        let upkeep = SessionUpkeep::new(&mut store, &instance).ok();
        Ok(Running {
            store,
            exports,
            upkeep,
        })
    }

    /// Ticks until the deadline, which is never less than one whole tick away.
    fn ticks(&self) -> u64 {
        let ticks = self.limits.call_max.as_millis() / TICK.as_millis();
        u64::try_from(ticks).unwrap_or(u64::MAX).saturating_add(2)
    }

    /// Calls the backend, which is started and configured first when it is not running.
    pub(super) fn call<R>(
        &mut self,
        call: impl FnOnce(&Guest, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
    ) -> Answer<R> {
        self.run()?;
        self.call_running(call)
    }

    /// Starts and configures the backend when it is not running.
    fn run(&mut self) -> Answer<()> {
        if self.running.is_some() {
            return Ok(());
        }
        self.running = Some(self.start().map_err(unavailable)?);
        let Some(settings) = self.configured.clone() else {
            return Ok(());
        };
        let again = self.call_running(|guest, store| guest.call_configure(store, &settings));
        if again.is_err() {
            self.running = None;
        }
        again.map(drop)
    }

    fn call_running<R>(
        &mut self,
        call: impl FnOnce(&Guest, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
    ) -> Answer<R> {
        let ticks = self.ticks();
        let Some(Running { store, exports, .. }) = &mut self.running else {
            return Err(not_running(&self.name).into());
        };
        store.set_epoch_deadline(ticks);
        let answer = call(exports.annals_session_persistence(), store);
        self.answered(answer)
    }

    /// [`Backend::call`] of the interface `upkeep`; none where the backend does not have it.
    pub(super) fn call_upkeep<R>(
        &mut self,
        call: impl FnOnce(&Upkeep, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
    ) -> Option<Answer<R>> {
        if let Err(error) = self.run() {
            return Some(Err(error));
        }
        let ticks = self.ticks();
        let Running { store, upkeep, .. } = self.running.as_mut()?;
        store.set_epoch_deadline(ticks);
        let answer = call(upkeep.as_ref()?.annals_session_upkeep(), store);
        Some(self.answered(answer))
    }

    fn answered<R>(&mut self, answer: wasmtime::Result<Answer<R>>) -> Answer<R> {
        answer.unwrap_or_else(|error| {
            // After a trap the instance cannot be entered again.
            self.running = None;
            Err(self.stopped(&error).into())
        })
    }

    fn stopped(&self, error: &wasmtime::Error) -> Error {
        if let Some(room) = Room::of_wasmtime(error) {
            return room.ran_out(&format!("{} cannot run", self.name));
        }
        let timed_out = matches!(error.downcast_ref::<Trap>(), Some(Trap::Interrupt));
        let reason = if timed_out {
            "backend-timeout"
        } else {
            "backend-trapped"
        };
        Error::trapped(
            &self.name,
            reason,
            error,
            "it is started again by the next call",
        )
    }
}

/// A backend that cannot be started again, whatever the reason: the call is one about sessions.
fn unavailable(error: Error) -> Error {
    Error {
        code: ErrorCode::Unavailable,
        ..error
    }
}

fn not_running(name: &str) -> Error {
    let message = format!("{name} is not running; call again");
    Error::new(ErrorCode::Unavailable, "backend-not-running", message, &[])
}

/// Moves an engine's epoch on until it is dropped.
struct Ticker {
    _stop: Sender<()>,
}

impl Ticker {
    fn start(engine: &Engine) -> Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        let engine = engine.clone();
        let tick = move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        };
        thread::Builder::new()
            .name("annals-deadline".to_owned())
            .spawn(tick)
            .map_err(|_| Room::Threads.ran_out("that for deadlines"))?;
        Ok(Self { _stop: stop })
    }
}
