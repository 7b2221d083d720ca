//! Real files, and what happens right before each operation on them.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use annals_jsonl::files::{Disk, Fs, Handle, Kind, Mode};

/// What happens right before an operation, by its name and path; an error is the operation's answer.
pub type Hook = Rc<dyn Fn(&str, &Path) -> io::Result<()>>;

pub struct Watched(pub Hook);

struct WatchedHandle {
    inner: Box<dyn Handle>,
    path: PathBuf,
    hook: Hook,
}

impl Fs for Watched {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        (self.0)("kind", path)?;
        Disk.kind(path)
    }
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        (self.0)("open", path)?;
        if mode == Mode::New {
            (self.0)("open new", path)?;
        }
        Ok(Box::new(WatchedHandle {
            inner: Disk.open(path, mode)?,
            path: path.to_owned(),
            hook: Rc::clone(&self.0),
        }))
    }
    fn names(&self, directory: &Path) -> io::Result<Vec<(String, Kind)>> {
        (self.0)("names", directory)?;
        Disk.names(directory)
    }
    fn make_directory(&self, path: &Path) -> io::Result<()> {
        (self.0)("make directory", path)?;
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
        (self.0)("remove", path)?;
        Disk.remove(path)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        Disk.remove_directory(path)
    }
    fn pause(&self) {
        let _ = (self.0)("pause", Path::new(""));
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
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.hook)("write", &self.path)?;
        self.inner.write(bytes)
    }
    fn set_bytes(&mut self, bytes: u64) -> io::Result<()> {
        (self.hook)("set bytes", &self.path)?;
        self.inner.set_bytes(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        (self.hook)("sync", &self.path)?;
        self.inner.sync()
    }
}
