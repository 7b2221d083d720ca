//! Backends over a backend.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::bundle;
use crate::component::{self, Source, Stack};
use crate::compose::{self, Misfit, PERSISTENCE, Part};
use crate::error::{Error, Result};
use crate::records::ErrorCode;

/// A component that is a backend and needs one: what goes through it may be changed on the way.
#[derive(Clone, Debug)]
pub enum Middleware {
    /// The bundled one that seals what sessions hold. It finds its key under the name `ANNALS_KEY`, or the one that the
    /// setting `encrypt.key-env` says, and that has to be granted: [`Place::environment`](crate::Place::environment).
    Encrypt,
    /// A component in a file.
    File(PathBuf),
    /// A component's bytes.
    Bytes(Vec<u8>),
}

impl Middleware {
    /// Whether it comes with this crate.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Encrypt)
    }

    fn read(self) -> Result<Layer> {
        let source = match self {
            Self::Encrypt => {
                let wasm = bundle::middleware("encrypt")?;
                return Ok(Layer {
                    name: "encrypt".to_owned(),
                    wasm: Cow::Borrowed(wasm),
                    is_own: true,
                });
            }
            Self::File(path) => Source::read(&path)?,
            Self::Bytes(bytes) => Source::given("the given middleware", bytes)?,
        };
        Ok(Layer {
            is_own: bundle::is_middleware(&source.bytes),
            name: source.name,
            wasm: source.bytes,
        })
    }
}

struct Layer {
    /// What messages call it.
    name: String,
    wasm: Cow<'static, [u8]>,
    /// Whether it came with this crate.
    is_own: bool,
}

/// The backend with these over it, the outermost first.
pub(crate) fn over(layers: Vec<Middleware>, backend: Source) -> Result<Source> {
    if layers.is_empty() {
        return Ok(backend);
    }
    let layers: Vec<Layer> = layers
        .into_iter()
        .map(Middleware::read)
        .collect::<Result<_>>()?;
    // What the bundled ones find there is a key.
    let holds_secret = layers.iter().any(|layer| layer.is_own);
    let imports = compose::imports(&backend.bytes).map_err(|misfit| misfit_of(&backend, misfit))?;
    let mut stack = Stack {
        is_own: backend.is_own(),
        uses_files: component::uses_files(&imports),
        keeps_files: backend.is_own() && component::uses_files(&imports),
        foreign_imports: Vec::new(),
    };
    if !stack.is_own {
        stack.foreign_imports = imports;
    }
    let mut below = (backend.name, backend.bytes, !holds_secret);
    for layer in layers.into_iter().rev() {
        let imports = layer.imports()?;
        let part = Part {
            wasm: &layer.wasm,
            sees_environment: layer.is_own || !holds_secret,
        };
        let (name, wasm, sees_environment) = &below;
        let lower = Part {
            wasm,
            sees_environment: *sees_environment,
        };
        let stacked = compose::stack(&part, &lower).map_err(|misfit| {
            unfit(
                &layer.name,
                &format!("it does not fit over {name}: {misfit}"),
            )
        })?;
        if !layer.is_own {
            stack.is_own = false;
            let others = imports.into_iter().filter(|import| import != PERSISTENCE);
            stack.foreign_imports.extend(others);
        }
        // Who is in a stack sees what it was let see when it was put there.
        below = (
            format!("{name} through {}", layer.name),
            stacked.into(),
            true,
        );
    }
    let (name, bytes, _) = below;
    Ok(Source {
        name,
        bytes,
        bundled: None,
        stack: Some(stack),
    })
}

impl Layer {
    /// What it imports, a backend among it.
    fn imports(&self) -> Result<Vec<String>> {
        let imports = compose::imports(&self.wasm)
            .map_err(|misfit| unfit(&self.name, &misfit.to_string()))?;
        match imports.iter().any(|import| import == PERSISTENCE) {
            true => Ok(imports),
            false => Err(unfit(
                &self.name,
                &format!("it does not import {PERSISTENCE}"),
            )),
        }
    }
}

fn misfit_of(source: &Source, misfit: Misfit) -> Error {
    match misfit {
        Misfit::Invalid(cause) => source.invalid(&cause),
        Misfit::World(cause) => source.lacks_world(&cause),
    }
}

fn unfit(name: &str, cause: &str) -> Error {
    let cause = cause.replace('\n', " ");
    let message = format!(
        "{name} is no middleware: {cause}; build it for the world annals:session/persistence-middleware"
    );
    let facts = [("component", name)];
    Error::new(ErrorCode::Invalid, "component-lacks-world", message, &facts)
}
