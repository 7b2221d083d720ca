//! The few file operations that everything else is made of, as a trait: the seam where tests inject faults and watch what
//! a disk holds. Nothing goes past it.
//!
//! A symbolic link is never followed where it can be seen first: whoever may write into the root could otherwise make
//! native code read or write outside it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

/// What stands at a path, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, whatever it leads to.
    Link,
    /// A named pipe, a socket, a device, ...
    Other,
}

impl Kind {
    /// What it is, for people.
    pub fn words(self) -> &'static str {
        match self {
            Kind::File => "a file",
            Kind::Directory => "a directory",
            Kind::Link => "a symbolic link",
            Kind::Other => "a named pipe, a socket or a device",
        }
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To read.
    Read,
    /// To write at the end, wherever that is when the write happens.
    Append,
    /// To write over what is there.
    Overwrite,
    /// To write a file that must not exist yet.
    New,
}

/// The file operations of a medium. Each is one step: what a crash leaves lies between two of them.
pub trait Fs {
    /// What stands at `path`; none when nothing does.
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>>;
    /// Opens a file.
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>>;
    /// Names in a directory, in no order; names that are not Unicode are left out, ours are ASCII.
    fn names(&self, directory: &Path) -> io::Result<Vec<(String, Kind)>>;
    /// Makes a directory, and its parents where they are missing.
    fn make_directory(&self, path: &Path) -> io::Result<()>;
    /// Gives a file a second name; fails when that exists.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file another name, replacing what had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// Lets others go on for a moment.
    fn pause(&self);
}

/// An open file.
pub trait Handle {
    /// Its length in bytes.
    fn bytes(&mut self) -> io::Result<u64>;
    /// Reads from `offset` until `into` is full or the file ends; says how much.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
    /// Writes what it can of the start of `bytes`; says how much.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file.
    fn set_bytes(&mut self, bytes: u64) -> io::Result<()>;
    /// Makes content and length durable. A handle that failed to is of no use any more: what it wrote may be gone, and
    /// its next sync says ok all the same.
    fn sync(&mut self) -> io::Result<()>;

    /// Writes all of `bytes`.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// How long others get to go on.
pub(crate) const PAUSE_MS: u64 = 5;

/// The real medium.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Fs for Disk {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        match fs::symlink_metadata(path) {
            Ok(found) => Ok(Some(kind_of(found.file_type()))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        let mut options = OpenOptions::new();
        match mode {
            Mode::Read => options.read(true),
            Mode::Append => options.append(true),
            Mode::Overwrite => options.write(true),
            Mode::New => options.write(true).create_new(true),
        };
        private_file(&mut options);
        Ok(Box::new(options.open(path)?))
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<(String, Kind)>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                names.push((name, kind_of(entry.file_type()?)));
            }
        }
        Ok(names)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        private_directory(&mut builder);
        builder.create(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn pause(&self) {
        std::thread::sleep(Duration::from_millis(PAUSE_MS));
    }
}

impl Handle for File {
    fn bytes(&mut self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.seek(SeekFrom::Start(offset))?;
        let mut filled = 0;
        while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read(rest) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

    fn set_bytes(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    // the length is part of what data syncing makes durable, times are not: a sync less of metadata
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

fn kind_of(found: fs::FileType) -> Kind {
    if found.is_file() {
        Kind::File
    } else if found.is_dir() {
        Kind::Directory
    } else if found.is_symlink() {
        Kind::Link
    } else {
        Kind::Other
    }
}

#[cfg(unix)]
fn private_file(options: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

// WASI has no modes: the host decides
#[cfg(not(unix))]
fn private_file(_: &mut OpenOptions) {}

#[cfg(unix)]
fn private_directory(builder: &mut DirBuilder) {
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
}

#[cfg(not(unix))]
fn private_directory(_: &mut DirBuilder) {}
