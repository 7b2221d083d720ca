//! Where sessions are kept: from flags to an open store.

use std::path::Path;

use annals::Annals;

use crate::args::{Backend, Global};
use crate::failure::Failure;

/// The place that the flags name.
pub struct Place<'a> {
    pub global: &'a Global,
    /// All settings, in the order given.
    pub settings: Vec<(String, String)>,
}

impl Place<'_> {
    /// The sessions that are there. A root that does not exist is refused, not made.
    pub fn open(&self) -> Result<Annals, Failure> {
        self.link(false)
    }

    /// For a command that stores a new session. A root that does not exist is made, but only after `rehearse` did in
    /// memory what is to be done there: bad input leaves no empty directory behind.
    pub fn open_new(
        &self,
        rehearse: impl FnOnce(&Annals) -> Result<(), Failure>,
    ) -> Result<Annals, Failure> {
        if self.backend() != &Backend::Memory && !self.root()?.exists() {
            let memory = Annals::memory().map_err(Failure::configuration)?;
            rehearse(&memory)?;
        }
        self.link(true)
    }

    fn link(&self, create_root: bool) -> Result<Annals, Failure> {
        let backend = self.backend();
        let mut builder = Annals::builder().backend(match backend {
            Backend::Jsonl => annals::Backend::Jsonl,
            Backend::Memory => annals::Backend::Memory,
            Backend::File(path) => annals::Backend::File(path.clone()),
        });
        if backend != &Backend::Memory {
            builder = builder.root(self.root()?).create_root(create_root);
        }
        if let Some(link) = self.global.link {
            builder = builder.link(link.into());
        }
        for (key, value) in &self.settings {
            builder = builder.setting(key, value);
        }
        builder.build().map_err(Failure::configuration)
    }

    fn backend(&self) -> &Backend {
        self.global.backend.as_ref().unwrap_or(&Backend::Jsonl)
    }

    fn root(&self) -> Result<&Path, Failure> {
        // An empty variable counts as none: `ANNALS_ROOT= annals list` must not read the current directory.
        let given = self.global.root.as_deref();
        given.filter(|root| !root.as_os_str().is_empty()).ok_or_else(|| {
            Failure::usage("no root: give --root DIR or set ANNALS_ROOT to the directory that holds the sessions")
        })
    }
}

/// A session's working directory as it is stored: absolute, and as the operating system names it when it was given
/// relative to the current directory.
pub fn working_directory(given: &Path) -> Result<String, Failure> {
    let path = if given.is_absolute() {
        given.to_path_buf()
    } else {
        let absolute = std::path::absolute(given)
            .map_err(|error| Failure::usage(format!("cannot resolve --cwd {given:?}: {error}")))?;
        absolute.canonicalize().unwrap_or(absolute)
    };
    path.into_os_string()
        .into_string()
        .map_err(|path| Failure::usage(format!("--cwd {path:?} is not UTF-8")))
}
