//! Others at work on the same files, at the worst moment.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use annals_jsonl::files::{Disk, Files, Handle, Kind, Mode};
use annals_sdk::Persistence;
use annals_sdk::types::ErrorCode;

use crate::support::{Stand, backend, batch, header, lines, refused};

/// What happens right before an operation, by its name and path; an error is the operation's answer.
type Hook = Rc<dyn Fn(&str, &Path) -> io::Result<()>>;

struct Watched(Hook);

struct WatchedHandle {
    inner: Box<dyn Handle>,
    path: PathBuf,
    hook: Hook,
}

impl Files for Watched {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        Disk.kind(path)
    }
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        Ok(Box::new(WatchedHandle {
            inner: Disk.open(path, mode)?,
            path: path.to_owned(),
            hook: Rc::clone(&self.0),
        }))
    }
    fn names(&self, directory: &Path) -> io::Result<Vec<(String, Kind)>> {
        Disk.names(directory)
    }
    fn make_directory(&self, path: &Path) -> io::Result<()> {
        Disk.make_directory(path)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.0)("link", to)?;
        Disk.link(from, to)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.0)("rename", to)?;
        Disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        Disk.remove_directory(path)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        (self.0)("sync directory", path)?;
        Disk.sync_directory(path)
    }
}

impl Handle for WatchedHandle {
    fn bytes(&mut self) -> io::Result<u64> {
        self.inner.bytes()
    }
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.inner.read_at(offset, into)
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        (self.hook)("write", &self.path)?;
        self.inner.write(bytes)
    }
    fn set_bytes(&mut self, bytes: u64) -> io::Result<()> {
        self.inner.set_bytes(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        (self.hook)("sync", &self.path)?;
        self.inner.sync()
    }
}

fn is_log(path: &Path) -> bool {
    path.ends_with("s.jsonl")
}

fn add_foreign(path: &Path) {
    let mut log = fs::OpenOptions::new().append(true).open(path).unwrap();
    log.write_all(b"{\"foreign\":1}\n").unwrap();
}

// Another program wrote into the log while an append failed, and taking the batch back took its line along.
#[test]
fn taking_a_batch_back_takes_nobody_elses_bytes() {
    for (moment, fails) in [("write", false), ("write", true), ("sync", true)] {
        let mut stand = Stand::new();
        let token = stand.stored("s", 2);
        let before = stand.text("_no-cwd/s.jsonl");
        let hook: Hook = Rc::new(move |operation, path| {
            if operation == moment && is_log(path) {
                add_foreign(path);
                if fails {
                    return Err(io::ErrorKind::StorageFull.into());
                }
            }
            Ok(())
        });
        let mut backend = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
        let error = backend.append("s", &token, &batch(2, 1)).unwrap_err();
        assert_ne!(error.code, ErrorCode::Busy);
        let after = stand.text("_no-cwd/s.jsonl");
        assert!(after.starts_with(&before), "{moment}");
        assert!(after.contains("foreign"), "{moment}");
    }
}

// What came in after the cut bytes were saved was cut with them, and saved nowhere.
#[test]
fn nothing_is_cut_that_was_not_saved() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 2);
    let good = stand.text("_no-cwd/s.jsonl");
    stand.write("_no-cwd/s.jsonl", format!("{good}torn\n"));
    let log = stand.path("_no-cwd/s.jsonl");
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "link" && path.extension().is_some_and(|suffix| suffix == "torn") {
            add_foreign(&log);
        }
        Ok(())
    });
    let mut meddled = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    let result = meddled.truncate("s", &token, 2);
    refused(result, ErrorCode::Other, "io-length");
    assert!(
        stand
            .text("_no-cwd/s.jsonl")
            .ends_with("torn\n{\"foreign\":1}\n")
    );
    // once they leave it alone
    stand.backend.truncate("s", &token, 2).unwrap();
    assert_eq!(stand.text("_no-cwd/s.jsonl"), good);
}

// The sync of a new log's name hung until the lease was taken for silent, then failed: the log that the next writer had
// gone on with was removed.
#[test]
fn a_create_that_lost_its_lease_removes_nothing() {
    let mut stand = Stand::new();
    let token = stand.acquire("s");
    let leases = stand.path("_leases/s.lease");
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "sync directory" && path.ends_with("_no-cwd") {
            fs::write(leases.join("2"), "").unwrap();
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    });
    let mut meddled = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    let result = meddled.create(&header("s"), &token, &batch(0, 1));
    refused(result, ErrorCode::Busy, "lease-lost");
    assert_eq!(lines(&mut stand.other(), "s"), batch(0, 1).lines);
}

// Without `sync`, cutting and fencing put copies that were nowhere yet in the place of bytes that were long durable.
#[test]
fn copies_of_stored_bytes_are_synced_whatever_sync_says() {
    for sync in ["flush", "never"] {
        let mut stand = Stand::new();
        let token = stand.stored("s", 2);
        let good = stand.text("_no-cwd/s.jsonl");
        stand.write("_no-cwd/s.jsonl", format!("{good}torn\n"));
        let synced: Rc<RefCell<Vec<String>>> = Rc::default();
        let seen = Rc::clone(&synced);
        let hook: Hook = Rc::new(move |operation, path| {
            let suffix = path.extension().unwrap_or_default().to_string_lossy();
            seen.borrow_mut().push(format!("{operation} {suffix}"));
            Ok(())
        });
        let files = Rc::new(Watched(hook));
        let mut backend = backend(stand.root.path(), files, &[("sync", sync)]);
        backend.truncate("s", &token, 2).unwrap();
        let synced = synced.take();
        let at = |what: &str| synced.iter().position(|done| done == what);
        assert!(
            at("sync tmp").is_some() && at("sync tmp") < at("link torn"),
            "{synced:?}"
        );
    }
}

// The root's parent was new as well, and only its own entry was made durable.
#[test]
fn every_new_directory_above_the_root_is_durable() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("a/b/c");
    let synced: Rc<RefCell<Vec<PathBuf>>> = Rc::default();
    let seen = Rc::clone(&synced);
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "sync directory" {
            seen.borrow_mut().push(path.to_owned());
        }
        Ok(())
    });
    let mut backend = backend(&root, Rc::new(Watched(hook)), &[]);
    backend.acquire(Some("s"), "{}", None).unwrap();
    for above in ["", "a", "a/b"] {
        let above = outer.path().join(above);
        let is_synced = synced
            .borrow()
            .iter()
            .any(|path| path.components().eq(above.components()));
        assert!(is_synced, "{above:?} {synced:?}");
    }
}

#[test]
fn a_bucket_made_again_is_durable_again() {
    let root = tempfile::tempdir().unwrap();
    let synced: Rc<RefCell<Vec<PathBuf>>> = Rc::default();
    let seen = Rc::clone(&synced);
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "sync directory" {
            seen.borrow_mut().push(path.to_owned());
        }
        Ok(())
    });
    let mut backend = backend(root.path(), Rc::new(Watched(hook)), &[]);
    for id in ["s", "t"] {
        let token = backend.acquire(Some(id), "{}", None).unwrap();
        backend.create(&header(id), &token, &batch(0, 1)).unwrap();
        assert!(synced.take().iter().any(|path| path == root.path()), "{id}");
        fs::remove_dir_all(root.path().join("_no-cwd")).unwrap();
    }
}
