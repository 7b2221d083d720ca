//! What a component is granted, said before it runs.

use annals::{Access, Annals, Backend, CreateOptions, Error, Need, Place};

use crate::{TURN, artefact};

/// The JSONL backend as somebody else's: some bytes more, which mean nothing.
fn stranger() -> Backend {
    let mut bytes = std::fs::read(artefact("jsonl.wasm")).unwrap();
    bytes.extend_from_slice(&[0, 5, 4, b's', b'e', b'l', b'f']);
    Backend::Bytes(bytes)
}

fn refused(place: Place) -> Error {
    let error = Annals::builder().place(place).build().unwrap_err();
    assert!(!error.message.contains('\n'), "{}", error.message);
    error
}

#[test]
fn files_are_a_root_or_another_directory() {
    let error = refused(Place::new(stranger()));
    assert_eq!(error.reason, "grant-missing");
    for named in ["wasi:filesystem/", "no directory", "the given backend"] {
        assert!(error.message.contains(named), "{}", error.message);
    }

    let root = tempfile::tempdir().unwrap();
    Annals::builder()
        .place(Place::new(stranger()).root(root.path()))
        .build()
        .unwrap();
    let place = Place::new(stranger())
        .directory(root.path(), "/kept", Access::ReadWrite)
        .setting("root", "/kept");
    let annals = Annals::builder().place(place).build().unwrap();
    assert_eq!(annals.sessions().unwrap(), []);
    // It may import what it has nothing of, and finds nothing there.
    let place = Place::new(stranger())
        .inert(Need::Files)
        .setting("root", "/tmp");
    let annals = Annals::builder().place(place).build().unwrap();
    let session = annals.create(CreateOptions::default()).unwrap();
    session.append(TURN).unwrap();
    let error = session.flush().unwrap_err();
    assert!(
        error.message.contains("the given backend"),
        "{}",
        error.message
    );
}

#[test]
fn grants_have_to_mean_something() {
    let place = || Place::new(stranger()).root(std::env::temp_dir());
    let gone = place().directory("/nowhere/at/all", "/more", Access::Read);
    let error = refused(gone);
    assert_eq!(error.reason, "grant-directory-unreadable");
    assert!(
        error.message.contains("/nowhere/at/all"),
        "{}",
        error.message
    );
    for place in [
        place().directory("/tmp", "/annals", Access::Read),
        place().directory("/tmp", "relative", Access::Read),
        place().environment("A=B", "x"),
        place().environment("A", "x").environment("A", "y"),
    ] {
        assert_eq!(refused(place).reason, "grant-invalid");
    }
}
