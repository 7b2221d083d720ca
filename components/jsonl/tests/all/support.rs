//! A backend on a root of its own, and files that fail or fold case.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use annals_jsonl::Jsonl;
use annals_jsonl::files::{Disk, Fs, Handle, Kind, Mode};
use annals_sdk::types::{Batch, Error, ErrorCode, Page, SessionHeader};
use annals_sdk::{Persistence, Result};
use tempfile::TempDir;

pub const HOLDER: &str = r#"{"host":"h","pid":1,"since":"noon"}"#;

pub struct Stand {
    pub root: TempDir,
    pub backend: Jsonl,
}

impl Stand {
    pub fn new() -> Stand {
        Stand::over(tempfile::tempdir().unwrap(), Rc::new(Disk))
    }

    pub fn over(root: TempDir, files: Rc<dyn Fs>) -> Stand {
        let backend = backend(root.path(), files, &[]);
        Stand { root, backend }
    }

    /// A fresh backend on the same root, as another process has.
    pub fn other(&self) -> Jsonl {
        backend(self.root.path(), Rc::new(Disk), &[])
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    pub fn text(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(relative).parent().unwrap()).unwrap();
        fs::write(self.path(relative), content).unwrap();
    }

    pub fn acquire(&mut self, id: &str) -> String {
        self.backend.acquire(Some(id), HOLDER, None).unwrap()
    }

    /// A stored session with that many events; its token.
    pub fn stored(&mut self, id: &str, count: u64) -> String {
        let token = self.acquire(id);
        self.backend
            .create(&header(id), &token, &batch(0, count))
            .unwrap();
        token
    }

    /// Everything below the root but leases, sorted.
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut pending = vec![self.root.path().to_owned()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with("_leases") {
                    continue;
                }
                if path.is_dir() {
                    pending.push(path);
                } else {
                    let shown = path.strip_prefix(self.root.path()).unwrap();
                    found.push(shown.to_str().unwrap().to_owned());
                }
            }
        }
        found.sort();
        found
    }
}

pub fn backend(root: &Path, files: Rc<dyn Fs>, more: &[(&str, &str)]) -> Jsonl {
    let mut settings = vec![("root".to_owned(), root.to_str().unwrap().to_owned())];
    settings.extend(
        more.iter()
            .map(|(name, value)| (name.to_string(), value.to_string())),
    );
    let mut backend = Jsonl::over(files);
    backend.configure(&settings).unwrap();
    backend
}

pub fn header(id: &str) -> SessionHeader {
    SessionHeader {
        version: 0,
        id: id.to_owned(),
        created_at_ms: 42,
        cwd: None,
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        extra: None,
    }
}

pub fn event(seq: u64) -> String {
    format!(
        "{{\"type\":\"x\",\"seq\":{seq},\"time\":{},\"data\":{{\"a\":[1.0,\"é\"]}}}}\n",
        1000 + seq
    )
}

/// A packed row of three events.
pub fn row(seq: u64) -> String {
    format!(
        "{{\"type\":\"text-chunks\",\"seq0\":{seq},\"time0\":{},\"data\":{{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[1,1],\"texts\":[\"a\",\"b\",\"c\"]}}}}\n",
        1000 + seq
    )
}

pub fn batch(first_seq: u64, count: u64) -> Batch {
    Batch {
        first_seq,
        count,
        last_time_ms: 0,
        lines: (first_seq..first_seq + count).map(event).collect(),
    }
}

/// Every page of a log: `lines` and `raw` in file order, and the header.
pub fn pages(backend: &mut Jsonl, id: &str, bytes_max: u32) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut cursor = Some(0);
    while let Some(at) = cursor {
        let page = backend.load(id, at, bytes_max).unwrap();
        cursor = page.next;
        pages.push(page);
    }
    pages
}

pub fn lines(backend: &mut Jsonl, id: &str) -> String {
    pages(backend, id, 1 << 20)
        .into_iter()
        .map(|page| page.lines)
        .collect()
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T>, code: ErrorCode, reason: &str) -> Error {
    let error = result.unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (code, reason),
        "{error:?}"
    );
    error
}

/// What befalls the operation on files that is due.
#[derive(Clone, Copy, PartialEq)]
pub enum Fate {
    /// Only this one fails.
    Fail,
    /// This one and all later ones fail: the process died.
    Die,
    /// A write stops half-way, then everything fails.
    Tear,
}

/// Real files, of which the operation number `at` that changes something meets `fate`.
pub struct Faulty {
    pub at: u64,
    pub fate: Fate,
    pub changes: Rc<Cell<u64>>,
    pub bytes_read: Rc<Cell<u64>>,
}

impl Faulty {
    pub fn new(at: u64, fate: Fate) -> Faulty {
        Faulty {
            at,
            fate,
            changes: Rc::default(),
            bytes_read: Rc::default(),
        }
    }

    fn change(&self) -> io::Result<()> {
        count_change(&self.changes, self.at, self.fate)
    }
}

fn count_change(changes: &Cell<u64>, at: u64, fate: Fate) -> io::Result<()> {
    let this = changes.get();
    changes.set(this + 1);
    let is_hit = this == at || (this > at && fate != Fate::Fail);
    if is_hit {
        Err(io::ErrorKind::StorageFull.into())
    } else {
        Ok(())
    }
}

impl Fs for Faulty {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        Disk.kind(path)
    }
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        if mode == Mode::New {
            self.change()?;
        }
        Ok(Box::new(FaultyHandle {
            inner: Disk.open(path, mode)?,
            at: self.at,
            fate: self.fate,
            changes: Rc::clone(&self.changes),
            bytes_read: Rc::clone(&self.bytes_read),
        }))
    }
    fn names(&self, directory: &Path) -> io::Result<Vec<(String, Kind)>> {
        Disk.names(directory)
    }
    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        Disk.make_directory(path)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change()?;
        Disk.link(from, to)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change()?;
        Disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        Disk.remove(path)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        Disk.remove_directory(path)
    }
    fn pause(&self) {}
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        Disk.sync_directory(path)
    }
}

struct FaultyHandle {
    inner: Box<dyn Handle>,
    at: u64,
    fate: Fate,
    changes: Rc<Cell<u64>>,
    bytes_read: Rc<Cell<u64>>,
}

impl FaultyHandle {
    fn change(&self) -> io::Result<()> {
        count_change(&self.changes, self.at, self.fate)
    }
}

impl Handle for FaultyHandle {
    fn bytes(&mut self) -> io::Result<u64> {
        self.inner.bytes()
    }
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read_at(offset, into)?;
        self.bytes_read.set(self.bytes_read.get() + read as u64);
        Ok(read)
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_torn = self.changes.get() == self.at;
        if let Err(error) = self.change() {
            if is_torn && self.fate != Fate::Die {
                self.inner.write_all(&bytes[..bytes.len() / 2])?;
            }
            return Err(error);
        }
        self.inner.write(bytes)
    }
    fn set_bytes(&mut self, bytes: u64) -> io::Result<()> {
        self.change()?;
        self.inner.set_bytes(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.change()?;
        self.inner.sync()
    }
}
