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
    let error = refusal(backend.clone(), Link::Dynamic);
    assert_eq!(error.reason, reason, "{}", error.message);
    assert!(error.message.contains(named), "{}", error.message);
    // Linked statically it is refused whatever is in it, as far as it can be read.
    let error = refusal(backend.clone(), Link::Static);
    let reasons = [reason, "component-foreign"];
    assert!(
        reasons.contains(&error.reason.as_str()),
        "{}",
        error.message
    );
}

// It ran without any limit, and what stopped it stopped the store.
#[test]
fn what_did_not_come_with_this_crate_is_not_linked_statically() {
    let mut bytes = std::fs::read(artefact("memory.wasm")).unwrap();
    let bundled = Backend::Bytes(bytes.clone());
    bytes.extend_from_slice(b"\0\x05\x04self");
    let error = refusal(Backend::Bytes(bytes), Link::Static);
    assert_eq!(error.reason, "component-foreign");
    assert!(error.message.contains("dynamic"), "{}", error.message);
    let annals = Annals::builder().backend(bundled).link(Link::Static);
    annals.build().unwrap().shutdown().unwrap();
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

// `--backend /dev/zero` took all the memory of the machine, and a pipe was waited for without end.
#[cfg(unix)]
#[test]
fn what_is_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in ["/dev/zero".into(), pipe, directory.path().to_owned()] {
        let shown = path.display().to_string();
        is_refused(&Backend::File(path), "component-unreadable", &shown);
    }
}

#[test]
fn a_file_without_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("huge.wasm");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    let error = Annals::builder()
        .backend(Backend::File(path))
        .build()
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Limit, "{}", error.message);
    assert!(
        error.detail.contains("component-bytes-max"),
        "{}",
        error.detail
    );
    assert!(error.message.contains("huge.wasm"), "{}", error.message);
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
