//! A filesystem that folds case.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use annals_jsonl::files::{Disk, Fs, Handle, Kind, Mode};
use annals_sdk::Persistence;
use annals_sdk::types::ErrorCode;

use crate::support::{Stand, batch, header, lines, refused};

/// Finds names whatever their case, as some filesystems do.
struct Folding {
    root: PathBuf,
}

impl Folding {
    fn real(&self, path: &Path) -> PathBuf {
        let Ok(below) = path.strip_prefix(&self.root) else {
            return path.to_owned();
        };
        let mut real = self.root.clone();
        for part in below {
            let wanted = part.to_str().unwrap();
            let names = Disk.names(&real).unwrap_or_default();
            let found = names
                .into_iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            real.push(found.map_or_else(|| wanted.to_owned(), |(name, _)| name));
        }
        real
    }
}

impl Fs for Folding {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        Disk.kind(&self.real(path))
    }
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        Disk.open(&self.real(path), mode)
    }
    fn names(&self, directory: &Path) -> io::Result<Vec<(String, Kind)>> {
        Disk.names(&self.real(directory))
    }
    fn make_directory(&self, path: &Path) -> io::Result<()> {
        Disk.make_directory(&self.real(path))
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.link(&self.real(from), &self.real(to))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(&self.real(from), &self.real(to))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(&self.real(path))
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        Disk.remove_directory(&self.real(path))
    }
    fn pause(&self) {}
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        Disk.sync_directory(&self.real(path))
    }
}

// OMP#7642: ids `Abc` and `abc` met in one file.
#[test]
fn ids_that_differ_in_case_never_share_a_file() {
    for is_folding in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let files: Rc<dyn Fs> = match is_folding {
            true => Rc::new(Folding {
                root: root.path().to_owned(),
            }),
            false => Rc::new(Disk),
        };
        let mut stand = Stand::over(root, Rc::clone(&files));
        let ids = ["Abc", "abc", "ABC"];
        let mut tokens = Vec::new();
        for (count, id) in (1..).zip(ids) {
            assert!(!stand.backend.has(id).unwrap(), "{id}");
            tokens.push(stand.stored(id, count));
        }
        // others have nothing remembered
        let mut other = crate::support::backend(stand.root.path(), files, &[]);
        for ((count, id), token) in (1..).zip(ids).zip(&tokens) {
            assert_eq!(lines(&mut other, id), batch(0, count).lines);
            other.append(id, token, &batch(count, 1)).unwrap();
            let again = other.create(&header(id), token, &batch(0, 1));
            refused(again, ErrorCode::AlreadyExists, "session-already-exists");
        }
        let listing = other.list(None, 9).unwrap().sessions;
        let mut listed: Vec<&str> = listing.iter().map(|entry| entry.id.as_str()).collect();
        listed.sort_unstable();
        assert_eq!(listed, ["ABC", "Abc", "abc"]);
        assert!(
            listing.iter().all(|entry| entry.note.is_none()),
            "{listing:?}"
        );
        // the spare name is found also when the name it evaded is free again
        other.delete("Abc", &tokens[0]).unwrap();
        assert!(!other.has("Abc").unwrap());
        assert_eq!(lines(&mut other, "abc"), batch(0, 3).lines);
        assert_eq!(lines(&mut other, "ABC"), batch(0, 4).lines);
    }
}
