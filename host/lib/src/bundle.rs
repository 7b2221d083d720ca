//! The components that come with this crate: embedded by its build script, precompiled for the processor of the build.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use crate::compose::compose;
use crate::engine::{self, Precompiled, Trust};
use crate::error::{Error, Result};
use crate::records::ErrorCode;

/// A backend that is part of this binary.
pub(crate) struct Bundled {
    name: &'static str,
    /// The component alone.
    pub(crate) wasm: &'static [u8],
    /// It, precompiled with bounded trust.
    pub(crate) alone: Precompiled,
    /// It composed with the store, precompiled with full trust.
    pub(crate) composed: Precompiled,
}

/// Middleware that is part of this binary. What it becomes depends on what is below it, so it is compiled when it is used.
pub(crate) struct BundledMiddleware {
    name: &'static str,
    wasm: &'static [u8],
}

/// The store that is part of this binary.
pub(crate) struct BundledStore {
    pub(crate) wasm: &'static [u8],
    /// It, precompiled with full trust.
    pub(crate) alone: Precompiled,
}

#[allow(unsafe_code)]
mod embedded {
    //! Generated: `STORE`, `BACKENDS` and `MIDDLEWARE`; nothing when there were no artefacts.

    use super::{Bundled, BundledMiddleware, BundledStore};
    #[allow(unused_imports, reason = "not without artefacts")]
    use crate::engine::Precompiled;

    include!(concat!(env!("OUT_DIR"), "/bundle.rs"));
}

use embedded::{BACKENDS, MIDDLEWARE, STORE};

pub(crate) fn store() -> Result<&'static BundledStore> {
    STORE.as_ref().ok_or_else(missing)
}

pub(crate) fn backends() -> impl Iterator<Item = &'static Bundled> {
    BACKENDS.iter()
}

pub(crate) fn backend(name: &str) -> Result<&'static Bundled> {
    backends()
        .find(|bundled| bundled.name == name)
        .ok_or_else(missing)
}

pub(crate) fn middleware(name: &str) -> Result<&'static [u8]> {
    let mut bundled = MIDDLEWARE.iter();
    let found = bundled.find(|bundled| bundled.name == name);
    found.map(|bundled| bundled.wasm).ok_or_else(missing)
}

/// Whether these are the bytes of middleware that came with this crate.
pub(crate) fn is_middleware(wasm: &[u8]) -> bool {
    MIDDLEWARE.iter().any(|bundled| bundled.wasm == wasm)
}

fn missing() -> Error {
    let message = "built without bundled components: run cargo xtask build";
    Error::new(ErrorCode::Unavailable, "bundle-missing", message, &[])
}

/// Makes the bundle for this crate's build script out of the components in `directory`: composes `store.wasm` with
/// `jsonl.wasm` and `memory.wasm` each into `annals-<backend>.wasm` beside them, and precompiles everything into
/// `directory/bundle`, with `encrypt.wasm` as it is. Writes only what changed. Answers the files written.
///
/// # Errors
/// A component that is missing or does not fit, for people.
pub fn write(directory: &Path) -> std::result::Result<Vec<PathBuf>, String> {
    let bundle = directory.join("bundle");
    fs::create_dir_all(&bundle).map_err(|error| format!("{}: {error}", bundle.display()))?;
    let mut writer = Writer {
        bundle,
        written: Vec::new(),
    };

    let store = read(&directory.join("store.wasm"))?;
    writer.add("store", &store, Trust::Full)?;
    for backend in ["jsonl", "memory"] {
        let alone = read(&directory.join(format!("{backend}.wasm")))?;
        writer.add(backend, &alone, Trust::Bounded)?;
        let name = format!("annals-{backend}");
        let composed = compose(&store, &alone)
            .map_err(|error| format!("store and {backend} do not fit: {error}"))?;
        writer.write(&directory.join(format!("{name}.wasm")), &composed)?;
        writer.add(&name, &composed, Trust::Full)?;
    }
    let encrypt = read(&directory.join("encrypt.wasm"))?;
    writer.write(&writer.bundle.join("encrypt.wasm"), &encrypt)?;
    Ok(writer.written)
}

struct Writer {
    bundle: PathBuf,
    written: Vec<PathBuf>,
}

impl Writer {
    /// A component, its machine code, and the key that says whether the machine code is still good.
    fn add(&mut self, name: &str, wasm: &[u8], trust: Trust) -> std::result::Result<(), String> {
        let engine = engine::new(trust).map_err(|error| format!("{error:#}"))?;
        let native = self.bundle.join(format!("{name}.cwasm"));
        let key_path = self.bundle.join(format!("{name}.key"));
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        wasm.hash(&mut hasher);
        let key = format!("{:016x}\n", hasher.finish());
        if native.exists() && fs::read_to_string(&key_path).is_ok_and(|found| found == key) {
            return Ok(());
        }
        let code = engine
            .precompile_component(wasm)
            .map_err(|error| format!("{name} cannot be compiled: {error:#}"))?;
        // The key goes first and comes last: whenever this stops, what is there without a key is made again.
        match fs::remove_file(&key_path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&key_path, &error));
            }
            Ok(()) | Err(_) => {}
        }
        self.write(&self.bundle.join(format!("{name}.wasm")), wasm)?;
        self.write(&native, &code)?;
        self.write(&key_path, key.as_bytes())
    }

    /// Whole or not at all.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> std::result::Result<(), String> {
        match fs::read(path) {
            Ok(found) if found == bytes => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(path, &error)),
        }
        let temporary = path.with_extension("tmp");
        fs::write(&temporary, bytes)
            .and_then(|()| fs::rename(&temporary, path))
            .map_err(|error| failed(path, &error))?;
        self.written.push(path.to_owned());
        Ok(())
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn read(path: &Path) -> std::result::Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}; run cargo xtask build", path.display()))
}
