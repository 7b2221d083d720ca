//! One instance of a backend in a wasmtime store of its own, and the two ways to call it.
//!
//! A bundled backend blocks this thread. Any other runs on a runtime of its own, which gives up after a time whatever the
//! backend waits for: epochs end a loop, but not a call of the host that does not return.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use wasmtime::component::{InstancePre, ResourceTable};
use wasmtime::{Engine, Store, Trap};
use wasmtime_wasi::{ResourceTableError, WasiCtx, WasiCtxView, WasiView};

use crate::bindings::store::annals::session::types;
use crate::bindings::{backend, timed, upkeep};
use crate::error::{Error, Result};
use crate::limits::{Limits, Meter, Reached};
use crate::records::ErrorCode;
use crate::room::Room;

/// Threads that wait for files of one backend. When all of them wait for what never comes, such as a pipe that nobody
/// writes, so does every later call of that backend, until its deadline.
const WAITING_THREADS_MAX: usize = 64;

/// What wasmtime says when more was answered than an answer may carry; it has no type for that.
const FUEL_EXHAUSTED: &str = "fuel allocated for hostcalls has been exhausted";

/// What the wasmtime store of a backend holds.
pub(super) struct Sandbox {
    wasi: WasiCtx,
    table: ResourceTable,
    meter: Meter,
    limits: Limits,
    /// Where in the table those are that were opened, of which some may be closed.
    pub(super) directory_streams: Vec<u32>,
}

impl Sandbox {
    pub(super) fn new(wasi: WasiCtx, limits: Limits) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles_max);
        Self {
            wasi,
            table,
            meter: Meter::new(&limits),
            limits,
            directory_streams: Vec::new(),
        }
    }
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

/// A runtime that ends without waiting for what its threads wait for.
pub(super) struct Runner(Option<Runtime>);

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Runner {
    pub(super) fn new() -> Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(WAITING_THREADS_MAX)
            .thread_name("annals-backend")
            .build()
            .map_err(|error| {
                let message =
                    format!("the threads of a backend cannot be started: {error}; try again");
                Error::new(ErrorCode::Other, "thread-not-started", message, &[])
            })?;
        Ok(Self(Some(runtime)))
    }

    /// Runs it to its end, or gives it up.
    fn run<R>(
        &self,
        time: Duration,
        work: impl Future<Output = wasmtime::Result<R>>,
    ) -> wasmtime::Result<R> {
        let Some(runtime) = &self.0 else {
            return Err(wasmtime::Error::msg("the runtime has ended"));
        };
        // A timer needs a runtime around it when it is made.
        let timed = runtime.block_on(async { timeout(time, work).await });
        timed.unwrap_or_else(|_| Err(Trap::Interrupt.into()))
    }
}

/// An instance, and how it is called. Its interface `upkeep` is none where it does not have that.
pub(super) struct Running {
    store: Store<Sandbox>,
    exports: Exports,
}

enum Exports {
    Blocking(Blocking),
    Timed(Arc<Runner>, Timed),
}

/// Exports that are called on this thread.
pub(super) struct Blocking {
    pub(super) persistence: backend::SessionPersistence,
    pub(super) upkeep: Option<upkeep::SessionUpkeep>,
}

/// Exports that are called on a runtime.
pub(super) struct Timed {
    pub(super) persistence: timed::backend::SessionPersistence,
    pub(super) upkeep: Option<timed::upkeep::SessionUpkeep>,
}

/// For how long a call may go on.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    pub(super) time: Duration,
    /// The same in ticks of the engine's epoch.
    pub(super) ticks: u64,
}

impl Running {
    /// Instantiates, on the runtime if there is one.
    pub(super) fn start(
        engine: &Engine,
        component: &InstancePre<Sandbox>,
        sandbox: Sandbox,
        runner: Option<&Arc<Runner>>,
        deadline: Deadline,
    ) -> std::result::Result<Self, Stop> {
        let page_bytes_max = sandbox.limits.page_bytes_max;
        let mut store = Store::new(engine, sandbox);
        store.set_hostcall_fuel(page_bytes_max);
        store.limiter(|sandbox| &mut sandbox.meter);
        store.set_epoch_deadline(deadline.ticks);
        match instantiate(&mut store, component, runner, deadline) {
            Ok(exports) => Ok(Self { store, exports }),
            Err(error) => Err(Stop::of(&error, store.data_mut())),
        }
    }

    /// Calls it in the one way in which it is called. After an error it cannot be called again.
    pub(super) fn call<R>(
        &mut self,
        deadline: Deadline,
        blocking: impl FnOnce(&Blocking, &mut Store<Sandbox>) -> wasmtime::Result<R>,
        timed: impl AsyncFnOnce(&Timed, &mut Store<Sandbox>) -> wasmtime::Result<R>,
    ) -> std::result::Result<R, Stop> {
        let Self { store, exports } = self;
        store.set_epoch_deadline(deadline.ticks);
        store.data_mut().meter.take_refused();
        let answer = match exports {
            Exports::Blocking(exports) => blocking(exports, store),
            Exports::Timed(runner, exports) => runner.run(deadline.time, timed(exports, store)),
        };
        answer.map_err(|error| Stop::of(&error, store.data_mut()))
    }
}

fn instantiate(
    store: &mut Store<Sandbox>,
    component: &InstancePre<Sandbox>,
    runner: Option<&Arc<Runner>>,
    deadline: Deadline,
) -> wasmtime::Result<Exports> {
    let Some(runner) = runner else {
        let instance = component.instantiate(&mut *store)?;
        return Ok(Exports::Blocking(Blocking {
            persistence: backend::SessionPersistence::new(&mut *store, &instance)?,
            upkeep: upkeep::SessionUpkeep::new(&mut *store, &instance).ok(),
        }));
    };
    let instance = runner.run(deadline.time, component.instantiate_async(&mut *store))?;
    let timed = Timed {
        persistence: timed::backend::SessionPersistence::new(&mut *store, &instance)?,
        upkeep: timed::upkeep::SessionUpkeep::new(&mut *store, &instance).ok(),
    };
    Ok(Exports::Timed(Arc::clone(runner), timed))
}

/// Why an instance stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// It did not answer in time.
    Late,
    /// It wanted more than it may have.
    Limit(Reached),
    /// This process has no more of what it needs.
    Room(Room),
    /// Anything else that stops a component, in wasmtime's words.
    Trap(String),
}

impl Stop {
    fn of(error: &wasmtime::Error, sandbox: &mut Sandbox) -> Self {
        if matches!(error.downcast_ref::<Trap>(), Some(Trap::Interrupt)) {
            return Self::Late;
        }
        if let Some(reached) = error.downcast_ref::<Reached>() {
            return Self::Limit(*reached);
        }
        let cause = error.root_cause();
        let limits = &sandbox.limits;
        if cause.to_string().contains(FUEL_EXHAUSTED) {
            let (limit, max) = ("page-bytes-max", limits.page_bytes_max);
            return Self::Limit(Reached { limit, max });
        }
        if matches!(
            error.downcast_ref::<ResourceTableError>(),
            Some(ResourceTableError::Full)
        ) {
            let (limit, max) = ("handles-max", limits.handles_max);
            return Self::Limit(Reached { limit, max });
        }
        // What was refused it could have done without; but it stopped.
        match sandbox.meter.take_refused() {
            Some(reached) => Self::Limit(reached),
            None => match Room::of_wasmtime(error) {
                Some(room) => Self::Room(room),
                None => Self::Trap(cause.to_string()),
            },
        }
    }
}
