//! What a component is, found out without running it.

use annals::{Need, inspect};

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
