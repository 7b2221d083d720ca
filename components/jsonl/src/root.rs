//! The configured root: paths below it, file operations with errors that name them, and what is remembered.
//!
//! Nothing here is needed for correctness: places are looked at again before use, ends are compared with the length.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use annals_sdk::Result;

use crate::fault;
use crate::files::{Files, Handle, Kind, Mode};
use crate::leases::Held;
use crate::listing::Walk;
use crate::place::Place;
use crate::settings::{Settings, Sync};

/// How many sessions are remembered at a time.
const KNOWN_MAX: usize = 4096;

/// A configured root.
pub struct Root {
    pub(crate) files: Rc<dyn Files>,
    pub(crate) settings: Settings,
    /// Where sessions were seen, by id.
    known: HashMap<String, Known>,
    /// Leases taken here, by their name.
    pub(crate) held: HashMap<String, Held>,
    /// Buckets whose names are durable.
    pub(crate) settled: HashSet<String>,
    /// Where the last piece of a listing stopped.
    pub(crate) walk: Option<Walk>,
}

/// What is remembered of a session.
struct Known {
    place: Place,
    end: Option<End>,
}

/// The end of a log as this process left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The log's length.
    pub bytes: u64,
    /// The seq that the next batch begins with.
    pub next_seq: u64,
}

impl Root {
    /// Nothing is looked at yet.
    pub fn new(files: Rc<dyn Files>, settings: Settings) -> Root {
        Root {
            files,
            settings,
            known: HashMap::new(),
            held: HashMap::new(),
            settled: HashSet::new(),
            walk: None,
        }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        // joining "" would add a slash, which follows links
        if relative.is_empty() {
            return self.settings.root.clone();
        }
        self.settings.root.join(relative)
    }

    pub(crate) fn kind(&self, relative: &str) -> Result<Option<Kind>> {
        self.files
            .kind(&self.path(relative))
            .map_err(|error| fault::of_reading(relative, &error))
    }

    /// Names in a directory below the root; none where it is missing.
    pub(crate) fn names(&self, relative: &str) -> Result<Vec<(String, Kind)>> {
        match self.files.names(&self.path(relative)) {
            Ok(names) => Ok(names),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(fault::of_reading(relative, &error)),
        }
    }

    pub(crate) fn open_to_read(&self, relative: &str) -> Result<Box<dyn Handle>> {
        self.files
            .open(&self.path(relative), Mode::Read)
            .map_err(|error| fault::of_reading(relative, &error))
    }

    pub(crate) fn open_to_write(&self, relative: &str, mode: Mode) -> Result<Box<dyn Handle>> {
        self.files
            .open(&self.path(relative), mode)
            .map_err(|error| fault::of_files("write", relative, &error))
    }

    pub(crate) fn remove(&self, relative: &str) -> Result<()> {
        match self.files.remove(&self.path(relative)) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(fault::of_files("remove", relative, &error)),
        }
    }

    /// Removes a temporary file; one that stays is only litter.
    pub(crate) fn discard(&self, relative: &str) {
        let _ = self.files.remove(&self.path(relative));
    }

    /// Makes content durable, where that is asked for.
    pub(crate) fn sync(&self, handle: &mut dyn Handle, relative: &str) -> Result<()> {
        match self.settings.sync {
            Sync::Always => handle
                .sync()
                .map_err(|error| fault::of_files("sync", relative, &error)),
            Sync::Flush | Sync::Never => Ok(()),
        }
    }

    /// Makes names durable, where that is asked for. The root itself is "".
    pub(crate) fn sync_directory(&self, relative: &str) -> Result<()> {
        match self.settings.sync {
            Sync::Always => self
                .files
                .sync_directory(&self.path(relative))
                .map_err(|error| fault::of_files("sync directory", relative, &error)),
            Sync::Flush | Sync::Never => Ok(()),
        }
    }

    /// Makes the root where it is missing, with the directories above it that are missing too.
    pub(crate) fn ensure_root(&self) -> Result<()> {
        if self.kind("")?.is_some() {
            return Ok(());
        }
        // each new name is durable when the directory that holds it is, up to the first that was there before
        let mut above: Vec<&Path> = Vec::new();
        for directory in self.settings.root.ancestors().skip(1) {
            let is_here = directory == Path::new("");
            above.push(if is_here { Path::new(".") } else { directory });
            if is_here || !matches!(self.files.kind(directory), Ok(None)) {
                break;
            }
        }
        self.make_directory("")?;
        match self.settings.sync {
            Sync::Always => above.into_iter().try_for_each(|directory| {
                self.files.sync_directory(directory).map_err(|error| {
                    let above = "the directories above";
                    fault::of_files(&format!("sync {above}"), "", &error)
                })
            }),
            Sync::Flush | Sync::Never => Ok(()),
        }
    }

    pub(crate) fn make_directory(&self, relative: &str) -> Result<()> {
        self.files
            .make_directory(&self.path(relative))
            .map_err(|error| fault::of_files("make directory", relative, &error))
    }

    pub(crate) fn known_place(&self, id: &str) -> Option<&Place> {
        self.known.get(id).map(|known| &known.place)
    }

    pub(crate) fn known_end(&self, id: &str) -> Option<End> {
        self.known.get(id).and_then(|known| known.end)
    }

    /// Remembers where a session is, and its end where that is known for sure.
    pub(crate) fn remember(&mut self, id: &str, place: Place, end: Option<End>) {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(id.to_owned(), Known { place, end });
    }

    /// Forgets the end of a log, so that the next append looks at the medium.
    pub(crate) fn forget_end(&mut self, id: &str) {
        if let Some(known) = self.known.get_mut(id) {
            known.end = None;
        }
    }

    pub(crate) fn forget(&mut self, id: &str) {
        self.known.remove(id);
    }

    /// A file name that nobody else makes, for content that gets its real name when it is whole.
    pub(crate) fn temporary(&self, place: &Place) -> String {
        format!(
            "{}/{}.{:016x}.tmp",
            place.bucket,
            place.name,
            RandomState::new().hash_one(0u8)
        )
    }
}
