//! Giving whole content its name in one step, never over what has the name already.
//!
//! A hard link does that. Where the medium has none, the name is made exclusively, as an empty file, and the content is
//! renamed over it. A crash between the two leaves the empty file. In the place of a log it is told from one that lost
//! its content by the file that was to be renamed, `<name>.<16 hex digits>.new`, which is durable before: a log of no
//! bytes with such a file beside it is not stored yet, and whoever creates that session goes on with it.

use std::io::{self, ErrorKind};

use annals_sdk::Result;
use annals_sdk::types::Error;

use crate::fault;
use crate::files::{Kind, Mode};
use crate::litter;
use crate::paths::{self, LEASES};
use crate::place::Place;
use crate::root::Root;

/// An empty file that says that the last name was not given by a hard link, since there are none.
pub(crate) const NO_LINKS: &str = "no-hard-links";

impl Root {
    /// Gives the file `temporary` another name; `AlreadyExists` where something has that.
    pub(crate) fn publish(&self, temporary: &str, name: &str) -> io::Result<()> {
        match self.link(temporary, name)? {
            Linked::Yes => Ok(()),
            Linked::Impossible => {
                self.claim(name)?;
                self.fill(temporary, name)
            }
        }
    }

    /// Gives a new log of session `id` its name, and says which that is; `already-exists` where the session has one.
    pub(crate) fn publish_log(
        &mut self,
        temporary: &str,
        mut place: Place,
        id: &str,
        token: &str,
    ) -> Result<Place> {
        let spare = paths::spare_name(id).map_err(fault::of_empty_id)?;
        let mut content = Content {
            path: temporary.to_owned(),
            is_coming: false,
        };
        loop {
            let published = self.give_name(&mut content, &place, id, token);
            if published != Ok(true) && content.is_coming && self.is_settled(&place) {
                self.discard(&content.path);
            }
            if published? {
                return Ok(place);
            }
            if place.name == spare || !self.is_of_another(&place, id) {
                return Err(Error::already_exists(id).fact("path", place.log()));
            }
            // the filesystem folds case, and the name is that of another id
            place.name.clone_from(&spare);
        }
    }

    // False where the name is taken.
    fn give_name(
        &mut self,
        content: &mut Content,
        place: &Place,
        id: &str,
        token: &str,
    ) -> Result<bool> {
        let log = place.log();
        let failed = |error| fault::of_files("publish", &log, &error);
        match self.link(&content.path, &log) {
            Ok(Linked::Yes) => return Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if !self.is_coming(place)? {
                    return Ok(false);
                }
            }
            Ok(Linked::Impossible) => {
                if self.kind(&log)?.is_some() && !self.is_coming(place)? {
                    return Ok(false);
                }
            }
            Err(error) => return Err(failed(error)),
        }
        let coming = litter::coming(place);
        self.files
            .rename(&self.path(&content.path), &self.path(&coming))
            .map_err(failed)?;
        *content = Content {
            path: coming,
            is_coming: true,
        };
        self.sync_directory(&place.bucket)?;
        match self.claim(&log) {
            Ok(()) => {
                self.fill(&content.path, &log).map_err(failed)?;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.go_on(&content.path, place, id, token)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Which way names are given, for people.
    pub(crate) fn links_note(&self) -> &'static str {
        let is_marked = || self.kind(&marker()) == Ok(Some(Kind::File));
        let has_links = self
            .has_links
            .get()
            .or_else(|| is_marked().then_some(false));
        match has_links {
            Some(false) => {
                "there are no hard links here: a new log is written under a temporary name and renamed over an empty file that was made exclusively; who dies while it takes a lease is waited for"
            }
            Some(true) | None => {
                "a new log is written under a temporary name and published by a hard link"
            }
        }
    }

    fn link(&self, temporary: &str, name: &str) -> io::Result<Linked> {
        let linked = self.files.link(&self.path(temporary), &self.path(name));
        match linked {
            Ok(()) => {
                self.note_links(true);
                Ok(Linked::Yes)
            }
            Err(error) if fault::is_without_links(&error) => {
                self.note_links(false);
                Ok(Linked::Impossible)
            }
            Err(error) => Err(error),
        }
    }

    // Other processes know it from the medium. A note that cannot be written is not worth a failure.
    fn note_links(&self, has_links: bool) {
        if self.has_links.replace(Some(has_links)) == Some(has_links) {
            return;
        }
        let marker = self.path(&marker());
        if has_links {
            if matches!(self.files.kind(&marker), Ok(Some(Kind::File))) {
                let _ = self.files.remove(&marker);
            }
        } else {
            let _ = self.files.open(&marker, Mode::New);
        }
    }

    fn claim(&self, name: &str) -> io::Result<()> {
        self.files.open(&self.path(name), Mode::New).map(drop)
    }

    // The name is that of an empty file of ours.
    fn fill(&self, temporary: &str, name: &str) -> io::Result<()> {
        let filled = self.files.rename(&self.path(temporary), &self.path(name));
        if filled.is_err() {
            self.discard(name);
        }
        filled
    }

    // A creation of this session died before its content had its name. The lease is ours, so whoever it was publishes
    // nothing any more once its file is gone.
    fn go_on(&mut self, coming: &str, place: &Place, id: &str, token: &str) -> Result<bool> {
        self.check_lease(id, token)?;
        let mut is_ours = false;
        for name in self.coming_names(place)? {
            let relative = format!("{}/{name}", place.bucket);
            // where the filesystem folds case, those of another session are in the way as well
            if relative != coming && litter::is_coming(&name, &place.name) {
                self.remove(&relative)?;
                is_ours = true;
            }
        }
        let log = place.log();
        if !is_ours || self.bytes_of(&log)? != Some(0) {
            return Ok(false);
        }
        self.files
            .rename(&self.path(coming), &self.path(&log))
            .map_err(|error| fault::of_files("publish", &log, &error))?;
        Ok(true)
    }

    // Whether the file that was to be renamed is not needed to tell an empty log from a damaged one.
    fn is_settled(&self, place: &Place) -> bool {
        matches!(self.bytes_of(&place.log()), Ok(None | Some(1..)))
            && self.sync_directory(&place.bucket).is_ok()
    }

    /// Whether the log is only coming: empty, and its content is beside it.
    pub(crate) fn is_coming(&self, place: &Place) -> Result<bool> {
        Ok(self.bytes_of(&place.log())? == Some(0) && !self.coming_names(place)?.is_empty())
    }

    // Also those that differ in case.
    pub(crate) fn coming_names(&self, place: &Place) -> Result<Vec<String>> {
        let of = place.name.to_ascii_lowercase();
        let mut names = self.names(&place.bucket)?;
        names.retain(|(name, _)| litter::is_coming(&name.to_ascii_lowercase(), &of));
        Ok(names.into_iter().map(|(name, _)| name).collect())
    }

    // None where there is no file.
    pub(crate) fn bytes_of(&self, relative: &str) -> Result<Option<u64>> {
        if self.kind(relative)? != Some(Kind::File) {
            return Ok(None);
        }
        let bytes = self.open_to_read(relative)?.bytes();
        bytes
            .map(Some)
            .map_err(|error| fault::of_reading(relative, &error))
    }
}

/// A new log before it has its name.
struct Content {
    path: String,
    is_coming: bool,
}

enum Linked {
    Yes,
    Impossible,
}

fn marker() -> String {
    format!("{LEASES}/{NO_LINKS}")
}
