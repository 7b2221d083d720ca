//! Where sessions are kept: from flags to an open store.

use std::collections::BTreeMap;
use std::env::VarError;
use std::path::{Component, Path, PathBuf};

use annals::{Annals, Builder, Upkeep};

use crate::added;
use crate::args::{Backend, Global, Link, Middleware};
use crate::commands::cache;
use crate::failure::Failure;
use crate::output::note;
use crate::sealing::{self, KEY_ENV, KEY_ENV_SETTING};
use crate::signals;

/// The place that the flags name.
pub struct Place<'a> {
    pub global: &'a Global,
    /// All settings, in the order given.
    pub settings: Vec<(String, String)>,
    /// What goes between store and backend, the outermost first.
    pub through: Vec<Middleware>,
}

impl Place<'_> {
    /// The sessions that are there. A root that does not exist is refused, not made.
    pub fn open(&self) -> Result<Annals, Failure> {
        self.start(self.builder(false)?)
    }

    /// As [`Place::open`]; the store says of what it inspects whether it fits together.
    pub fn open_strict(&self) -> Result<Annals, Failure> {
        self.start(self.builder(false)?.strict(true))
    }

    /// For a command that stores a new session. A root that does not exist is made, but only after `rehearse` did in
    /// memory what is to be done there: bad input leaves no empty directory behind.
    pub fn open_new(
        &self,
        rehearse: impl FnOnce(&Annals) -> Result<(), Failure>,
    ) -> Result<Annals, Failure> {
        if self.given_root()?.is_some_and(|root| !root.exists()) {
            let memory = Annals::memory().map_err(Failure::configuration)?;
            rehearse(&memory)?;
        }
        self.start(self.builder(true)?)
    }

    fn start(&self, builder: Builder) -> Result<Annals, Failure> {
        let annals = builder.build().map_err(|error| self.unusable(error))?;
        annals.warnings().iter().for_each(|warning| note(warning));
        signals::close_at_end(&annals);
        Ok(annals)
    }

    fn builder(&self, create_root: bool) -> Result<Builder, Failure> {
        let mut builder = Annals::builder().place(self.granted(create_root)?);
        match (self.global.link, self.backend()) {
            (Some(Link::Static), Backend::Added(_)) => {
                return Err(Failure::usage(
                    "a backend that was added is held to its limits: leave out --link static",
                ));
            }
            // Also where all of it is bundled: only so there are limits.
            (None, Backend::Added(_)) => builder = builder.link(annals::Link::Dynamic),
            (Some(link), _) => builder = builder.link(link.into()),
            (None, Backend::Jsonl | Backend::Memory | Backend::File(_)) => {}
        }
        Ok(builder.lease_wait_ms(self.global.wait))
    }

    /// The backend with its root.
    fn granted(&self, create_root: bool) -> Result<annals::Place, Failure> {
        let place = self.chosen(self.backend())?;
        Ok(match self.given_root()? {
            Some(root) => place.root(root).create_root(create_root),
            None => place,
        })
    }

    /// A backend, what goes before it, what both are granted but for a root, and their settings.
    pub fn chosen(&self, backend: &Backend) -> Result<annals::Place, Failure> {
        let mut place = annals::Place::new(annals::Backend::None);
        for layer in &self.through {
            place = place.through(layer.into());
        }
        place = match backend {
            Backend::Jsonl => place.backend(annals::Backend::Jsonl),
            Backend::Memory => place.backend(annals::Backend::Memory),
            Backend::File(path) => place.backend(annals::Backend::File(path.clone())),
            Backend::Added(name) => {
                let layers = self.sealing_layers();
                let given = sealing::explicit(self.settings.clone(), layers);
                added::stack::place(place, added::present(name)?, &given, layers > 0)?
            }
        };
        if !matches!(backend, Backend::Added(_)) {
            for (key, value) in &self.settings {
                place = place.setting(key, value);
            }
        }
        for (name, value) in self.keys()? {
            place = place.environment(name, value);
        }
        if let Some(kept) = cache::kept() {
            place = place.cache(kept);
        }
        Ok(added::kept_off(place))
    }

    /// A backend that cannot be used as it was chosen.
    pub fn unusable(&self, error: annals::Error) -> Failure {
        of_backend(self.backend(), error)
    }

    /// What the backend knows of its medium besides sessions.
    pub fn upkeep(&self) -> Result<Upkeep, Failure> {
        let place = self.granted(false)?;
        Upkeep::new(place).map_err(|error| self.unusable(error))
    }

    fn sealing_layers(&self) -> usize {
        let layers = self.through.iter();
        layers
            .filter(|layer| **layer == Middleware::Encrypt)
            .count()
    }

    /// The variables that hold keys, as far as they are set: those that settings name, and the usual one where some layer
    /// of `encrypt` is left without. No other variable is granted to anybody.
    fn keys(&self) -> Result<BTreeMap<&str, String>, Failure> {
        let mut keys = BTreeMap::new();
        if self.through.is_empty() {
            return Ok(keys);
        }
        let settings = self.settings.iter();
        let named = settings.filter(|(name, _)| name == KEY_ENV_SETTING);
        let mut names: Vec<&str> = named.map(|(_, value)| value.as_str()).collect();
        if self.sealing_layers() > names.len() {
            names.push(KEY_ENV);
        }
        // what is no name, the middleware refuses
        let is_name = |name: &&str| !name.is_empty() && !name.contains(['=', '\0']);
        for name in names.into_iter().filter(is_name) {
            match std::env::var(name) {
                Ok(value) => drop(keys.insert(name, value)),
                Err(VarError::NotPresent) => {}
                Err(VarError::NotUnicode(_)) => {
                    return Err(Failure::usage(format!("the value of {name} is no key")));
                }
            }
        }
        Ok(keys)
    }

    /// Where records that do not open are left out, and so nothing can be written: the variable with the key.
    pub fn skipping(&self) -> Option<String> {
        let mut settings = self.settings.clone();
        if let Backend::Added(name) = self.backend()
            && let Ok(present) = added::present(name)
        {
            settings.extend(added::stack::settings(
                &present.manifest,
                &self.settings,
                false,
            ));
        }
        sealing::skipping(&settings)
    }

    /// The root and its mode, where others than its owner may look into it.
    #[cfg(unix)]
    pub fn open_to_others(&self) -> Result<Option<(PathBuf, u32)>, Failure> {
        use std::os::unix::fs::PermissionsExt;

        let Some(root) = self.given_root()? else {
            return Ok(None);
        };
        // One that is not there is refused when it is opened.
        let Ok(found) = root.metadata() else {
            return Ok(None);
        };
        let mode = found.permissions().mode() & 0o777;
        Ok((mode & 0o077 != 0).then(|| (root.to_owned(), mode)))
    }

    /// Keeps the root to its owner.
    #[cfg(unix)]
    pub fn close_to_others(&self) -> Result<(), Failure> {
        use std::os::unix::fs::PermissionsExt;

        let root = self.root()?;
        std::fs::set_permissions(root, PermissionsExt::from_mode(0o700))
            .map_err(|error| Failure::refused(format!("cannot change its mode: {error}")))
    }

    #[cfg(not(unix))]
    pub fn open_to_others(&self) -> Result<Option<(PathBuf, u32)>, Failure> {
        Ok(None)
    }

    #[cfg(not(unix))]
    pub fn close_to_others(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn backend(&self) -> &Backend {
        self.global.backend.as_ref().unwrap_or(&Backend::Jsonl)
    }

    /// None where the backend uses none, or may do without: one that was added and needs a root says so.
    fn given_root(&self) -> Result<Option<&Path>, Failure> {
        match self.backend() {
            Backend::Memory => Ok(None),
            Backend::Added(_) => Ok(self.root().ok()),
            Backend::Jsonl | Backend::File(_) => self.root().map(Some),
        }
    }

    fn root(&self) -> Result<&Path, Failure> {
        // An empty variable counts as none: `ANNALS_ROOT= annals list` must not read the current directory.
        let given = self.global.root.as_deref();
        given.filter(|root| !root.as_os_str().is_empty()).ok_or_else(|| {
            Failure::usage("no root: give --root DIR or set ANNALS_ROOT to the directory that holds the sessions")
        })
    }
}

/// What is wrong with a backend; one that was added is named, and its manifest.
pub fn of_backend(backend: &Backend, error: annals::Error) -> Failure {
    let failure = Failure::configuration(error);
    match backend {
        Backend::Added(name) => added::unusable(name, failure),
        Backend::Jsonl | Backend::Memory | Backend::File(_) => failure,
    }
}

/// A session's working directory as it is stored: absolute, without `.`, `..` and slashes that say nothing, so that one
/// directory has one name. `..` takes away the name before it, as it does for a shell's `cd`: links are not followed.
pub fn working_directory(given: &Path) -> Result<String, Failure> {
    let absolute = std::path::absolute(given)
        .map_err(|error| Failure::usage(format!("cannot resolve --cwd {given:?}: {error}")))?;
    tidy(&absolute)
        .into_os_string()
        .into_string()
        .map_err(|path| Failure::usage(format!("--cwd {path:?} is not UTF-8")))
}

fn tidy(absolute: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::CurDir => {}
            // at the root there is nothing to take away
            Component::ParentDir => drop(tidy.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => tidy.push(part),
        }
    }
    tidy
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_working_directory_has_one_name() {
        let table = [
            ("/", "/"),
            ("//", "/"),
            ("/..", "/"),
            ("/a/", "/a"),
            ("/a//b/.", "/a/b"),
            ("/a/./b/../c/", "/a/c"),
            ("/../../etc", "/etc"),
            ("/a/...", "/a/..."),
        ];
        for (given, stored) in table {
            assert_eq!(
                working_directory(Path::new(given)).unwrap(),
                stored,
                "{given:?}"
            );
        }
        let here = std::env::current_dir().unwrap().display().to_string();
        assert_eq!(working_directory(Path::new("x/..")).unwrap(), here);
        assert!(working_directory(Path::new("")).is_err());
    }
}
