//! Middleware over a backend: several components become one, which is a backend again.

use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions, NodeId, PackageId};

use super::{Fault, Misfit, PERSISTENCE, chain, register};

/// What a backend may export besides. It is about places on the medium, which no middleware hides.
const UPKEEP: &str = "annals:session/upkeep@0.1.0";

/// How every version of the interface begins by which a component reads its environment.
const ENVIRONMENT: &str = "wasi:cli/environment@";

/// An environment without anything in it, see the text beside it.
const EMPTY_ENVIRONMENT: &[u8] = include_bytes!("empty-environment.wasm");
const EMPTY: &str = "wasi:cli/environment@0.2.0";

/// One component of a stack.
pub(crate) struct Part<'a> {
    pub(crate) wasm: &'a [u8],
    /// Whether it finds in the environment what was granted; else it finds nothing.
    pub(crate) sees_environment: bool,
}

/// Composes middleware with what is below it. The result exports `persistence` as the middleware does, and `upkeep` where
/// the backend has it; it imports what both import besides.
pub(crate) fn stack(middleware: &Part<'_>, below: &Part<'_>) -> Result<Vec<u8>, Misfit> {
    let mut graph = CompositionGraph::new();
    let upper = register(&mut graph, "annals:middleware", middleware.wasm)?;
    let lower = register(&mut graph, "annals:below", below.wasm)?;
    let empty = register(&mut graph, "annals:empty-environment", EMPTY_ENVIRONMENT)?;
    let has_upkeep = names(&graph, lower)
        .exports
        .iter()
        .any(|name| name == UPKEEP);

    let mut connect = || -> Result<(), Fault> {
        let nothing = graph.instantiate(empty);
        let nothing = graph.alias_instance_export(nothing, EMPTY)?;
        let lower = instantiate(&mut graph, lower, below, nothing)?;
        let persistence = graph.alias_instance_export(lower, PERSISTENCE)?;
        let upper = instantiate(&mut graph, upper, middleware, nothing)?;
        graph.set_instantiation_argument(upper, PERSISTENCE, persistence)?;
        let exported = graph.alias_instance_export(upper, PERSISTENCE)?;
        graph.export(exported, PERSISTENCE)?;
        if has_upkeep {
            let upkeep = graph.alias_instance_export(lower, UPKEEP)?;
            graph.export(upkeep, UPKEEP)?;
        }
        Ok(())
    };
    connect().map_err(|error| Misfit::World(chain(error.as_ref())))?;
    graph
        .encode(EncodeOptions::default())
        .map_err(|error| Misfit::World(chain(&error)))
}

/// The names of what a component imports.
pub(crate) fn imports(wasm: &[u8]) -> Result<Vec<String>, Misfit> {
    let mut graph = CompositionGraph::new();
    let package = register(&mut graph, "annals:part", wasm)?;
    Ok(names(&graph, package).imports)
}

struct Names {
    imports: Vec<String>,
    exports: Vec<String>,
}

fn names(graph: &CompositionGraph, package: PackageId) -> Names {
    let world = &graph.types()[Package::ty(&graph[package])];
    Names {
        imports: world.imports.keys().cloned().collect(),
        exports: world.exports.keys().cloned().collect(),
    }
}

/// An instance whose environment is the granted one or `nothing`.
fn instantiate(
    graph: &mut CompositionGraph,
    package: PackageId,
    part: &Part<'_>,
    nothing: NodeId,
) -> Result<NodeId, Fault> {
    let imports = names(graph, package).imports;
    let instance = graph.instantiate(package);
    if !part.sees_environment {
        for name in imports.iter().filter(|name| name.starts_with(ENVIRONMENT)) {
            graph.set_instantiation_argument(instance, name, nothing)?;
        }
    }
    Ok(instance)
}
