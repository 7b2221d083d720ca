//! Middleware over backends, in both link modes.

use std::fs;
use std::path::Path;

use annals::{
    Annals, Backend, Binding, CreateOptions, Error, ErrorCode, ForkOptions, Link, LitterKind,
    Middleware, OpenMode, Place, SessionSummary, Upkeep,
};

use crate::{TURN, artefact};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const OTHER: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHiA=";

/// Sealed files under that root.
fn sealed(root: &Path) -> Place {
    Place::jsonl(root)
        .through(Middleware::Encrypt)
        .environment("ANNALS_KEY", KEY)
}

fn start(place: Place, link: Option<Link>) -> Result<Annals, Error> {
    let builder = Annals::builder().place(place).clock(|| 7);
    match link {
        Some(link) => builder.link(link).build(),
        None => builder.build(),
    }
}

fn named(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        cwd: Some("/tmp".to_owned()),
        ..CreateOptions::default()
    }
}

/// The bundled middleware as somebody else's: the same but for a section without meaning.
fn foreign() -> Middleware {
    let mut bytes = fs::read(artefact("encrypt.wasm")).unwrap();
    bytes.extend_from_slice(b"\0\x05\x04test");
    Middleware::Bytes(bytes)
}

fn everything(root: &Path) -> String {
    let mut text = String::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => left.push(path),
                false => text.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap())),
            }
        }
    }
    text
}

#[test]
fn a_session_is_sealed_on_its_way_to_any_backend() {
    let jsonl = Backend::File(artefact("jsonl.wasm"));
    let file = || Middleware::File(artefact("encrypt.wasm"));
    for (backend, layer, link) in [
        (Backend::Jsonl, Middleware::Encrypt, None),
        (Backend::Jsonl, Middleware::Encrypt, Some(Link::Dynamic)),
        (jsonl, file(), None),
        (Backend::Memory, Middleware::Encrypt, Some(Link::Static)),
        (Backend::Memory, foreign(), None),
        (Backend::Jsonl, foreign(), Some(Link::Dynamic)),
    ] {
        let root = tempfile::tempdir().unwrap();
        let place = || {
            Place::new(backend.clone())
                .root(root.path())
                .through(layer.clone())
                .environment("ANNALS_KEY", KEY)
        };
        let annals = start(place(), link).unwrap();
        let info = annals.info().unwrap();
        assert!(info.notes.last().unwrap().contains("XChaCha20"), "{info:?}");
        let session = annals.create(named("a")).unwrap();
        session.append(TURN).unwrap();
        session.flush().unwrap();
        session.close().unwrap();
        let title = SessionSummary {
            title: Some("a hello title".to_owned()),
            ..SessionSummary::default()
        };
        annals.update("a", title).unwrap();
        let child = annals.fork("a", ForkOptions::default()).unwrap();
        child.flush().unwrap();
        child.close().unwrap();
        let (session, repair) = annals.open("a", OpenMode::Resume).unwrap();
        assert_eq!(repair.closers, 0);
        assert!(session.history().unwrap().contains("hello"));
        session.close().unwrap();
        let listed = annals.sessions().unwrap();
        assert_eq!(listed.len(), 2);
        let entry = listed.iter().find(|entry| entry.id == "a").unwrap();
        assert_eq!(entry.summary.title.as_deref(), Some("a hello title"));
        annals.shutdown().unwrap();
        let stored = everything(root.path());
        assert!(!stored.contains("hello"), "{stored}");
        assert_eq!(
            stored.contains("annals/sealed"),
            !matches!(backend, Backend::Memory)
        );
    }
}

#[test]
fn without_its_key_it_does_not_begin() {
    let root = tempfile::tempdir().unwrap();
    let jsonl = || Place::jsonl(root.path()).through(Middleware::Encrypt);
    for (place, reason) in [
        (jsonl(), "key-missing"),
        (jsonl().environment("OTHER", KEY), "key-missing"),
        (jsonl().environment("ANNALS_KEY", "short"), "key-invalid"),
        (
            jsonl()
                .environment("ANNALS_KEY", KEY)
                .setting("encrypt.key-env", "K"),
            "key-missing",
        ),
        (
            jsonl().environment("ANNALS_KEY", KEY).setting("x", "y"),
            "setting-unknown",
        ),
    ] {
        for link in [Link::Static, Link::Dynamic] {
            let error = start(place.clone(), Some(link)).unwrap_err();
            assert_eq!(
                (error.code, error.reason.as_str()),
                (ErrorCode::Invalid, reason)
            );
            assert!(!format!("{error:?}").contains("short"), "{error:?}");
        }
    }
}

#[test]
fn another_key_changes_no_byte() {
    let root = tempfile::tempdir().unwrap();
    let annals = start(sealed(root.path()), None).unwrap();
    let session = annals.create(named("a")).unwrap();
    session
        .append(r#"{"type":"turn/start","data":{"turn":1}}"#)
        .unwrap();
    session.close().unwrap();
    annals.shutdown().unwrap();
    let before = everything(root.path());
    for link in [Link::Static, Link::Dynamic] {
        let place = Place::jsonl(root.path())
            .through(Middleware::Encrypt)
            .environment("ANNALS_KEY", OTHER);
        let annals = start(place, Some(link)).unwrap();
        let error = annals.open("a", OpenMode::Resume).unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (ErrorCode::Corrupt, "sealed-record-unopened")
        );
        let listed = annals.sessions().unwrap();
        assert!(listed[0].note.as_deref().unwrap().contains("another key"));
        annals.shutdown().unwrap();
        assert_eq!(everything(root.path()), before);
    }
}

#[test]
fn layers_stack_each_with_its_key() {
    let root = tempfile::tempdir().unwrap();
    let twice = |first: &str, second: &str| {
        Place::jsonl(root.path())
            .through(Middleware::Encrypt)
            .through(Middleware::Encrypt)
            .environment("ONE", KEY)
            .environment("TWO", OTHER)
            .setting("encrypt.key-env", first)
            .setting("encrypt.key-env", second)
    };
    let annals = start(twice("ONE", "TWO"), None).unwrap();
    let session = annals.create(named("a")).unwrap();
    session.append(TURN).unwrap();
    session.close().unwrap();
    annals.shutdown().unwrap();
    let annals = start(twice("ONE", "TWO"), Some(Link::Dynamic)).unwrap();
    let (session, _) = annals.open("a", OpenMode::Inspect).unwrap();
    assert!(session.history().unwrap().contains("hello"));
    annals.shutdown().unwrap();
    for (first, second) in [("TWO", "ONE"), ("ONE", "ONE"), ("TWO", "TWO")] {
        let annals = start(twice(first, second), None).unwrap();
        let error = annals.open("a", OpenMode::Inspect).unwrap_err();
        assert_eq!(error.reason, "sealed-record-unopened", "{first} {second}");
        annals.shutdown().unwrap();
    }
}

/// The key is for the bundled middleware: whatever else is in the stack, above it or below, finds no environment.
#[test]
fn no_other_part_of_a_stack_sees_the_key() {
    let root = tempfile::tempdir().unwrap();
    let granted = || Place::jsonl(root.path()).environment("ANNALS_KEY", KEY);
    start(granted().through(foreign()), None)
        .unwrap()
        .shutdown()
        .unwrap();
    for place in [
        granted().through(Middleware::Encrypt).through(foreign()),
        granted().through(foreign()).through(Middleware::Encrypt),
    ] {
        let error = start(place.clone(), None).unwrap_err();
        assert_eq!(error.reason, "key-missing", "{}", error.message);
        // and no limit would hold for it in one component with the store
        let error = start(place, Some(Link::Static)).unwrap_err();
        assert_eq!(error.reason, "component-foreign", "{}", error.message);
    }
}

#[test]
fn what_lies_beside_sessions_is_seen_through_middleware() {
    let root = tempfile::tempdir().unwrap();
    let annals = start(sealed(root.path()), None).unwrap();
    let session = annals.create(named("a")).unwrap();
    session.persist().unwrap();
    let twice = sealed(root.path()).through(Middleware::Encrypt);
    for place in [sealed(root.path()), twice] {
        let found = Upkeep::new(place).unwrap().inspect(10).unwrap();
        let kinds: Vec<_> = found.iter().map(|found| found.kind).collect();
        assert_eq!(kinds, [LitterKind::Lease]);
    }
    session.close().unwrap();
    annals.shutdown().unwrap();
}

#[test]
fn what_is_no_middleware_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for (layer, reason) in [
        (
            Middleware::File(artefact("jsonl.wasm")),
            "component-lacks-world",
        ),
        (
            Middleware::File(artefact("store.wasm")),
            "component-lacks-world",
        ),
        (
            Middleware::Bytes(b"\0asm\x0d\0\x01\0oops".to_vec()),
            "component-lacks-world",
        ),
        (Middleware::Bytes(b"oops".to_vec()), "component-invalid"),
        (
            Middleware::File(root.path().join("none.wasm")),
            "component-unreadable",
        ),
    ] {
        let error = start(Place::jsonl(root.path()).through(layer), None).unwrap_err();
        assert_eq!(error.reason, reason, "{}", error.message);
        assert!(!error.message.contains('\n'), "{}", error.message);
    }
    let middleware = fs::read(artefact("encrypt.wasm")).unwrap();
    let alone = start(
        Place::new(Backend::Bytes(middleware)).root(root.path()),
        None,
    );
    assert!(alone.is_err());
}

/// Plain sessions become sealed ones while they are live, and the other way round.
#[test]
fn live_sessions_are_bound_to_a_sealed_place() {
    let (plain, hidden) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let annals = start(Place::jsonl(plain.path()), Some(Link::Dynamic)).unwrap();
    let session = annals.create(named("a")).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
    for place in [
        sealed(hidden.path()),
        Place::jsonl(plain.path()),
        sealed(hidden.path()),
    ] {
        let bound = annals.rebind(place).unwrap();
        assert!(
            matches!(bound[0].binding, Binding::Stored | Binding::Adopted),
            "{bound:?}"
        );
        let turn = session.next_turn().unwrap();
        session
            .append(&TURN.replace("\"turn\":1", &format!("\"turn\":{turn}")))
            .unwrap();
        session.flush().unwrap();
    }
    // a plain place of the same files is another thing
    let bound = annals.rebind(Place::jsonl(hidden.path())).unwrap();
    assert_eq!(bound[0].binding, Binding::Refused);
    let bound = annals.rescue(sealed(hidden.path())).unwrap();
    assert_eq!(bound[0].binding, Binding::Adopted);
    session.close().unwrap();
    annals.shutdown().unwrap();
    assert!(!everything(hidden.path()).contains("hello"));
}
