//! What to link and what to grant.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::annals::Annals;
use crate::component::Source;
use crate::error::Result;
use crate::grants::Grants;
use crate::link::{Limits, Plan};
use crate::observer::{Observer, Silent};

/// Which component keeps the sessions.
#[derive(Clone, Debug)]
pub enum Backend {
    /// The bundled JSONL files.
    Jsonl,
    /// The bundled backend that forgets everything at the end.
    Memory,
    /// A component in a file.
    File(PathBuf),
    /// A component's bytes.
    Bytes(Vec<u8>),
}

/// How store and backend meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Composed into one component: the fastest calls, one memory limit, no deadline.
    Static,
    /// The backend in its own wasmtime store, with its own memory limit and deadline. When it traps, the store lives
    /// on, the call answers `unavailable`, and the next call starts the backend again.
    Dynamic,
}

/// Settings of an [`Annals`]; without any it is the JSONL backend without a root, which refuses to start.
pub struct Builder {
    backend: Backend,
    link: Option<Link>,
    root: Option<PathBuf>,
    create_root: bool,
    settings: Vec<(String, String)>,
    out_of_band_types: Vec<String>,
    observer: Box<dyn Observer>,
    clock: fn() -> u64,
    limits: Limits,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            backend: Backend::Jsonl,
            link: None,
            root: None,
            create_root: true,
            settings: Vec::new(),
            out_of_band_types: Vec::new(),
            observer: Box::new(Silent),
            clock: system_clock,
            limits: Limits::default(),
        }
    }
}

impl Builder {
    /// The backend; the bundled JSONL files when not given.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// How store and backend are linked; static for the bundled backends and dynamic for others when not given.
    #[must_use]
    pub fn link(mut self, link: Link) -> Self {
        self.link = Some(link);
        self
    }

    /// The one directory that the backend may read and write. A backend that uses no files gets none; one that does
    /// finds it in its setting `root`, which cannot be given besides.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Whether a root that does not exist is made, for its owner only; yes when not given.
    #[must_use]
    pub fn create_root(mut self, create_root: bool) -> Self {
        self.create_root = create_root;
        self
    }

    /// A setting for the backend, which refuses one that it does not know.
    #[must_use]
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// A type of events that [`Session::append_out_of_band`](crate::Session::append_out_of_band) accepts; none when not
    /// given.
    #[must_use]
    pub fn out_of_band_type(mut self, event_type: impl Into<String>) -> Self {
        self.out_of_band_types.push(event_type.into());
        self
    }

    /// Who is told what happens to live sessions.
    #[must_use]
    pub fn observer(mut self, observer: Box<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Milliseconds since 1970-01-01T00:00Z for events and headers; the system's clock when not given.
    #[must_use]
    pub fn clock(mut self, clock: fn() -> u64) -> Self {
        self.clock = clock;
        self
    }

    /// How much memory a dynamically linked backend may have; 1 GiB when not given.
    #[must_use]
    pub fn backend_memory_bytes_max(mut self, bytes: usize) -> Self {
        self.limits.memory_bytes_max = bytes;
        self
    }

    /// How long a dynamically linked backend may compute on one call; a minute when not given.
    #[must_use]
    pub fn backend_call_ms_max(mut self, milliseconds: u64) -> Self {
        self.limits.call_max = Duration::from_millis(milliseconds);
        self
    }

    /// Links the components and configures the backend.
    ///
    /// # Errors
    /// `not-found` with reason `root-not-found`, `invalid` with reason `component-unreadable`, `component-invalid`,
    /// `component-lacks-world`, `component-import-missing` or `setting-root`, `limit`: the component is too large,
    /// `unavailable` with reason `bundle-missing`, and what the
    /// backend answers to its settings.
    pub fn build(self) -> Result<Annals> {
        let (source, link) = match self.backend {
            Backend::Jsonl => (Source::bundled("jsonl")?, Link::Static),
            Backend::Memory => (Source::bundled("memory")?, Link::Static),
            Backend::File(path) => (Source::read(&path)?, Link::Dynamic),
            Backend::Bytes(bytes) => (Source::given("the given backend", bytes)?, Link::Dynamic),
        };
        let plan = Plan {
            source,
            link: self.link.unwrap_or(link),
            grants: Grants::new(self.root, self.create_root),
            settings: self.settings,
            out_of_band_types: self.out_of_band_types,
            observer: self.observer,
            limits: self.limits,
        };
        Annals::start(plan, self.clock)
    }
}

fn system_clock() -> u64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}
