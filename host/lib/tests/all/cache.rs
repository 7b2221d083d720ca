//! Machine code that is kept: used when it is what was written by this user, and made again otherwise.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use annals::{Annals, Backend, Cache, Place};

use crate::{TURN, artefact};

/// A backend that did not come with the library: one of them with some bytes more, which mean nothing.
fn stranger() -> Backend {
    let mut bytes = fs::read(artefact("memory.wasm")).unwrap();
    // A custom section: its number, its length, the length of its name, the name.
    bytes.extend_from_slice(&[0, 5, 4, b's', b'e', b'l', b'f']);
    Backend::Bytes(bytes)
}

/// Starts a backend and uses it.
fn used(directory: &Path) {
    let place = Place::new(stranger()).cache(Cache::new(directory));
    let annals = Annals::builder().place(place).build().unwrap();
    let session = annals.create(annals::CreateOptions::default()).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
}

struct Kept {
    directory: tempfile::TempDir,
}

impl Kept {
    fn new() -> Self {
        let kept = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        used(&kept.path());
        kept
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("deep/compiled")
    }

    fn entry(&self) -> PathBuf {
        let entries = Cache::new(self.path()).entries().unwrap();
        assert_eq!(entries.len(), 1);
        self.path().join(&entries[0].name)
    }
}

#[test]
fn a_component_is_compiled_once() {
    let kept = Kept::new();
    let entry = kept.entry();
    let made = fs::symlink_metadata(&entry).unwrap();
    assert_eq!(made.mode() & 0o7777, 0o600);
    assert_eq!(fs::metadata(kept.path()).unwrap().mode() & 0o7777, 0o700);
    used(&kept.path());
    assert_eq!(fs::symlink_metadata(&entry).unwrap().ino(), made.ino());

    let cache = Cache::new(kept.path());
    let entries = cache.entries().unwrap();
    assert_eq!(entries[0].bytes, made.len());
    assert!(entry.display().to_string().contains(&entries[0].component));
    fs::write(kept.path().join("a file of somebody"), "x").unwrap();
    fs::write(kept.path().join(".writing-1-1"), "x").unwrap();
    assert_eq!(cache.clear().unwrap(), entries);
    assert_eq!(cache.entries().unwrap(), []);
    let left: Vec<_> = fs::read_dir(kept.path()).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(Cache::new("/nowhere/at/all").entries().unwrap(), []);
    assert_eq!(Cache::new("/nowhere/at/all").clear().unwrap(), []);
}

// Loading machine code runs it, so what anybody else could have written must not be loaded.
#[test]
fn what_cannot_be_trusted_is_made_again() {
    type Spoil = fn(&Path);
    let cases: [(&str, Spoil); 11] = [
        ("one bit of the code", |entry| flip(entry, 200)),
        ("one bit of the digest", |entry| flip(entry, 100)),
        ("one bit of the key", |entry| flip(entry, 20)),
        ("one bit at the end", |entry| flip(entry, usize::MAX)),
        ("empty", |entry| fs::write(entry, "").unwrap()),
        ("cut off", |entry| {
            let whole = fs::read(entry).unwrap();
            fs::write(entry, &whole[..whole.len() / 2]).unwrap();
        }),
        ("longer", |entry| {
            let mut whole = fs::read(entry).unwrap();
            whole.push(0);
            fs::write(entry, whole).unwrap();
        }),
        ("writable by others", |entry| mode(entry, 0o602)),
        ("writable by a group", |entry| mode(entry, 0o620)),
        ("a link", |entry| {
            let away = entry.with_extension("away");
            fs::rename(entry, &away).unwrap();
            symlink(&away, entry).unwrap();
        }),
        ("a pipe", |entry| {
            fs::remove_file(entry).unwrap();
            let made = std::process::Command::new("mkfifo").arg(entry).status();
            assert!(made.unwrap().success());
        }),
    ];
    for (name, spoil) in cases {
        let kept = Kept::new();
        let entry = kept.entry();
        let good = fs::read(&entry).unwrap();
        // Kept, so that the number of its file is not given to another one.
        fs::hard_link(&entry, entry.with_extension("former")).unwrap();
        spoil(&entry);
        let spoilt = fs::symlink_metadata(&entry).unwrap();
        used(&kept.path());
        let made = fs::symlink_metadata(&entry).unwrap();
        assert_ne!(made.ino(), spoilt.ino(), "{name}");
        assert!(made.is_file() && made.mode() & 0o777 == 0o600, "{name}");
        assert_eq!(fs::read(&entry).unwrap().len(), good.len(), "{name}");
    }
}

#[test]
fn what_belongs_to_somebody_else_is_no_entry() {
    let kept = Kept::new();
    let entry = kept.entry();
    if std::os::unix::fs::chown(&entry, Some(65534), None).is_err() {
        // Only who may do everything can give a file away.
        return;
    }
    used(&kept.path());
    let made = fs::symlink_metadata(&entry).unwrap();
    assert_ne!(made.uid(), 65534);
    std::os::unix::fs::chown(kept.path(), Some(65534), None).unwrap();
    used(&kept.path());
    assert_eq!(fs::symlink_metadata(&entry).unwrap().ino(), made.ino());
}

#[test]
fn a_directory_that_cannot_be_trusted_is_left_alone() {
    let kept = Kept::new();
    mode(&kept.path(), 0o777);
    let entry = kept.entry();
    fs::remove_file(&entry).unwrap();
    used(&kept.path());
    assert!(!entry.exists());

    let linked = kept.directory.path().join("linked");
    mode(&kept.path(), 0o700);
    symlink(kept.path(), &linked).unwrap();
    used(&linked);
    assert!(!entry.exists());

    let file = kept.directory.path().join("file");
    fs::write(&file, "x").unwrap();
    used(&file);
    used(&file.join("below"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");
    let error = Cache::new(&file).entries().unwrap_err();
    assert_eq!(error.reason, "cache-unreadable");
    assert!(error.message.contains("file"), "{}", error.message);
}

/// Several processes may do the same at the same time.
#[test]
fn writers_do_not_meet() {
    let directory = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| used(directory.path()));
        }
    });
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

fn flip(entry: &Path, at: usize) {
    let mut whole = fs::read(entry).unwrap();
    let at = at.min(whole.len() - 1);
    whole[at] ^= 1;
    fs::write(entry, whole).unwrap();
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
