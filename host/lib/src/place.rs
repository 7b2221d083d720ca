//! Where sessions are kept: a backend, what it is granted, and its settings.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::builder::Link;
use crate::cache::Cache;
use crate::component::Source;
use crate::error::Result;
use crate::grants::{Access, Directory, Grants};
use crate::limits::Limits;
use crate::link::Chosen;
use crate::middleware::{self, Middleware};
use crate::needs::Need;
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
///
/// A backend that did not come with this crate is trusted with nothing but what is granted here. It can read the clocks,
/// has randomness, and an environment, arguments and standard streams that are empty. A component whose imports exceed
/// its grants is refused before it runs: `invalid`, reason `grant-missing`, or `component-import-missing` for what no
/// backend is given. Linked dynamically, it is held to limits:
///
/// | limit | unless another is given |
/// |---|---|
/// | [`Place::call_ms_max`] | five seconds for a call, waiting included |
/// | [`Place::operation_ms_max`] | ten minutes for all calls that one call of the store makes |
/// | [`Place::memory_bytes_max`] | 1 GiB for all memories together |
/// | [`Place::table_elements_max`] | 1,048,576 in all tables together |
/// | [`Place::handles_max`] | 256 files, streams and sockets open at a time |
/// | [`Place::page_bytes_max`] | 257 MiB in one answer |
/// | | 8 directories whose names are being read at a time (`directory-streams-max`) |
/// | | 2 seconds to renew a lease; one that does not answer is asked less often |
/// | | 4 KiB of an error's message, 64 KiB of its detail, 64 bytes of its reason |
/// | | 1,024 core instances, 64 memories, 256 tables, 512 KiB of stack |
///
/// Whatever it reaches, that call answers `unavailable` and names the backend: reason `backend-timeout`, `backend-limit`
/// (detail has `limit` and `max`), or `backend-trapped` for everything else that stops a component. The instance is
/// dropped; the next call starts another one and configures it again.
///
/// Not limited are what it writes in the directories that it was granted, how much of a disk and how fast, and the names in a
/// directory that it reads, which this process holds while it does. A file operation that is waiting when a call is given
/// up cannot be called back: it may still take effect later, while the next instance runs already.
#[derive(Clone, Debug)]
pub struct Place {
    backend: Backend,
    /// The outermost first.
    layers: Vec<Middleware>,
    grants: Grants,
    settings: Vec<(String, String)>,
    limits: Limits,
    cache: Option<Cache>,
    /// What messages call the backend.
    name: Option<String>,
}

impl Place {
    /// That backend, without a root and without settings.
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        Self {
            backend,
            layers: Vec::new(),
            grants: Grants {
                create_root: true,
                ..Grants::default()
            },
            settings: Vec::new(),
            limits: Limits::default(),
            cache: None,
            name: None,
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

    /// Middleware between the store and the backend. May be called again: what was given first is outermost, next to the
    /// store. Middleware takes its settings out of those of the place, and hands on the others. All of a place is one
    /// component when it runs, held to one set of limits and grants; but once the bundled [`Middleware::Encrypt`] is in it,
    /// no other part of it finds anything in its environment.
    #[must_use]
    pub fn through(mut self, middleware: Middleware) -> Self {
        self.layers.push(middleware);
        self
    }

    /// What messages call the backend, such as `backend "mine"`; when not given, the file that it came from.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The directory where sessions are kept, which the backend may read and write. A backend that uses no files gets
    /// none; one that does finds it as `/annals`, the value of its setting `root`, which cannot be given besides.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.grants.root = Some(root.into());
        self
    }

    /// Whether a root that does not exist is made, for its owner only; yes when not given. Only the first start of a
    /// backend makes it: one that is started again after it stopped finds what was there, or refuses.
    #[must_use]
    pub fn create_root(mut self, create_root: bool) -> Self {
        self.grants.create_root = create_root;
        self
    }

    /// A setting for the backend, which refuses one that it does not know.
    #[must_use]
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// Another directory that the backend may use, which has to be there. `guest` is what the backend calls it, an
    /// absolute path. Whatever leads out of it, `..` or a link, leads nowhere. None may lie in another one or in the root,
    /// and every later start has to find the same directory (else `unavailable`, reason `grant-changed`).
    #[must_use]
    pub fn directory(
        mut self,
        host: impl Into<PathBuf>,
        guest: impl Into<String>,
        access: Access,
    ) -> Self {
        let directory = Directory {
            host: host.into(),
            guest: guest.into(),
            access,
        };
        if !self.grants.directories.contains(&directory) {
            self.grants.directories.push(directory);
        }
        self
    }

    /// A directory of the host that no component of somebody else may reach, such as one with the configuration of
    /// whoever runs it: a root or another directory that is it, lies in it or around it is refused (`invalid`, reason
    /// `grant-invalid`). That of the [`Cache`] is one without being named.
    #[must_use]
    pub fn keep_off(mut self, directory: impl Into<PathBuf>) -> Self {
        self.grants.kept_off.push(directory.into());
        self
    }

    /// An address that the backend may connect to with TCP. Everything else about the network stays closed: other
    /// addresses and ports, listening, UDP, looking up names.
    #[must_use]
    pub fn tcp(mut self, address: SocketAddr) -> Self {
        self.grants.tcp.push(address);
        self
    }

    /// A name that the backend finds in its environment, with that value. It finds no others.
    #[must_use]
    pub fn environment(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let variable = (name.into(), value.into());
        // said twice, it is one thing
        if !self.grants.environment.contains(&variable) {
            self.grants.environment.push(variable);
        }
        self
    }

    /// Lets the component import that although nothing of it is granted: there are no directories, not even the root of
    /// this place, and every connection is refused. For components whose language imports everything there is: those made
    /// of Python import sockets. Does not keep the root from a bundled backend below middleware.
    #[must_use]
    pub fn inert(mut self, need: Need) -> Self {
        self.grants.inert.push(need);
        self
    }

    /// How much memory a dynamically linked backend may have, all its memories together; 1 GiB when not given.
    #[must_use]
    pub fn memory_bytes_max(mut self, bytes: usize) -> Self {
        self.limits.memory_bytes_max = bytes;
        self
    }

    /// How many elements the tables of a dynamically linked backend may have together; 1,048,576 when not given.
    #[must_use]
    pub fn table_elements_max(mut self, elements: usize) -> Self {
        self.limits.table_elements_max = elements;
        self
    }

    /// How many files, streams and sockets a dynamically linked backend may have open; 256 when not given.
    #[must_use]
    pub fn handles_max(mut self, handles: usize) -> Self {
        self.limits.handles_max = handles;
        self
    }

    /// How much one answer of a dynamically linked backend may carry, a page of a log above all; 257 MiB when not given,
    /// the longest record and what goes with it. A record that is longer than that cannot be read.
    #[must_use]
    pub fn page_bytes_max(mut self, bytes: usize) -> Self {
        self.limits.page_bytes_max = bytes;
        self
    }

    /// How long one call of a dynamically linked backend may take. Five seconds when not given, waiting included; a minute,
    /// without what it waits for, if it came with this crate. Leases are renewed between calls, also between those of one
    /// operation, and not during one: with half of the time that a lease lives (ten seconds, where the backend does not
    /// say) or more, a backend that hangs may cost every live session its lease.
    #[must_use]
    pub fn call_ms_max(mut self, milliseconds: u64) -> Self {
        self.limits.call_max = Some(Duration::from_millis(milliseconds));
        self
    }

    /// How long a dynamically linked backend may take for all the calls together that one call of the store makes, such
    /// as for all pages of a log; ten minutes when not given. Other sessions wait meanwhile.
    #[must_use]
    pub fn operation_ms_max(mut self, milliseconds: u64) -> Self {
        self.limits.operation_max = Duration::from_millis(milliseconds);
        self
    }

    /// Where machine code of components is kept, so that each is compiled once; none when not given. Bundled backends
    /// need none.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// What the backend is linked as when nothing else was asked for.
    pub(crate) fn usual_link(&self) -> Link {
        match self.backend {
            Backend::Jsonl | Backend::Memory if self.layers.iter().all(Middleware::is_own) => {
                Link::Static
            }
            Backend::Jsonl | Backend::Memory => Link::Dynamic,
            Backend::File(_) | Backend::Bytes(_) | Backend::None => Link::Dynamic,
        }
    }

    /// The component, read, and what goes with it; none without a backend.
    pub(crate) fn choose(self) -> Result<Option<Chosen>> {
        room::check()?;
        let mut backend = match self.backend {
            Backend::Jsonl => Source::bundled("jsonl")?,
            Backend::Memory => Source::bundled("memory")?,
            Backend::File(path) => Source::read(&path)?,
            Backend::Bytes(bytes) => Source::given("the given backend", bytes)?,
            Backend::None => return Ok(None),
        };
        if let Some(name) = self.name {
            backend.name = name;
        }
        let source = middleware::over(self.layers, backend)?;
        let mut grants = self.grants;
        grants.check()?;
        let cache = self.cache.as_ref();
        grants
            .kept_off
            .extend(cache.map(|cache| cache.directory().to_path_buf()));
        Ok(Some(Chosen {
            source,
            grants,
            settings: self.settings,
            limits: self.limits,
            cache: self.cache,
        }))
    }
}
