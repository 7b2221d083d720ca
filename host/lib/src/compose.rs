//! Components that become one: store and backend where they are linked statically, middleware and what is below it.

mod stack;

use std::fmt;
use std::panic::{self, AssertUnwindSafe};

use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions, PackageId};
use wasmparser::{Parser, Validator};

pub(crate) use stack::{Part, imports, stack};

/// The interface that a backend exports and the store imports.
pub(crate) const PERSISTENCE: &str = "annals:session/persistence@0.1.0";
/// The interfaces that the store exports.
const EXPORTS: [&str; 2] = ["annals:session/store@0.1.0", "annals:session/log@0.1.0"];

/// Composes a store and a backend, both components, into one component. It exports the interfaces `store` and `log`, and
/// imports what both import except `persistence`: `observer`, and what the backend needs of WASI.
///
/// # Errors
/// Bytes that are no component, and why the two do not fit.
pub fn compose(store: &[u8], backend: &[u8]) -> Result<Vec<u8>, Misfit> {
    let mut graph = CompositionGraph::new();
    let store = register(&mut graph, "annals:store", store)?;
    let backend = register(&mut graph, "annals:backend", backend)?;

    connect(&mut graph, store, backend).map_err(|error| Misfit::World(chain(error.as_ref())))?;
    graph
        .encode(EncodeOptions::default())
        .map_err(|error| Misfit::World(chain(&error)))
}

/// Why two components cannot be composed, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The bytes are no valid component.
    Invalid(String),
    /// Their imports and exports do not fit.
    World(String),
}

impl fmt::Display for Misfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(cause) | Self::World(cause) => formatter.write_str(cause),
        }
    }
}

impl std::error::Error for Misfit {}

type Fault = Box<dyn std::error::Error>;

fn connect(
    graph: &mut CompositionGraph,
    store: PackageId,
    backend: PackageId,
) -> Result<(), Fault> {
    let backend = graph.instantiate(backend);
    let persistence = graph.alias_instance_export(backend, PERSISTENCE)?;
    let store = graph.instantiate(store);
    graph.set_instantiation_argument(store, PERSISTENCE, persistence)?;
    for name in EXPORTS {
        let exported = graph.alias_instance_export(store, name)?;
        graph.export(exported, name)?;
    }
    Ok(())
}

/// Reads a component. What reads it knows every proposal and stops at some of them, so one that no engine takes is refused
/// before, and whatever stops it is the fault of the component.
pub(crate) fn package(
    graph: &mut CompositionGraph,
    name: &str,
    bytes: &[u8],
) -> Result<Package, String> {
    let mut validator = Validator::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let checked = payload.and_then(|payload| validator.payload(&payload));
        checked.map_err(|error| error.to_string())?;
    }
    let types = graph.types_mut();
    let read = AssertUnwindSafe(|| Package::from_bytes(name, None, bytes, types));
    match panic::catch_unwind(read) {
        Ok(read) => read.map_err(|error| format!("{error:#}")),
        Err(_) => Err("what it imports or exports cannot be read".to_owned()),
    }
}

fn register(graph: &mut CompositionGraph, name: &str, bytes: &[u8]) -> Result<PackageId, Misfit> {
    let package = package(graph, name, bytes).map_err(Misfit::Invalid)?;
    graph
        .register_package(package)
        .map_err(|error| Misfit::Invalid(chain(&error)))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
