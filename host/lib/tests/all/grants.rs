//! What a component is granted, said before it runs.

use std::fs;
use std::path::Path;

use annals::{Access, Annals, Backend, Bare, Cache, CreateOptions, Error, ErrorCode, Need, Place};

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

// What was accepted as asking for nothing got the sessions of whoever gave a root, to read and to write.
#[test]
fn who_needs_no_files_gets_no_root() {
    let root = tempfile::tempdir().unwrap();
    let place = || Place::new(stranger()).root(root.path()).inert(Need::Files);
    assert!(!Bare::new(place()).unwrap().has_root());
    let place = place().setting("root", "/annals");
    let annals = Annals::builder().place(place).build().unwrap();
    let session = annals.create(CreateOptions::default()).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap_err();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);

    let both = Place::new(stranger()).inert(Need::Files);
    let error = refused(both.directory(root.path(), "/more", Access::Read));
    assert_eq!(error.reason, "grant-invalid");
    assert!(error.message.contains("inert"), "{}", error.message);
}

/// A directory with another one in it, and links to both and to a third beside them.
#[cfg(unix)]
fn nested() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::create_dir_all(at("d/cache")).unwrap();
    fs::create_dir(at("d2")).unwrap();
    for (target, link) in [("d", "to-d"), ("d/cache", "to-cache"), ("../d2", "d/to-d2")] {
        std::os::unix::fs::symlink(target, at(link)).unwrap();
    }
    home
}

// Through the outer one a backend could exchange the inner one for a link, which the next start opened.
#[cfg(unix)]
#[test]
fn no_granted_directory_lies_in_another() {
    let home = nested();
    let at = |name: &str| home.path().join(name);
    let of = |root: &str, others: &[&str]| {
        let place = Place::new(stranger()).root(at(root));
        let place = place.cache(Cache::new(at("compiled")));
        others.iter().fold(place, |place, name| {
            let guest = format!("/{}", name.replace('/', "-"));
            place.directory(at(name), guest, Access::ReadWrite)
        })
    };
    for (root, others) in [
        ("d", &["d/cache"][..]),
        ("d/cache", &["d"]),
        ("d", &["d"]),
        ("d", &["to-d"]),
        ("d", &["d/../to-cache"]),
        ("to-d", &["to-cache"]),
        // what is a link today lies in the other one all the same
        ("d", &["d/to-d2"]),
        ("d2", &["d", "d/cache"]),
        ("d/made", &["d"]),
    ] {
        let error = refused(of(root, others));
        assert_eq!(error.reason, "grant-invalid", "{root} {others:?}");
        assert!(error.message.contains("granted too"), "{}", error.message);
    }
    assert!(!at("d/made").exists());
    for (root, others) in [
        ("d", &["d2"][..]),
        ("d", &["d/../d2"]),
        ("d2", &["to-cache"]),
        ("made", &["d"]),
    ] {
        let place = of(root, others);
        Annals::builder().place(place).build().unwrap();
    }
}

#[cfg(unix)]
#[test]
fn another_start_finds_the_directories_of_the_first_one() {
    let home = nested();
    let at = |name: &str| home.path().join(name);
    let place = Place::new(stranger()).root(at("d"));
    let place = place.directory(at("d2"), "/more", Access::ReadWrite);
    let mut bare = Bare::new(place).unwrap();
    bare.start(&at("d")).unwrap();
    fs::rename(at("d2"), at("d3")).unwrap();
    for put in [&|| std::os::unix::fs::symlink("d3", at("d2")), &|| {
        fs::create_dir(at("d2")) as std::io::Result<()>
    }] as [&dyn Fn() -> std::io::Result<()>; 2]
    {
        put().unwrap();
        match (bare.start(&at("d")), at("d2").is_symlink()) {
            // a link to what was granted
            (Ok(_), true) => fs::remove_file(at("d2")).unwrap(),
            (Err(error), false) => {
                assert_eq!(error.reason, "grant-changed", "{}", error.message);
                assert!(error.message.contains("/d2"), "{}", error.message);
                fs::remove_dir(at("d2")).unwrap();
            }
            (started, is_link) => panic!("{is_link}: {}", started.is_ok()),
        }
    }
    fs::create_dir(at("other")).unwrap();
    std::os::unix::fs::symlink("other", at("d2")).unwrap();
    let changed = bare.start(&at("d")).map(drop).unwrap_err();
    assert_eq!(changed.code, ErrorCode::Unavailable);
    assert_eq!(changed.reason, "grant-changed");
}

// Machine code runs as it is: whoever can write what is kept of it is out of the sandbox.
#[test]
fn nobody_is_granted_what_is_trusted() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::create_dir(at("other")).unwrap();
    let cache = || Cache::new(at("cache/annals"));
    let over = |root: &Path| Place::new(stranger()).root(root).cache(cache());
    for root in [
        at(""),
        at("cache"),
        at("cache/annals"),
        at("cache/annals/x"),
    ] {
        let error = refused(over(&root));
        assert_eq!(error.reason, "grant-invalid", "{root:?}");
        assert!(error.message.contains("cache/annals"), "{}", error.message);
    }
    assert!(!at("cache/annals/x").exists());
    let place = over(&at("other")).directory(at("cache"), "/more", Access::Read);
    assert_eq!(refused(place).reason, "grant-invalid");
    let place = Place::new(stranger())
        .root(at("other/x"))
        .keep_off(at("other"));
    assert_eq!(refused(place).reason, "grant-invalid");
    Annals::builder().place(over(&at("other"))).build().unwrap();
    // what comes with the crate is trusted
    let own = Place::jsonl(home.path()).cache(cache());
    Annals::builder().place(own).build().unwrap();
}
