//! What is no backend is refused in one line that names it, in both link modes.

use annals::{Annals, Backend, Error, ErrorCode, Link};

use crate::artefact;
use crate::faulty::{Fault, given};

fn refusal(backend: Backend, link: Link) -> Error {
    let error = Annals::builder()
        .backend(backend)
        .link(link)
        .build()
        .unwrap_err();
    assert!(!error.message.contains('\n'), "{}", error.message);
    assert_eq!(error.code, ErrorCode::Invalid, "{}", error.message);
    error
}

fn is_refused(backend: &Backend, reason: &str, named: &str) {
    for link in [Link::Static, Link::Dynamic] {
        let error = refusal(backend.clone(), link);
        assert_eq!(error.reason, reason, "{link:?}: {}", error.message);
        assert!(error.message.contains(named), "{}", error.message);
    }
}

#[test]
fn a_missing_file() {
    let backend = Backend::File("nowhere/backend.wasm".into());
    is_refused(&backend, "component-unreadable", "nowhere/backend.wasm");
}

#[test]
fn bytes_that_are_no_component() {
    let directory = tempfile::tempdir().unwrap();
    let whole = std::fs::read(artefact("memory.wasm")).unwrap();
    let half = whole.get(..whole.len() / 2).unwrap();
    let cases: [(&str, &[u8]); 4] = [
        ("text.wasm", b"not a component"),
        ("empty.wasm", b""),
        ("core.wasm", b"\0asm\x01\0\0\0"),
        ("half.wasm", half),
    ];
    for (name, bytes) in cases {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        is_refused(&Backend::File(path), "component-invalid", name);
    }
}

#[test]
fn a_component_that_is_something_else() {
    let backend = Backend::File(artefact("store.wasm"));
    is_refused(
        &backend,
        "component-lacks-world",
        "annals:session/persistence@0.1.0",
    );
}

#[test]
fn a_component_that_wants_more_than_it_gets() {
    is_refused(&given(Fault::Greed), "component-import-missing", "network");
}

#[test]
fn an_unknown_setting() {
    let builder = Annals::builder()
        .backend(Backend::Memory)
        .setting("colour", "blue");
    let error = builder.build().unwrap_err();
    assert_eq!(error.code, ErrorCode::Invalid);
    assert!(error.message.contains("colour"), "{}", error.message);
}
