//! What a component is, found out without running it.

use annals::{Annals, Backend, Middleware, Need, Place, inspect};
use wasm_encoder::{
    Component, ComponentImportSection, ComponentTypeRef, CoreTypeSection, EntityType, ModuleType,
};

use crate::artefact;
use crate::faulty::{Fault, backend};

#[test]
fn a_component_tells_what_it_needs() {
    let table: [(&str, &[Need]); 2] = [("memory.wasm", &[]), ("jsonl.wasm", &[Need::Files])];
    for (name, needs) in table {
        let bytes = std::fs::read(artefact(name)).unwrap();
        let found = inspect(name, &bytes).unwrap();
        assert_eq!(found.needs, needs, "{name}");
        assert_eq!(found.refused, [""; 0], "{name}");
        assert!(found.is_backend && !found.is_middleware, "{name}");
        assert_eq!(found.bytes, bytes.len() as u64);
        assert_eq!(found.sha256.len(), 64);
        assert!(
            found
                .exports
                .iter()
                .any(|name| name.contains("persistence"))
        );
        assert!(found.imports.is_sorted() && found.exports.is_sorted());
    }
    let store = inspect("store", &std::fs::read(artefact("store.wasm")).unwrap()).unwrap();
    assert!(!store.is_backend && store.is_middleware);
    let greedy = inspect("greedy", &backend(Fault::Greed)).unwrap();
    assert_eq!(greedy.refused, ["network"]);
}

#[test]
fn what_is_no_component_is_said_to_be_none() {
    let whole = std::fs::read(artefact("memory.wasm")).unwrap();
    for bytes in [
        &b"text"[..],
        b"",
        b"\0asm\x01\0\0\0",
        &whole[..whole.len() / 2],
    ] {
        let error = inspect("it", bytes).unwrap_err();
        assert_eq!(error.reason, "component-invalid");
        assert!(!error.message.contains('\n'), "{}", error.message);
    }
}

/// A component that imports a core module, which imports a function of exactly its type: a proposal that what composes
/// components has no word for.
fn exact() -> Vec<u8> {
    let mut module = ModuleType::new();
    module.ty().function([], []);
    module.import("", "f", EntityType::FunctionExact(0));
    let mut types = CoreTypeSection::new();
    types.ty().module(&module);
    let mut imports = ComponentImportSection::new();
    imports.import("m", ComponentTypeRef::Module(0));
    let mut component = Component::new();
    component.section(&types).section(&imports);
    component.finish()
}

#[test]
fn what_cannot_be_looked_at_is_refused_without_a_panic() {
    let error = inspect("it", &exact()).unwrap_err();
    assert_eq!(error.reason, "component-invalid", "{}", error.message);
    assert!(!error.message.contains('\n'), "{}", error.message);
    let below = Place::new(Backend::Bytes(exact())).through(Middleware::Encrypt);
    let over = Place::new(Backend::Memory).through(Middleware::Bytes(exact()));
    for place in [below, over] {
        let error = Annals::builder().place(place).build().unwrap_err();
        assert!(error.reason.starts_with("component-"), "{}", error.message);
    }
}
