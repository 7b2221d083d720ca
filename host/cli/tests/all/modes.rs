//! Who may read what the command makes.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{Place, TURN, cannot_run, links};

fn modes(directory: &Path, found: &mut Vec<(String, u32)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        found.push((path.display().to_string(), mode));
        if path.is_dir() {
            modes(&path, found);
        }
    }
}

// Under a lax umask everybody could read and change every session: the component cannot set modes.
#[test]
fn what_is_made_is_for_its_owner_only() {
    for link in links() {
        let place = Place::linked(&link);
        fs::create_dir(place.root()).unwrap();
        fs::set_permissions(place.root(), PermissionsExt::from_mode(0o755)).unwrap();
        let cwd = place.dir.path().display().to_string();
        let create = ["create", "--id", "a1", "--cwd", &cwd];
        for (args, stdin) in [
            (&create[..], ""),
            (&["append", "a1"], TURN),
            (&["update", "a1", "--title", "T"], ""),
            (&["fork", "a1"], ""),
        ] {
            place.under(&LAX, args, stdin.as_bytes()).ok(args);
        }
        let mut found = Vec::new();
        modes(&place.root(), &mut found);
        assert!(found.len() > 6, "{found:?}");
        for (path, mode) in found {
            let due = if Path::new(&path).is_dir() {
                0o700
            } else {
                0o600
            };
            assert_eq!(mode, due, "{path}: {mode:o}");
        }
    }
}

const LAX: [&str; 3] = ["sh", "-c", "umask 000; exec \"$0\" \"$@\""];

// The umask decided who could look into a root that the command made, and into the directories above it.
#[test]
fn a_root_that_is_made_is_for_its_owner_only() {
    for link in links() {
        let place = Place::linked(&link).at("above/root");
        place
            .under(&LAX, &["create", "--id", "a1"], b"")
            .ok(&["create"]);
        let mut found = Vec::new();
        modes(place.dir.path(), &mut found);
        for (path, mode) in found {
            let due = if Path::new(&path).is_dir() {
                0o700
            } else {
                0o600
            };
            assert_eq!(mode, due, "{path}: {mode:o}");
        }
    }
}

// A root that was made by hand, or by another program, lay open and nobody was told.
#[test]
fn a_root_that_is_open_to_others_is_warned_of_once() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    for (mode, is_open) in [(0o700, false), (0o755, true), (0o750, true), (0o701, true)] {
        fs::set_permissions(place.root(), PermissionsExt::from_mode(mode)).unwrap();
        for args in [
            &["list"][..],
            &["append", "a1"],
            &["verify"],
            &["show", "a1"],
        ] {
            let ran = place.feed(args, TURN.as_bytes());
            assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
            if is_open {
                let shown = format!("(mode {mode:o}); chmod 700");
                assert!(ran.err.contains(&shown), "{args:?}: {}", ran.err);
            }
            assert_eq!(ran.err.lines().count(), usize::from(is_open), "{}", ran.err);
        }
    }
}

// The root was not named, and the cause was WASI's number.
#[test]
fn a_root_of_somebody_else_is_named() {
    let place = Place::new();
    fs::create_dir(place.root()).unwrap();
    fs::set_permissions(place.root(), PermissionsExt::from_mode(0o700)).unwrap();
    fs::set_permissions(place.dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let annals = env!("CARGO_BIN_EXE_annals");
    if cannot_run(&[&nobody[..], &[annals, "--version"]].concat()) {
        return;
    }
    let root = place.root().display().to_string();
    for args in [&["list"][..], &["verify"], &["create"], &["show", "a1"]] {
        let ran = place.under(&nobody, args, b"");
        ran.fails(2, &[&root, "permission denied"]);
        assert!(!ran.err.contains("os error"), "{}", ran.err);
    }
}
