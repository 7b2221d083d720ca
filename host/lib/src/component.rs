//! Components as they come: bundled, from a file, or as bytes. Says in one line what is wrong with one.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::bundle;
use crate::cache::Cache;
use crate::compose::PERSISTENCE;
use crate::engine::{self, Precompiled};
use crate::error::{Error, Result};
use crate::records::ErrorCode;
use crate::room::Room;

/// How a component begins, and how a core module does.
const COMPONENT_PREAMBLE: &[u8] = b"\0asm\x0d\0\x01\0";
const MODULE_PREAMBLE: &[u8] = b"\0asm\x01\0\0\0";

/// The largest component that is taken from others: nothing else bounds the time and memory for which it is compiled. Those
/// that carry a JavaScript or Python engine have 10 to 40 MB.
pub(crate) const COMPONENT_BYTES_MAX: u64 = 64 << 20;

/// A backend's component, not compiled yet.
pub(crate) struct Source {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) bytes: Cow<'static, [u8]>,
    /// When it is a bundled one.
    pub(crate) bundled: Option<&'static bundle::Bundled>,
    /// When it is a backend with middleware over it.
    pub(crate) stack: Option<Stack>,
}

/// What is known of the parts of a stack, which is one component and imports what all of them do.
pub(crate) struct Stack {
    /// Whether all of them came with this crate.
    pub(crate) is_own: bool,
    /// Whether the backend uses files.
    pub(crate) uses_files: bool,
    /// Whether it does and came with this crate, so that files are not inert, whatever those over it get.
    pub(crate) keeps_files: bool,
    /// What those import that did not come with this crate.
    pub(crate) foreign_imports: Vec<String>,
}

impl Source {
    pub(crate) fn bundled(name: &str) -> Result<Self> {
        let bundled = bundle::backend(name)?;
        Ok(Self {
            name: format!("backend {name}"),
            bytes: Cow::Borrowed(bundled.wasm),
            bundled: Some(bundled),
            stack: None,
        })
    }

    pub(crate) fn read(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let unreadable = |cause: &str| {
            let message = format!(
                "component {shown:?} cannot be read: {cause}; give the path of a .wasm file"
            );
            invalid("component-unreadable", message, &shown)
        };
        let failed = |error: io::Error| unreadable(&error.to_string());
        // Opening a pipe waits for its writer, and a device may have no end.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(unreadable("it is no regular file"));
        }
        let file = File::open(path).map_err(failed)?;
        let name = format!("component {shown:?}");
        let bytes = read_at_most(file, COMPONENT_BYTES_MAX)
            .map_err(failed)?
            .ok_or_else(|| too_large(&name))?;
        Self::given(&name, bytes)
    }

    /// `name` is what messages call it.
    pub(crate) fn given(name: &str, bytes: Vec<u8>) -> Result<Self> {
        if bytes.len() as u64 > COMPONENT_BYTES_MAX {
            return Err(too_large(name));
        }
        if bytes.starts_with(MODULE_PREAMBLE) {
            let message = format!(
                "{name} is a core module, not a component; make one of it with wasm-tools component new"
            );
            return Err(invalid("component-invalid", message, name));
        }
        if !bytes.starts_with(COMPONENT_PREAMBLE) {
            let message = format!("{name} is not a WebAssembly component; give one");
            return Err(invalid("component-invalid", message, name));
        }
        // A bundled one that comes from a file needs no compiling.
        let bundled = bundle::backends().find(|bundled| bundled.wasm == bytes);
        Ok(Self {
            name: name.to_owned(),
            bytes: Cow::Owned(bytes),
            bundled,
            stack: None,
        })
    }

    /// Whether it, or everything in it, came with this crate.
    pub(crate) fn is_own(&self) -> bool {
        self.bundled.is_some() || self.stack.as_ref().is_some_and(|stack| stack.is_own)
    }

    /// What it has to be granted something for, as its imports say.
    pub(crate) fn imports_to_grant(&self, component: &Component) -> Vec<String> {
        match &self.stack {
            Some(stack) => stack.foreign_imports.clone(),
            None if self.is_own() => Vec::new(),
            None => imports(component),
        }
    }

    /// Whether it uses files, which is what a root is granted for.
    pub(crate) fn uses_files(&self, component: &Component) -> bool {
        match &self.stack {
            Some(stack) => stack.uses_files,
            None => uses_files(&imports(component)),
        }
    }

    /// Whether something that came with this crate uses files, for which nobody says that they are inert.
    pub(crate) fn keeps_files(&self) -> bool {
        match &self.stack {
            Some(stack) => stack.is_own || stack.keeps_files,
            None => self.is_own(),
        }
    }

    /// The backend alone, ready to be instantiated in its own wasmtime store.
    pub(crate) fn compile(&self, engine: &Engine, cache: Option<&Cache>) -> Result<Component> {
        let precompiled = self.bundled.map(|bundled| &bundled.alone);
        let bytes = || Ok(Cow::Borrowed(&*self.bytes));
        let component = compile(engine, precompiled, bytes, &self.name, cache)?;
        if component.get_export_index(None, PERSISTENCE).is_none() {
            return Err(self.lacks_world(&format!("it does not export {PERSISTENCE}")));
        }
        Ok(component)
    }

    /// It begins like a component, but is none.
    pub(crate) fn invalid(&self, cause: &str) -> Error {
        broken(&self.name, cause)
    }

    pub(crate) fn lacks_world(&self, cause: &str) -> Error {
        let name = &self.name;
        let message = format!(
            "{name} is no backend: {cause}; build it for the world annals:session/session-persistence"
        );
        invalid("component-lacks-world", message, name)
    }
}

/// Everything there is to read; none where that is more than `bytes_max`.
fn read_at_most(file: impl Read, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
}

/// Loads precompiled code, or compiles `bytes` where the engine refuses it (another processor), unless they were once
/// and that was kept.
pub(crate) fn compile<'a>(
    engine: &Engine,
    precompiled: Option<&Precompiled>,
    bytes: impl FnOnce() -> Result<Cow<'a, [u8]>>,
    name: &str,
    cache: Option<&Cache>,
) -> Result<Component> {
    if let Some(precompiled) = precompiled
        && let Ok(component) = engine::load(engine, precompiled)
    {
        return Ok(component);
    }
    let bytes = bytes()?;
    let compiled = || {
        Component::from_binary(engine, &bytes).map_err(|error| match Room::of_wasmtime(&error) {
            Some(room) => room.ran_out(&format!("{name} cannot be compiled")),
            None => broken(name, &first_line(&error)),
        })
    };
    match cache {
        Some(cache) => cache.component(engine, &bytes, compiled),
        None => compiled(),
    }
}

/// What a component imports.
pub(crate) fn imports(component: &Component) -> Vec<String> {
    let of_type = component.component_type();
    let names = of_type.imports(component.engine());
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Whether these imports are those of a component that uses files.
pub(crate) fn uses_files(imports: &[String]) -> bool {
    let mut names = imports.iter();
    names.any(|name| name.starts_with("wasi:filesystem/preopens"))
}

/// A component asks for something that is never granted.
pub(crate) fn import_missing(name: &str, error: &wasmtime::Error) -> Error {
    if let Some(room) = Room::of_wasmtime(error) {
        return room.ran_out(&format!("{name} cannot be started"));
    }
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    let cause = causes.join(": ").replace('\n', " ");
    let message = format!(
        "{name} cannot be linked: {cause}; build it for interfaces that a backend is given"
    );
    invalid("component-import-missing", message, name)
}

/// The innermost cause; what comes before it only says where in the component it was.
fn first_line(error: &wasmtime::Error) -> String {
    let cause = error.root_cause().to_string();
    cause.lines().next().unwrap_or_default().to_owned()
}

fn broken(name: &str, cause: &str) -> Error {
    let message = format!("{name} is not a valid WebAssembly component: {cause}; build it again");
    invalid("component-invalid", message, name)
}

fn too_large(name: &str) -> Error {
    let message = format!(
        "{name} has more than {COMPONENT_BYTES_MAX} bytes (component-bytes-max); give a smaller one"
    );
    let facts = [("component", name), ("limit", "component-bytes-max")];
    Error::new(ErrorCode::Limit, "limit-reached", message, &facts)
}

fn invalid(reason: &str, message: String, component: &str) -> Error {
    Error::new(
        ErrorCode::Invalid,
        reason,
        message,
        &[("component", component)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Trust;

    #[test]
    fn a_component_has_a_limit() {
        assert_eq!(read_at_most(&[1; 9][..], 9).unwrap(), Some(vec![1; 9]));
        assert_eq!(read_at_most(&[1; 10][..], 9).unwrap(), None);
        assert_eq!(read_at_most(io::repeat(1), 9).unwrap(), None);
    }

    /// Machine code that does not fit this engine stands for that of another processor.
    #[test]
    fn foreign_machine_code_is_compiled_again() {
        let jsonl = bundle::backend("jsonl").unwrap();
        let engine = engine::new(Trust::Full).unwrap();
        assert!(engine::load(&engine, &jsonl.alone).is_err());
        let bytes = || Ok(Cow::Borrowed(jsonl.wasm));
        let component = compile(&engine, Some(&jsonl.alone), bytes, "jsonl", None).unwrap();
        assert!(uses_files(&imports(&component)));
    }
}
