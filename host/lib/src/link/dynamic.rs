//! Dynamic link: the backend in its own wasmtime store, with its own memory limit and deadline.
//!
//! The store component's calls are forwarded. Whatever happens to the backend, the forwarding function answers with
//! an error of the interface, since anything else would stop the store component too.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{HasSelf, InstancePre, Linker, ResourceTable};
use wasmtime::{Engine, Store};

use super::leases::Leases;
use super::sandbox::{Blocking, Deadline, Runner, Running, Sandbox, Stop, Timed};
use super::ticker::{TICK, Ticker};
use super::{
    Attached, Chosen, Data, Instance, Settings, border, directories, explained, granted, linker,
    trapped,
};
use crate::bindings::backend::SessionPersistencePre;
use crate::bindings::store::SessionStore;
use crate::bindings::store::annals::session::{persistence, types};
use crate::bundle;
use crate::component;
use crate::engine::{self, Trust};
use crate::error::{Error, Result};
use crate::grants::{Grants, Waiting};
use crate::limits::{Limits, Reached};
use crate::observer::Observers;
use crate::records::ErrorCode;

/// How long somebody else's backend may take to renew one lease.
const RENEWAL_MAX: Duration = Duration::from_secs(2);

/// How long one that stopped in the middle of a renewal is left alone with others: the rest of a round, and the next one if
/// it follows at once.
const RENEWAL_PAUSE: Duration = Duration::from_secs(1);

/// What becomes of a backend that stopped.
pub(super) const STARTED_AGAIN: &str = "it is started again by the next call";

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
    let component = component::compile(
        &engine,
        Some(&bundled.alone),
        bytes,
        "the session store",
        None,
    )?;
    let mut linker = linker(&engine).map_err(|error| trapped(&error))?;
    persistence::add_to_linker::<_, HasSelf<_>>(&mut linker, |data: &mut Data| &mut data.backend)
        .map_err(|error| trapped(&error))?;
    let data = Data {
        wasi: Grants::nothing().wasi(Waiting::Blocks)?,
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

/// A backend that is started when it is called, and again when it is called after it stopped.
pub(crate) struct Backend {
    name: String,
    engine: Engine,
    component: InstancePre<Sandbox>,
    /// None for one that came with this crate, which may block.
    runner: Option<Arc<Runner>>,
    grants: Grants,
    limits: Limits,
    /// For one call.
    call_max: Duration,
    pub(super) leases: Leases,
    /// What `configure` was called with, for the next start.
    configured: Option<Settings>,
    running: Option<Running>,
    /// Whoever tests it sees its errors as they are.
    pub(super) is_examined: bool,
    /// When it stopped in the middle of a renewal, if none went well since.
    gave_up: Option<Instant>,
    /// When the store began what it calls the backend for.
    since: Instant,
    /// Kept for its end.
    _ticker: Arc<Ticker>,
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
            cache,
        } = chosen;
        let engine = engine::new(Trust::Bounded).map_err(|error| trapped(&error))?;
        let component = source.compile(&engine, cache.as_ref())?;
        let (grants, settings) = granted(&source, &component, grants, settings)?;
        let is_trusted = source.is_own();
        let runner = match is_trusted {
            true => None,
            false => Some(Arc::new(Runner::new()?)),
        };
        let mut linker = Linker::new(&engine);
        types::add_to_linker::<_, HasSelf<_>>(&mut linker, |sandbox: &mut Sandbox| sandbox)
            .and_then(|()| match &runner {
                None => super::files::add_to_linker(&mut linker),
                Some(_) => wasmtime_wasi::p2::add_to_linker_async(&mut linker)
                    .and_then(|()| directories::limit(&mut linker)),
            })
            .map_err(|error| trapped(&error))?;
        let component = linker
            .instantiate_pre(&component)
            .map_err(|error| component::import_missing(&source.name, &error))?;
        SessionPersistencePre::new(component.clone())
            .map_err(|error| source.lacks_world(&error.root_cause().to_string()))?;
        let ticker = Arc::new(Ticker::start(&engine)?);
        let mut backend = Self {
            name: source.name,
            engine,
            component,
            runner,
            grants,
            call_max: limits.call_max(is_trusted),
            limits,
            leases: Leases::default(),
            configured: None,
            running: None,
            is_examined: false,
            gave_up: None,
            since: Instant::now(),
            _ticker: ticker,
        };
        // A root that is not there, or a component that cannot even start, is an error of the builder.
        backend.running = Some(backend.start()?);
        Ok((backend, settings))
    }

    /// [`Backend::new`], and configured: what the backend says against its settings is an error here.
    pub(crate) fn tried(chosen: Chosen) -> Result<(Self, Settings)> {
        let (mut backend, settings) = Self::new(chosen)?;
        let configured = persistence!(backend, call_configure(&settings));
        configured.map_err(|error| explained(error, backend.root().as_deref()))?;
        backend.remember(settings.clone());
        Ok((backend, settings))
    }

    /// Another instance of the same component, started and not configured; it gets that root in the place of the one
    /// before, where it was granted one.
    pub(super) fn another(&mut self, root: &Path) -> Result<Self> {
        let mut another = Self {
            name: self.name.clone(),
            engine: self.engine.clone(),
            component: self.component.clone(),
            runner: self.runner.clone(),
            grants: self.grants.over(root)?,
            limits: self.limits,
            call_max: self.call_max,
            leases: Leases::default(),
            configured: None,
            running: None,
            is_examined: self.is_examined,
            gave_up: None,
            since: Instant::now(),
            _ticker: Arc::clone(&self._ticker),
        };
        another.running = Some(another.start()?);
        Ok(another)
    }

    /// What messages call it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it did not stop since it was started.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Ends the instance; the next call would start another one.
    pub(super) fn stop(&mut self) {
        self.running = None;
    }

    /// The directory that it was granted.
    pub(super) fn root(&self) -> Option<PathBuf> {
        self.grants.root().map(Path::to_path_buf)
    }

    /// What it is to be configured with when it starts again.
    pub(super) fn remember(&mut self, settings: Settings) {
        self.configured = Some(settings);
    }

    /// An error of what somebody else's backend keeps, with the name of its component, unless it is named already.
    pub(super) fn named_in(&self, error: Error) -> Error {
        match self.runner {
            None => error,
            Some(_) => border::named(error, &self.name),
        }
    }

    /// Whether its errors are passed on as they are.
    fn is_believed(&self) -> bool {
        self.is_examined || self.runner.is_none()
    }

    /// The store begins something new, for which it may call often.
    pub(super) fn begin(&mut self) {
        self.since = Instant::now();
    }

    /// Renews a lease. Nobody waits for that, so somebody else's backend gets little time for it, and one that stops is
    /// not asked for every other lease too.
    pub(super) fn renew(&mut self, id: Option<&String>, token: &str) -> Answer<()> {
        if self.runner.is_none() {
            return persistence!(self, call_renew(id, token));
        }
        if self.gave_up.is_some_and(|at| at.elapsed() < RENEWAL_PAUSE) {
            return Err(not_running(&self.name).into());
        }
        let call_max = self.call_max;
        self.call_max = call_max.min(RENEWAL_MAX);
        let renewed = persistence!(self, call_renew(id, token));
        self.call_max = call_max;
        self.gave_up = self.running.is_none().then(Instant::now);
        renewed
    }

    /// Whether it stopped in the middle of its last renewal.
    pub(super) fn has_given_up(&self) -> bool {
        self.gave_up.is_some()
    }

    /// Starts a new instance, not configured yet.
    fn start(&self) -> Result<Running> {
        let waiting = match self.runner {
            None => Waiting::Blocks,
            Some(_) => Waiting::Aside,
        };
        let sandbox = Sandbox::new(self.grants.wasi(waiting)?, self.limits);
        let (runner, deadline) = (self.runner.as_ref(), self.deadline()?);
        Running::start(&self.engine, &self.component, sandbox, runner, deadline)
            .map_err(|stop| self.stopped(stop))
    }

    /// For the next call, out of what is left for all of them.
    fn deadline(&self) -> Result<Deadline> {
        let left = self
            .limits
            .operation_max
            .saturating_sub(self.since.elapsed());
        if left.is_zero() {
            return Err(self.took_too_long());
        }
        let time = left.min(self.call_max);
        // Never less than one whole tick away.
        let ticks = u64::try_from(time.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX);
        Ok(Deadline {
            time,
            ticks: ticks.saturating_add(2),
        })
    }

    /// Calls the backend in the way in which it is called; it is started and configured first when it is not running.
    pub(super) fn call<R>(
        &mut self,
        blocking: impl FnOnce(&Blocking, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
        timed: impl AsyncFnOnce(&Timed, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
    ) -> Answer<R> {
        self.run()?;
        self.call_running(blocking, timed)
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
        let again = persistence!(self, call_configure(&settings));
        if again.is_err() {
            self.running = None;
        }
        again.map(drop)
    }

    fn call_running<R>(
        &mut self,
        blocking: impl FnOnce(&Blocking, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
        timed: impl AsyncFnOnce(&Timed, &mut Store<Sandbox>) -> wasmtime::Result<Answer<R>>,
    ) -> Answer<R> {
        let deadline = self.deadline()?;
        let Some(running) = &mut self.running else {
            return Err(not_running(&self.name).into());
        };
        match running.call(deadline, blocking, timed) {
            Ok(answer) if self.is_believed() => answer,
            Ok(answer) => answer.map_err(|error| border::received(error, &self.name)),
            Err(stop) => {
                // It cannot be entered again, whatever stopped it.
                self.running = None;
                Err(self.stopped(stop).into())
            }
        }
    }

    fn stopped(&self, stop: Stop) -> Error {
        match stop {
            Stop::Late => {
                let ms = self.call_max.as_millis();
                let left = self
                    .limits
                    .operation_max
                    .saturating_sub(self.since.elapsed());
                if left.is_zero() {
                    return self.took_too_long();
                }
                let cause = format!("did not answer within {ms} ms (call-ms-max)");
                self.failed("backend-timeout", &cause)
                    .fact("limit", "call-ms-max")
            }
            Stop::Limit(Reached { limit, max }) => {
                let cause = format!("wanted more than it may have, {limit} is {max}");
                self.failed("backend-limit", &cause)
                    .fact("limit", limit)
                    .fact("max", max)
            }
            Stop::Room(room) => room.ran_out(&format!("{} cannot run", self.name)),
            Stop::Trap(cause) => {
                let cause = format!("failed: {}", cause.replace('\n', " "));
                self.failed("backend-trapped", &cause)
            }
        }
    }

    fn took_too_long(&self) -> Error {
        let ms = self.limits.operation_max.as_millis();
        let cause = format!("took longer than {ms} ms for one operation (operation-ms-max)");
        self.failed("backend-timeout", &cause)
            .fact("limit", "operation-ms-max")
    }

    fn failed(&self, reason: &str, cause: &str) -> Error {
        let name = &self.name;
        let message = format!("{name} {cause}; {STARTED_AGAIN}");
        let facts = [("component", name.as_str()), ("cause", cause)];
        Error::new(ErrorCode::Unavailable, reason, message, &facts)
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
