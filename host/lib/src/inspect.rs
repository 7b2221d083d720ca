//! What a component is, without running it.

use std::path::Path;

use sha2::{Digest, Sha256};
use wac_graph::CompositionGraph;

use crate::component::Source;
use crate::compose::{PERSISTENCE, package};
use crate::error::Result;
use crate::needs::{self, Asks, Need};

/// What a component exports, imports and needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// Names of its exports, sorted.
    pub exports: Vec<String>,
    /// Names of its imports, sorted.
    pub imports: Vec<String>,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// What it has to be granted something of, sorted, or be told that it gets nothing of
    /// ([`Place::inert`](crate::Place::inert)).
    pub needs: Vec<Need>,
    /// Imports that no backend is given: with any of these it cannot be linked.
    pub refused: Vec<String>,
    /// Whether it exports the interface of a backend.
    pub is_backend: bool,
    /// Whether it imports the interface of a backend too: middleware, which goes over another one.
    pub is_middleware: bool,
}

/// Looks at the bytes of a component: nothing of it is compiled or run. `name` is what messages call it.
///
/// # Errors
/// `invalid`, reason `component-invalid`: the bytes are no component.
pub fn inspect(name: &str, bytes: &[u8]) -> Result<Inspection> {
    let source = Source::given(name, bytes.to_vec())?;
    let mut graph = CompositionGraph::new();
    let package = package(&mut graph, "annals:inspected", bytes)
        .map_err(|cause| source.invalid(&cause.replace('\n', " ")))?;
    let world = &graph.types()[package.ty()];
    let mut exports: Vec<String> = world.exports.keys().cloned().collect();
    let mut imports: Vec<String> = world.imports.keys().cloned().collect();
    exports.sort();
    imports.sort();

    let (mut needs, mut refused) = (Vec::new(), Vec::new());
    for import in imports.iter().filter(|import| *import != PERSISTENCE) {
        match needs::asked_by(import) {
            Asks::Nothing => {}
            Asks::Grant(need) => needs.push(need),
            Asks::Never => refused.push(import.clone()),
        }
    }
    needs.sort();
    needs.dedup();
    Ok(Inspection {
        is_backend: exports.iter().any(|name| name == PERSISTENCE),
        is_middleware: imports.iter().any(|name| name == PERSISTENCE),
        exports,
        imports,
        bytes: bytes.len() as u64,
        sha256: component_sha256(bytes),
        needs,
        refused,
    })
}

/// The bytes of a component in a file.
///
/// # Errors
/// `invalid`, reason `component-unreadable` or `component-invalid`; `limit`: it is too large.
pub fn component_bytes(path: &Path) -> Result<Vec<u8>> {
    Ok(Source::read(path)?.bytes.into_owned())
}

/// The SHA-256 of a component's bytes as [`Inspection`] has it.
#[must_use]
pub fn component_sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Bytes as two digits each.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
