//! What to link and what to grant.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::annals::Annals;
use crate::cache::Cache;
use crate::error::Result;
use crate::link::Plan;
use crate::middleware::Middleware;
use crate::observer::{Observer, Observers};
use crate::place::{Backend, Place};
use crate::records::StoreOptions;
use crate::waiting::Patience;

/// How long a call waits for a lease when nothing else was said.
const LEASE_WAIT: Duration = Duration::from_secs(2);

/// How store and backend meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Composed into one component: the fastest calls, one memory limit, no deadline. Only for what came with this crate:
    /// anything else is refused (`invalid`, reason `component-foreign`).
    Static,
    /// The backend in its own wasmtime store, with limits and a deadline of its own (see [`Place`]). Whatever stops it, the
    /// store lives on, the call answers `unavailable`, and the next call starts the backend again.
    Dynamic,
}

/// Settings of an [`Annals`]; without any it is the JSONL backend without a root, which refuses to start.
pub struct Builder {
    place: Place,
    link: Option<Link>,
    options: StoreOptions,
    observers: Observers,
    clock: fn() -> u64,
    lease_wait: Duration,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            place: Place::new(Backend::Jsonl),
            link: None,
            options: StoreOptions {
                out_of_band_types: Vec::new(),
                strict: false,
            },
            observers: Observers::default(),
            clock: system_clock,
            lease_wait: LEASE_WAIT,
        }
    }
}

impl Builder {
    /// Everything about the backend at once, in place of what was chosen so far.
    #[must_use]
    pub fn place(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// The backend; the bundled JSONL files when not given.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.place = self.place.backend(backend);
        self
    }

    /// How store and backend are linked; static for the bundled backends and dynamic for others when not given. Only a
    /// dynamically linked one can be replaced while sessions are live.
    #[must_use]
    pub fn link(mut self, link: Link) -> Self {
        self.link = Some(link);
        self
    }

    /// [`Place::through`].
    #[must_use]
    pub fn through(mut self, middleware: Middleware) -> Self {
        self.place = self.place.through(middleware);
        self
    }

    /// [`Place::environment`].
    #[must_use]
    pub fn environment(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.place = self.place.environment(name, value);
        self
    }

    /// [`Place::root`].
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.place = self.place.root(root);
        self
    }

    /// [`Place::create_root`].
    #[must_use]
    pub fn create_root(mut self, create_root: bool) -> Self {
        self.place = self.place.create_root(create_root);
        self
    }

    /// [`Place::setting`].
    #[must_use]
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.place = self.place.setting(key, value);
        self
    }

    /// A type of events that [`Session::append_out_of_band`](crate::Session::append_out_of_band) accepts; none when not
    /// given.
    #[must_use]
    pub fn out_of_band_type(mut self, event_type: impl Into<String>) -> Self {
        self.options.out_of_band_types.push(event_type.into());
        self
    }

    /// Whether every log that is written has to pass [`Log::check_trace`](crate::Log::check_trace); no when not given.
    ///
    /// An event that does not fit is refused with its reason, `trace-*`, and so is a seed. A stored log that does not
    /// pass cannot be opened for writing, only with [`OpenMode::Inspect`](crate::OpenMode::Inspect).
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.options.strict = strict;
        self
    }

    /// Who is told what happens to live sessions. May be called again: each of them is told, in the order given.
    #[must_use]
    pub fn observer(mut self, observer: Box<dyn Observer>) -> Self {
        self.observers.add(observer);
        self
    }

    /// Milliseconds since 1970-01-01T00:00Z for events and headers; the system's clock when not given.
    #[must_use]
    pub fn clock(mut self, clock: fn() -> u64) -> Self {
        self.clock = clock;
        self
    }

    /// [`Place::memory_bytes_max`].
    #[must_use]
    pub fn backend_memory_bytes_max(mut self, bytes: usize) -> Self {
        self.place = self.place.memory_bytes_max(bytes);
        self
    }

    /// [`Place::call_ms_max`].
    #[must_use]
    pub fn backend_call_ms_max(mut self, milliseconds: u64) -> Self {
        self.place = self.place.call_ms_max(milliseconds);
        self
    }

    /// [`Place::cache`].
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.place = self.place.cache(cache);
        self
    }

    /// How long a call waits for a session that somebody else writes before it answers `busy`; two seconds when not
    /// given, and 0 waits for nobody. A call that waits for longer than the backend's time to live of a lease takes over
    /// from a holder that shows no sign of life.
    #[must_use]
    pub fn lease_wait_ms(mut self, milliseconds: u64) -> Self {
        self.lease_wait = Duration::from_millis(milliseconds);
        self
    }

    /// Links the components and configures the backend.
    ///
    /// # Errors
    /// `not-found` with reason `root-not-found`, `invalid` with reason `component-unreadable`, `component-invalid`,
    /// `component-lacks-world`, `component-foreign`, `component-import-missing`, `grant-missing`, `grant-invalid`, `setting-root` or
    /// `out-of-band-type`, `limit`: the component is too large, `unavailable` with reason `bundle-missing`, or with
    /// `open-files-exhausted`, `threads-exhausted` or `memory-exhausted` where this process may take no more of these,
    /// and what the backend answers to its settings.
    pub fn build(self) -> Result<Annals> {
        let plan = Plan {
            link: self.link.unwrap_or(self.place.usual_link()),
            chosen: self.place.choose()?,
            options: self.options,
            observers: self.observers,
        };
        Annals::start(plan, self.clock, Patience::new(self.lease_wait))
    }
}

fn system_clock() -> u64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}
