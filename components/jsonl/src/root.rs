//! The configured root: paths below it, file operations with errors that name them, and what is remembered.
//!
//! Nothing here is needed for correctness: places are looked at again before use, ends are compared with the length.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use annals_sdk::Result;
use annals_sdk::types::Error;

use crate::claim::UNLEASED;
use crate::delete::Removed;
use crate::fault;
use crate::files::{Fs, Handle, Kind, Mode};
use crate::leases::Held;
use crate::listing::Walk;
use crate::place::Place;
use crate::settings::{Settings, Sync};

/// How many sessions are remembered at a time.
const KNOWN_MAX: usize = 4096;

/// A configured root.
pub struct Root {
    pub(crate) files: Rc<dyn Fs>,
    pub(crate) settings: Settings,
    /// Where sessions were seen, by id.
    known: HashMap<String, Known>,
    /// Leases taken here, by their name.
    pub(crate) held: HashMap<String, Held>,
    /// Leases taken here that could not be given back, by their directory: tokens that nobody writes with.
    unused: HashMap<String, Vec<String>>,
    /// Whether a name was given by a hard link, or could not be, the last time.
    pub(crate) has_links: Cell<Option<bool>>,
    /// Directories above the root that hold names which are not durable yet, the root's own one first.
    above: Vec<PathBuf>,
    /// Sessions that were removed, but not for good yet, by their ids.
    pub(crate) removed: HashMap<String, Removed>,
    /// Sessions of whose log nobody knows what the medium has: what failed could not be taken back.
    doubted: HashSet<String>,
    /// Locks of summaries that are ours and could not be given back, by their digits.
    pub(crate) left_locks: HashSet<String>,
    /// Buckets whose names are durable.
    pub(crate) settled: HashSet<String>,
    /// Where the last piece of a listing stopped.
    pub(crate) walk: Option<Walk>,
    /// What pages are read into.
    pub(crate) page_buffer: Vec<u8>,
}

/// What is remembered of a session.
struct Known {
    place: Place,
    end: Option<End>,
    /// Whether there was no second log when it was looked for.
    is_sole: bool,
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
    pub fn new(files: Rc<dyn Fs>, settings: Settings) -> Root {
        Root {
            files,
            settings,
            known: HashMap::new(),
            held: HashMap::new(),
            unused: HashMap::new(),
            has_links: Cell::new(None),
            above: Vec::new(),
            removed: HashMap::new(),
            doubted: HashSet::new(),
            left_locks: HashSet::new(),
            settled: HashSet::new(),
            walk: None,
            page_buffer: Vec::new(),
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

    /// Refuses what is there and no file: a link could lead anywhere, and opening a pipe would wait for its other end.
    pub(crate) fn check_file(&self, relative: &str) -> Result<()> {
        match self.kind(relative)? {
            None | Some(Kind::File) => Ok(()),
            Some(kind @ (Kind::Directory | Kind::Link | Kind::Other)) => {
                Err(fault::of_no_file(relative, kind))
            }
        }
    }

    pub(crate) fn open_to_read(&self, relative: &str) -> Result<Box<dyn Handle>> {
        self.check_file(relative)?;
        self.files
            .open(&self.path(relative), Mode::Read)
            .map_err(|error| fault::of_reading(relative, &error))
    }

    pub(crate) fn open_to_write(&self, relative: &str, mode: Mode) -> Result<Box<dyn Handle>> {
        if mode != Mode::New {
            self.check_file(relative)?;
        }
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
    pub(crate) fn ensure_root(&mut self) -> Result<()> {
        if self.kind("")?.is_none() {
            self.note_above()?;
            self.make_directory("")?;
        }
        self.settle_above()
    }

    // Each new name is durable when the directory that holds it is, up to the first that was there before.
    fn note_above(&mut self) -> Result<()> {
        for directory in self.settings.root.ancestors().skip(1) {
            let is_here = directory == Path::new("");
            let holding = if is_here { Path::new(".") } else { directory };
            if !self.above.iter().any(|noted| noted == holding) {
                self.above.push(holding.to_owned());
            }
            let kind = self.files.kind(holding);
            if kind.map_err(|error| of_above(&error))?.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Makes the names above the root durable that somebody else may have made and not made so.
    pub(crate) fn settle_foreign_above(&self) {
        if self.settings.sync != Sync::Always {
            return;
        }
        for directory in self.settings.root.ancestors().skip(1) {
            // where that is not ours to do, nor was it ours to make
            let _ = self.files.sync_directory(directory);
        }
    }

    /// Makes the names above the root durable that were made here.
    pub(crate) fn settle_above(&mut self) -> Result<()> {
        if self.settings.sync != Sync::Always {
            self.above.clear();
            return Ok(());
        }
        while let Some(directory) = self.above.last() {
            self.files
                .sync_directory(directory)
                .map_err(|error| of_above(&error))?;
            self.above.pop();
        }
        Ok(())
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
        let before = self.known.get(id).filter(|known| known.place == place);
        let is_sole = before.is_some_and(|known| known.is_sole);
        let known = Known {
            place,
            end,
            is_sole,
        };
        self.known.insert(id.to_owned(), known);
    }

    /// Remembers where a listing saw a session, as long as that takes nobody's place.
    pub(crate) fn note_seen(&mut self, id: &str, place: &Place) {
        if self.known.len() < KNOWN_MAX && !self.known.contains_key(id) {
            self.remember(id, place.clone(), None);
        }
    }

    /// Whether there is no second log of the session.
    pub(crate) fn note_sole(&mut self, id: &str, is_sole: bool) {
        if let Some(known) = self.known.get_mut(id) {
            known.is_sole = is_sole;
        }
    }

    /// Where the session is, if no second log was there when it was looked for.
    pub(crate) fn known_sole(&self, id: &str) -> Option<&Place> {
        let known = self.known.get(id).filter(|known| known.is_sole);
        known.map(|known| &known.place)
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

    /// A lease is there, or may be, that nobody writes with.
    pub(crate) fn note_unused(&mut self, directory: &str, token: String) {
        let tokens = self.unused.entry(directory.to_owned()).or_default();
        tokens.push(token);
    }

    pub(crate) fn is_unused(&self, directory: &str, token: &str) -> bool {
        let tokens = self.unused.get(directory);
        tokens.is_some_and(|tokens| tokens.iter().any(|unused| unused == token))
    }

    /// The lease is taken here, and none of its past is of use any more.
    pub(crate) fn forget_unused(&mut self, directory: &str) {
        self.unused.remove(directory);
    }

    /// Nobody knows what the medium has of a session's log, or whether it has its name.
    pub(crate) fn doubt(&mut self, id: &str) {
        self.doubted.insert(id.to_owned());
    }

    /// Whether that is not settled yet.
    pub(crate) fn is_doubted(&self, id: &str) -> bool {
        self.doubted.contains(id)
    }

    /// Before anything is said of a log that is in doubt, a synced copy takes its place: no later sync of the old file
    /// would say the truth. Who may only delete writes nothing.
    pub(crate) fn settle_doubt(&mut self, id: &str, token: &str) -> Result<()> {
        if token == UNLEASED {
            return Err(self.busy(Some(id), "lease-lost", None));
        }
        if self.doubted.contains(id) {
            self.check_lease(id, token)?;
            self.fence(id)?;
            self.doubted.remove(id);
        }
        Ok(())
    }
}

fn of_above(error: &io::Error) -> Error {
    fault::of_files("sync the directories above", "", error)
}
