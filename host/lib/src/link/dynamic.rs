//! Dynamic link: the backend in its own wasmtime store, with its own memory limit and deadline.
//!
//! The store component's calls are forwarded. Whatever happens to the backend, the forwarding function answers with
//! an error of the interface, since anything else would stop the store component too.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime::{Engine, Store, StoreLimits, StoreLimitsBuilder, Trap};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::{Data, Instance, granted, linker, trapped};
use crate::bindings::backend::exports::annals::session::persistence::Guest;
use crate::bindings::backend::{SessionPersistence, SessionPersistencePre};
use crate::bindings::store::SessionStore;
use crate::bindings::store::annals::session::persistence::{self, Host};
use crate::bindings::store::annals::session::types::{self, Eviction};
use crate::bundle;
use crate::component::{self, Source};
use crate::engine::{self, Trust};
use crate::error::{Error, Result};
use crate::grants::Grants;
use crate::observer::Observer;
use crate::records::{BackendInfo, Batch, ErrorCode, Listing, Page, SessionHeader, SessionSummary};

/// How exactly the deadline of a call is kept.
const TICK: Duration = Duration::from_millis(50);

/// What a backend may use.
#[derive(Clone, Copy)]
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

/// The store component with a backend that its calls are forwarded to.
pub(super) fn link(
    source: Source,
    grants: Grants,
    settings: Vec<(String, String)>,
    observer: Box<dyn Observer>,
    limits: Limits,
) -> Result<Instance> {
    let (backend, settings) = Backend::new(source, grants, settings, limits)?;

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
        observer,
        backend: Some(backend),
    };
    let mut store = Store::new(&engine, data);
    store.set_hostcall_fuel(engine::CALL_BYTES_MAX);
    let exports = SessionStore::instantiate(&mut store, &component, &linker)
        .map_err(|error| trapped(&error))?;
    Ok(Instance {
        store,
        exports,
        settings,
    })
}

/// What the wasmtime store of a backend holds.
struct Sandbox {
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
pub(super) struct Backend {
    name: String,
    engine: Engine,
    component: SessionPersistencePre<Sandbox>,
    grants: Grants,
    limits: Limits,
    /// What `configure` was called with, for the next start.
    configured: Option<Vec<(String, String)>>,
    running: Option<Running>,
    /// Kept for its end.
    _ticker: Ticker,
}

struct Running {
    store: Store<Sandbox>,
    exports: SessionPersistence,
}

type Answer<R> = std::result::Result<R, types::Error>;

impl Backend {
    fn new(
        source: Source,
        grants: Grants,
        settings: Vec<(String, String)>,
        limits: Limits,
    ) -> Result<(Self, Vec<(String, String)>)> {
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
        Ok((backend, settings))
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
        let exports = self
            .component
            .instantiate(&mut store)
            .map_err(|error| self.stopped(&error))?;
        Ok(Running { store, exports })
    }

    /// Ticks until the deadline, which is never less than one whole tick away.
    fn ticks(&self) -> u64 {
        let ticks = self.limits.call_max.as_millis() / TICK.as_millis();
        u64::try_from(ticks).unwrap_or(u64::MAX).saturating_add(2)
    }

    /// Calls the backend, which is started and configured first when it is not running.
    fn call<R>(
        &mut self,
        call: impl FnOnce(&Guest, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
    ) -> Answer<R> {
        if self.running.is_none() {
            self.running = Some(self.start()?);
            if let Some(settings) = self.configured.clone() {
                let again =
                    self.call_running(|guest, store| guest.call_configure(store, &settings));
                if let Err(error) = again {
                    self.running = None;
                    return Err(error);
                }
            }
        }
        self.call_running(call)
    }

    fn call_running<R>(
        &mut self,
        call: impl FnOnce(&Guest, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
    ) -> Answer<R> {
        let ticks = self.ticks();
        let Some(Running { store, exports }) = &mut self.running else {
            return Err(not_linked().into());
        };
        store.set_epoch_deadline(ticks);
        match call(exports.annals_session_persistence(), store) {
            Ok(answer) => answer,
            Err(error) => {
                // After a trap the instance cannot be entered again.
                self.running = None;
                Err(self.stopped(&error).into())
            }
        }
    }

    fn stopped(&self, error: &wasmtime::Error) -> Error {
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

fn not_linked() -> Error {
    let message = "there is no backend; build with one";
    Error::new(ErrorCode::NotConfigured, "not-configured", message, &[])
}

/// Forwards to the backend, where there is one.
fn forward<R>(
    backend: &mut Option<Backend>,
    call: impl FnOnce(&Guest, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
) -> Answer<R> {
    match backend {
        Some(backend) => backend.call(call),
        None => Err(not_linked().into()),
    }
}

impl Host for Option<Backend> {
    fn configure(&mut self, settings: Vec<(String, String)>) -> Answer<BackendInfo> {
        let info = forward(self, |guest, store| guest.call_configure(store, &settings))?;
        if let Some(backend) = self {
            backend.configured = Some(settings);
        }
        Ok(info)
    }

    fn acquire(
        &mut self,
        id: Option<String>,
        holder: String,
        evict: Option<Eviction>,
    ) -> Answer<String> {
        forward(self, |guest, store| {
            guest.call_acquire(store, id.as_ref(), &holder, evict.as_ref())
        })
    }

    fn renew(&mut self, id: Option<String>, token: String) -> Answer<()> {
        forward(self, |guest, store| {
            guest.call_renew(store, id.as_ref(), &token)
        })
    }

    fn release(&mut self, id: Option<String>, token: String) -> Answer<()> {
        forward(self, |guest, store| {
            guest.call_release(store, id.as_ref(), &token)
        })
    }

    fn create(&mut self, header: SessionHeader, token: String, first: Batch) -> Answer<()> {
        forward(self, |guest, store| {
            guest.call_create(store, &header, &token, &first)
        })
    }

    fn append(&mut self, id: String, token: String, events: Batch) -> Answer<()> {
        forward(self, |guest, store| {
            guest.call_append(store, &id, &token, &events)
        })
    }

    fn load(&mut self, id: String, cursor: u64, bytes_max: u32) -> Answer<Page> {
        forward(self, |guest, store| {
            guest.call_load(store, &id, cursor, bytes_max)
        })
    }

    fn truncate(&mut self, id: String, token: String, keep_events: u64) -> Answer<()> {
        forward(self, |guest, store| {
            guest.call_truncate(store, &id, &token, keep_events)
        })
    }

    fn list(&mut self, cursor: Option<String>, count_max: u32) -> Answer<Listing> {
        forward(self, |guest, store| {
            guest.call_list(store, cursor.as_deref(), count_max)
        })
    }

    fn has(&mut self, id: String) -> Answer<bool> {
        forward(self, |guest, store| guest.call_has(store, &id))
    }

    fn load_cut(&mut self, id: String, cursor: u64, bytes_max: u32) -> Answer<Page> {
        forward(self, |guest, store| {
            guest.call_load_cut(store, &id, cursor, bytes_max)
        })
    }

    fn delete(&mut self, id: String, token: String) -> Answer<()> {
        forward(self, |guest, store| guest.call_delete(store, &id, &token))
    }

    fn update(&mut self, id: String, summary: SessionSummary) -> Answer<()> {
        forward(self, |guest, store| guest.call_update(store, &id, &summary))
    }
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
            .map_err(|error| {
                let message = format!("the thread for deadlines cannot be started: {error}");
                Error::new(ErrorCode::Other, "thread-not-started", message, &[])
            })?;
        Ok(Self { _stop: stop })
    }
}
