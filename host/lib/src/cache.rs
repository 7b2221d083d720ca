//! Machine code of components that did not come with this crate, kept between processes.
//!
//! Loading machine code runs whatever it is, so an entry counts only when nobody but this user can have written it: it
//! and its directory are this user's, no one else may write them, neither is a link, and it is what was written, by its
//! digest. Anything else is as good as no entry. Without Unix owners and modes nothing is kept.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::engine;
use crate::error::Result;
use crate::inspect::hexadecimal;

#[cfg_attr(not(unix), path = "cache/absent.rs")]
mod files;

/// How an entry begins; another number whenever its shape changes.
const MAGIC: &[u8; 16] = b"annals-machine-1";
const EXTENSION: &str = "cwasm";
/// Of what comes before the machine code: that, two digests, a length and a third digest.
const HEAD_BYTES: usize = MAGIC.len() + 32 + 32 + 8 + 32;

/// A directory with machine code, made (mode 0700) when something is to be kept; the user's cache directory, say,
/// and below it one of its own. Several processes may use it at a time. One that cannot be used is like none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
}

/// An entry, whether or not it can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cached {
    /// The name of its file in the directory.
    pub name: String,
    /// The SHA-256 of the component that it was made of, in hexadecimal.
    pub component: String,
    /// Its size.
    pub bytes: u64,
    /// When it was made, where that is known.
    pub made: Option<SystemTime>,
}

/// Machine code out of an entry that nobody but this user can have written, and that is what was written.
pub(crate) struct Checked {
    entry: Vec<u8>,
}

impl Checked {
    pub(crate) fn code(&self) -> &[u8] {
        self.entry.get(HEAD_BYTES..).unwrap_or_default()
    }
}

impl Cache {
    /// A cache in that directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What is kept, by name; nothing where there is no directory.
    ///
    /// # Errors
    /// `other`, reason `cache-unreadable`: the directory is there but cannot be read.
    pub fn entries(&self) -> Result<Vec<Cached>> {
        files::entries(&self.directory)
    }

    /// Removes everything that is kept, and what interrupted processes left; answers what was removed. Other files stay.
    ///
    /// # Errors
    /// As [`Cache::entries`], and when something cannot be removed.
    pub fn clear(&self) -> Result<Vec<Cached>> {
        files::clear(&self.directory)
    }

    /// The component, out of the cache or compiled and kept.
    pub(crate) fn component(
        &self,
        engine: &Engine,
        wasm: &[u8],
        compile: impl FnOnce() -> Result<Component>,
    ) -> Result<Component> {
        let key = Key::new(engine, wasm);
        let kept = files::read(&self.directory, &key.name())
            .and_then(|bytes| key.check(bytes))
            .and_then(|checked| engine::load_checked(engine, &checked).ok());
        if let Some(component) = kept {
            return Ok(component);
        }
        let component = compile()?;
        if let Ok(code) = component.serialize() {
            // A cache that cannot be written is no failure: the component is there.
            let _ = files::write(&self.directory, &key.name(), &key.entry(&code));
        }
        Ok(component)
    }
}

/// What an entry is good for: one component in one engine.
struct Key {
    component: [u8; 32],
    engine: [u8; 32],
}

impl Key {
    fn new(engine: &Engine, wasm: &[u8]) -> Self {
        let mut configuration = Feed(Sha256::new());
        std::hash::Hash::hash(&engine.precompile_compatibility_hash(), &mut configuration);
        std::hash::Hash::hash(env!("CARGO_PKG_VERSION"), &mut configuration);
        Self {
            component: Sha256::digest(wasm).into(),
            engine: configuration.0.finalize().into(),
        }
    }

    fn name(&self) -> String {
        let component = hexadecimal(&self.component);
        let engine = hexadecimal(self.engine.get(..8).unwrap_or_default());
        format!("{component}-{engine}.{EXTENSION}")
    }

    /// What comes before the code.
    fn head(&self, code: &[u8]) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&self.component);
        head.extend_from_slice(&self.engine);
        head.extend_from_slice(&(code.len() as u64).to_le_bytes());
        head.extend_from_slice(&Sha256::digest(code));
        head
    }

    fn entry(&self, code: &[u8]) -> Vec<u8> {
        let mut entry = self.head(code);
        entry.extend_from_slice(code);
        entry
    }

    /// An entry as [`Key::entry`] made it, and not one byte else.
    fn check(&self, entry: Vec<u8>) -> Option<Checked> {
        let (head, code) = entry.split_at_checked(HEAD_BYTES)?;
        (head == self.head(code)).then_some(Checked { entry })
    }
}

/// Hashes to the same digest in every build.
struct Feed(Sha256);

impl std::hash::Hasher for Feed {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest counts, not this.
    fn finish(&self) -> u64 {
        0
    }
}
