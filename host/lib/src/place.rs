//! Where sessions are kept: a backend, what it is granted, and its settings.

use std::path::PathBuf;
use std::time::Duration;

use crate::builder::Link;
use crate::component::Source;
use crate::error::Result;
use crate::grants::Grants;
use crate::link::{Chosen, Limits};
use crate::room;

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
    /// None: sessions live in the store alone, and what needs a backend answers `not-configured`, opening a session
    /// above all. [`Annals::rebind`](crate::Annals::rebind) gives it one later.
    None,
}

/// A backend, what it may use, and its settings. [`Builder`](crate::Builder) has the same choices for the first one;
/// [`Annals::rebind`](crate::Annals::rebind) takes one to replace it.
#[derive(Clone, Debug)]
pub struct Place {
    backend: Backend,
    root: Option<PathBuf>,
    create_root: bool,
    settings: Vec<(String, String)>,
    limits: Limits,
}

impl Place {
    /// That backend, without a root and without settings.
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        Self {
            backend,
            root: None,
            create_root: true,
            settings: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// JSONL files under `root`.
    #[must_use]
    pub fn jsonl(root: impl Into<PathBuf>) -> Self {
        Self::new(Backend::Jsonl).root(root)
    }

    /// Another backend for what was chosen so far.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// The one directory that the backend may read and write. A backend that uses no files gets none; one that does
    /// finds it in its setting `root`, which cannot be given besides.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Whether a root that does not exist is made, for its owner only; yes when not given. Only the first start of a
    /// backend makes it: one that is started again after it stopped finds what was there, or refuses.
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

    /// How much memory a dynamically linked backend may have; 1 GiB when not given.
    #[must_use]
    pub fn memory_bytes_max(mut self, bytes: usize) -> Self {
        self.limits.memory_bytes_max = bytes;
        self
    }

    /// How long a dynamically linked backend may compute on one call; a minute when not given.
    #[must_use]
    pub fn call_ms_max(mut self, milliseconds: u64) -> Self {
        self.limits.call_max = Duration::from_millis(milliseconds);
        self
    }

    /// What the backend is linked as when nothing else was asked for.
    pub(crate) fn usual_link(&self) -> Link {
        match self.backend {
            Backend::Jsonl | Backend::Memory => Link::Static,
            Backend::File(_) | Backend::Bytes(_) | Backend::None => Link::Dynamic,
        }
    }

    /// The component, read, and what goes with it; none without a backend.
    pub(crate) fn choose(self) -> Result<Option<Chosen>> {
        room::check()?;
        let source = match self.backend {
            Backend::Jsonl => Source::bundled("jsonl")?,
            Backend::Memory => Source::bundled("memory")?,
            Backend::File(path) => Source::read(&path)?,
            Backend::Bytes(bytes) => Source::given("the given backend", bytes)?,
            Backend::None => return Ok(None),
        };
        Ok(Some(Chosen {
            source,
            grants: Grants::new(self.root, self.create_root),
            settings: self.settings,
            limits: self.limits,
        }))
    }
}
