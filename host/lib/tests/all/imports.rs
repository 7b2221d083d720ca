//! What the artefacts ask of those who run them, and what they give.

use std::collections::BTreeSet;

use wac_graph::CompositionGraph;
use wac_graph::types::Package;

use crate::artefact;

fn imports(name: &str) -> BTreeSet<String> {
    let bytes = std::fs::read(artefact(name)).unwrap();
    let mut graph = CompositionGraph::new();
    let package = Package::from_bytes("test:component", None, bytes, graph.types_mut()).unwrap();
    graph.types()[package.ty()]
        .imports
        .keys()
        .cloned()
        .collect()
}

/// Interfaces only; the names of types that they use are not among them.
fn exports(name: &str) -> BTreeSet<String> {
    let bytes = std::fs::read(artefact(name)).unwrap();
    let mut graph = CompositionGraph::new();
    let package = Package::from_bytes("test:component", None, bytes, graph.types_mut()).unwrap();
    graph.types()[package.ty()]
        .exports
        .keys()
        .cloned()
        .collect()
}

#[test]
fn a_store_gives_its_two_interfaces_however_it_is_linked() {
    let both = set(&["annals:session/store@0.1.0", "annals:session/log@0.1.0"]);
    for name in ["store.wasm", "annals-jsonl.wasm", "annals-memory.wasm"] {
        assert_eq!(exports(name), both, "{name}");
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const OBSERVER: &str = "annals:session/observer@0.1.0";
const PERSISTENCE: &str = "annals:session/persistence@0.1.0";
const TYPES: &str = "annals:session/types@0.1.0";

#[test]
fn the_store_needs_nothing_of_the_system() {
    assert_eq!(imports("store.wasm"), set(&[OBSERVER, PERSISTENCE, TYPES]));
    assert_eq!(imports("memory.wasm"), set(&[TYPES]));
    assert_eq!(imports("annals-memory.wasm"), set(&[OBSERVER, TYPES]));
}

#[test]
fn jsonl_needs_wasi_and_no_network() {
    for name in ["jsonl.wasm", "annals-jsonl.wasm"] {
        let (wasi, own): (BTreeSet<_>, BTreeSet<_>) = imports(name)
            .into_iter()
            .partition(|import| import.starts_with("wasi:"));
        assert!(!wasi.is_empty());
        for import in wasi {
            assert!(
                !import.contains("sockets") && !import.contains("http"),
                "{name}: {import}"
            );
        }
        let expected = if name == "jsonl.wasm" {
            set(&[TYPES])
        } else {
            set(&[OBSERVER, TYPES])
        };
        assert_eq!(own, expected, "{name}");
    }
}
