//! Who may read what the command makes.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{Place, TURN, links};

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
        let lax = ["sh", "-c", "umask 000; exec \"$0\" \"$@\""];
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
            place.under(&lax, args, stdin.as_bytes()).ok(args);
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
    // who may not become somebody else, or may not start the command as such, cannot try it
    let tried = std::panic::catch_unwind(|| place.under(&nobody, &["--version"], b""));
    if !tried.is_ok_and(|ran| ran.code == 0) {
        eprintln!("left out: the command cannot be run as another user");
        return;
    }
    let root = place.root().display().to_string();
    for args in [&["list"][..], &["verify"], &["create"], &["show", "a1"]] {
        let ran = place.under(&nobody, args, b"");
        ran.fails(2, &[&root, "permission denied"]);
        assert!(!ran.err.contains("os error"), "{}", ran.err);
    }
}
