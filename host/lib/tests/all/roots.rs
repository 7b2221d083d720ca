//! The root: made for its owner only, or refused.

use annals::{Annals, Backend, ErrorCode, Link};

use crate::artefact;

#[test]
fn a_missing_root_is_made_with_its_parents() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("a/b");
    Annals::jsonl(&root).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(root.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn a_missing_root_is_refused_when_only_reading() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("nothing");
    for link in [Link::Static, Link::Dynamic] {
        let error = Annals::builder()
            .root(&root)
            .create_root(false)
            .link(link)
            .build()
            .unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (ErrorCode::NotFound, "root-not-found")
        );
        assert!(error.message.contains("nothing"), "{}", error.message);
        assert!(!root.exists());
    }
}

#[test]
fn a_file_is_no_root() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("file");
    std::fs::write(&root, "content").unwrap();
    for create_root in [true, false] {
        let error = Annals::builder()
            .root(&root)
            .create_root(create_root)
            .build()
            .unwrap_err();
        assert_eq!(error.reason, "root-not-a-directory", "{}", error.message);
    }
    assert_eq!(std::fs::read(&root).unwrap(), b"content");
}

#[test]
fn jsonl_without_a_root() {
    let error = Annals::builder().build().unwrap_err();
    assert_eq!(error.code, ErrorCode::Invalid);
    assert!(error.message.contains("root"), "{}", error.message);
}

// The setting took the place of the granted root: sessions were looked for in another directory, and none were found.
#[test]
fn a_granted_root_is_not_given_again() {
    let root = tempfile::tempdir().unwrap();
    for link in [Link::Static, Link::Dynamic] {
        for value in ["/annals", "/annals/sub", "/typo"] {
            let error = Annals::builder()
                .root(root.path())
                .setting("root", value)
                .link(link)
                .build()
                .unwrap_err();
            let given = (error.code, error.reason.as_str());
            assert_eq!(given, (ErrorCode::Invalid, "setting-root"));
        }
    }
    // no files, no root: the backend says what it knows
    let error = Annals::builder()
        .backend(Backend::File(artefact("memory.wasm")))
        .root(root.path())
        .setting("root", "/annals")
        .build()
        .unwrap_err();
    assert_ne!(error.reason, "setting-root");
}
