//! What lies on a medium besides sessions, through the optional interface of a backend.

use std::fs;

use annals::{Annals, Backend, CreateOptions, ErrorCode, Litter, LitterKind, Place, Upkeep};

#[test]
fn what_lies_beside_sessions_is_named_and_removed() {
    let root = tempfile::tempdir().unwrap();
    let annals = Annals::jsonl(root.path()).unwrap();
    let options = CreateOptions {
        id: Some("a".to_owned()),
        ..CreateOptions::default()
    };
    let session = annals.create(options).unwrap();
    session.persist().unwrap();
    fs::write(root.path().join("_no-cwd/gone.summary"), "{}").unwrap();

    let upkeep = Upkeep::new(Place::jsonl(root.path())).unwrap();
    let found = upkeep.inspect(10).unwrap();
    let kinds: Vec<_> = found.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [LitterKind::Orphan, LitterKind::Lease]);
    // this very process holds it
    let holder = found[1].holder.as_deref().unwrap();
    assert!(!Upkeep::is_gone(holder));
    assert!(!Upkeep::is_gone("no JSON"));
    assert_eq!(
        upkeep.remove(&found[1]).unwrap_err().code,
        ErrorCode::Invalid
    );
    upkeep.remove(&found[0]).unwrap();
    assert_eq!(upkeep.inspect(10).unwrap(), found[1..]);
    session.close().unwrap();
    assert_eq!(upkeep.inspect(10).unwrap(), []);
    annals.shutdown().unwrap();
}

#[test]
fn a_backend_without_the_interface_has_nothing_to_tell() {
    for backend in [Backend::Memory, Backend::None] {
        let upkeep = Upkeep::new(Place::new(backend)).unwrap();
        assert_eq!(upkeep.inspect(10).unwrap(), []);
    }
}

#[test]
fn a_missing_root_is_refused_and_not_made() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("missing");
    let place = Place::jsonl(&missing).create_root(false);
    assert_eq!(Upkeep::new(place).unwrap_err().reason, "root-not-found");
    assert!(!missing.exists());
}

// A backend that had stopped was not started again: it had nothing to tell, and what it was to remove was gone.
#[test]
fn after_the_backend_stopped_nothing_is_called_clean() {
    let root = tempfile::tempdir().unwrap();
    let place = Place::jsonl(root.path()).memory_bytes_max(4 << 20);
    let upkeep = Upkeep::new(place).unwrap();
    fs::create_dir(root.path().join("_no-cwd")).unwrap();
    let orphan = root.path().join("_no-cwd/gone.summary");
    fs::write(&orphan, "{}").unwrap();
    let found = upkeep.inspect(10).unwrap();
    assert_eq!(found.len(), 1);
    let too_long = Litter {
        place: "x".repeat(8 << 20),
        ..found[0].clone()
    };
    let stop = || {
        let error = upkeep.remove(&too_long).unwrap_err();
        assert_eq!(error.reason, "backend-limit");
    };
    stop();
    assert_eq!(upkeep.inspect(10).unwrap(), found);
    stop();
    upkeep.remove(&found[0]).unwrap();
    assert!(!orphan.exists());
}
