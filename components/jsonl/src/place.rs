//! Finding a session's files: its working directory is not known, so every bucket is looked into.

use annals_core::fault::quoted;
use annals_core::header::Header;
use annals_sdk::Result;
use annals_sdk::types::Error;

use crate::fault;
use crate::files::Kind;
use crate::lines::{self, FirstLine};
use crate::paths;
use crate::root::Root;

/// Where a session's files are: a directory below the root, and what their names begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory.
    pub bucket: String,
    /// The log's name without its suffix.
    pub name: String,
}

impl Place {
    /// The log, relative to the root.
    pub fn log(&self) -> String {
        format!("{}/{}{}", self.bucket, self.name, paths::LOG_SUFFIX)
    }

    /// The summary, relative to the root.
    pub fn summary(&self) -> String {
        format!("{}/{}.summary", self.bucket, self.name)
    }
}

/// A log as it was found.
pub(crate) struct Found {
    pub(crate) place: Place,
    kind: Kind,
    /// Whether its header names the session, and its bucket is that of the header's working directory.
    is_fitting: bool,
}

impl Root {
    /// Where the session is stored; none where it is not. An id that has no name is invalid. A bucket that cannot be
    /// looked into hides no session of another one; of a session that is in none of those, nobody can say that it is
    /// not stored, and it is refused. Of several logs the one is read whose bucket fits its header.
    pub(crate) fn find(&mut self, id: &str) -> Result<Option<Place>> {
        Ok(self.find_with_kind(id)?.map(|(place, _)| place))
    }

    fn find_with_kind(&mut self, id: &str) -> Result<Option<(Place, Kind)>> {
        self.settle_removal(id)?;
        if let Some(place) = self.known_place(id).cloned() {
            if self.kind(&place.log())? == Some(Kind::File) {
                return Ok(Some((place, Kind::File)));
            }
            self.forget(id);
        }
        let mut logs = self.search(id)?;
        let is_sole = logs.len() == 1;
        if logs.is_empty() {
            return Ok(None);
        }
        let Found { place, kind, .. } = logs.swap_remove(0);
        if kind == Kind::File {
            self.remember(id, place.clone(), None);
            self.note_sole(id, is_sole);
        }
        Ok(Some((place, kind)))
    }

    /// [`Root::find`], where it must be stored, in a file.
    pub(crate) fn place_of(&mut self, id: &str) -> Result<Place> {
        let (place, kind) = self
            .find_with_kind(id)?
            .ok_or_else(|| Error::not_found(id))?;
        match kind {
            Kind::File => Ok(place),
            Kind::Directory | Kind::Link | Kind::Other => {
                Err(fault::of_no_file(&place.log(), kind))
            }
        }
    }

    /// [`Root::place_of`], where it is to be written: looked for anew, and refused where there are two.
    pub(crate) fn place_to_write(&mut self, id: &str) -> Result<Place> {
        self.check_sole(id)?;
        self.place_of(id)
    }

    /// Refuses a session of which there are several logs: whatever is done to one of them, another one may be read later.
    /// What cannot be looked for is refused by whoever needs it.
    pub(crate) fn check_sole(&mut self, id: &str) -> Result<()> {
        let logs = self.search(id).unwrap_or_default();
        let Some(first) = logs.first() else {
            return Ok(());
        };
        if logs.len() > 1 {
            self.note_sole(id, false);
            return Err(fault::of_several(id, &logs));
        }
        if first.kind == Kind::File {
            // what is known of its end may be of another one
            if self.known_place(id) != Some(&first.place) {
                self.remember(id, first.place.clone(), None);
            }
            self.note_sole(id, true);
        }
        Ok(())
    }

    /// Every log of the session, the one that is read first.
    pub(crate) fn search(&self, id: &str) -> Result<Vec<Found>> {
        self.search_in(id, self.buckets()?)
    }

    /// The same where it is known which buckets have its names.
    pub(crate) fn search_in(&self, id: &str, buckets: Vec<String>) -> Result<Vec<Found>> {
        let names = [
            paths::encode_id(id).map_err(fault::of_empty_id)?,
            paths::spare_name(id).map_err(fault::of_empty_id)?,
        ];
        let mut unreadable = None;
        let mut logs = Vec::new();
        'buckets: for bucket in buckets {
            for name in &names {
                let place = Place {
                    bucket: bucket.clone(),
                    name: name.clone(),
                };
                match self.kind(&place.log()) {
                    Ok(None) => {}
                    Ok(Some(kind)) => logs.extend(self.log_of(place, kind, id)),
                    Err(error) => {
                        unreadable.get_or_insert(error);
                        continue 'buckets;
                    }
                }
            }
        }
        match unreadable {
            Some(error) if logs.is_empty() => Err(Error {
                message: format!("session {} may be stored: {}", quoted(id), error.message),
                ..error
            }),
            Some(_) | None => {
                // stable, so that those that fit equally stay in the order of their places
                logs.sort_by_key(|log| !log.is_fitting);
                Ok(logs)
            }
        }
    }

    // None where it is another session's.
    fn log_of(&self, place: Place, kind: Kind, id: &str) -> Option<Found> {
        if kind != Kind::File {
            return Some(Found {
                place,
                kind,
                is_fitting: false,
            });
        }
        let header = self.header_of(&place);
        if self.is_anothers(&place, header.as_ref(), id) {
            return None;
        }
        let is_fitting = header.is_some_and(|header| {
            header.id == id && paths::bucket(header.cwd.as_deref()) == place.bucket
        });
        Some(Found {
            place,
            kind,
            is_fitting,
        })
    }

    /// The directories that logs are in, bytewise.
    pub(crate) fn buckets(&self) -> Result<Vec<String>> {
        let mut buckets = self.buckets_with_kinds()?;
        buckets.retain(|(_, kind)| *kind == Kind::Directory);
        Ok(buckets.into_iter().map(|(name, _)| name).collect())
    }

    /// The same with what only has such a name.
    pub(crate) fn buckets_with_kinds(&self) -> Result<Vec<(String, Kind)>> {
        let mut buckets = self.names("")?;
        buckets.retain(|(name, _)| is_bucket(name));
        buckets.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(buckets)
    }

    /// Whether the log at `place`, which is named as a log of `id` would be, is rightly there for another id: where
    /// the filesystem folds case, `abc.jsonl` is found also when it was written as `Abc.jsonl`. A log that names
    /// another id without a right to the name is damaged, and still the one that this id finds. One that is only coming
    /// is nobody's yet.
    pub(crate) fn is_of_another(&self, place: &Place, id: &str) -> bool {
        self.is_anothers(place, self.header_of(place).as_ref(), id)
    }

    fn is_anothers(&self, place: &Place, header: Option<&Header>, id: &str) -> bool {
        match header {
            Some(header) => self.is_rightly_of(place, &header.id, id),
            None => self.is_coming(place).unwrap_or(false),
        }
    }

    fn is_rightly_of(&self, place: &Place, other: &str, id: &str) -> bool {
        if other == id {
            return false;
        }
        [paths::encode_id(other), paths::spare_name(other)]
            .into_iter()
            .flatten()
            .any(|name| {
                let own = Place {
                    bucket: place.bucket.clone(),
                    name,
                };
                own.name.eq_ignore_ascii_case(&place.name)
                    && matches!(self.kind(&own.log()), Ok(Some(Kind::File)))
            })
    }

    pub(crate) fn header_of(&self, place: &Place) -> Option<Header> {
        // opening a FIFO would wait for its other end
        if !matches!(self.kind(&place.log()), Ok(Some(Kind::File))) {
            return None;
        }
        let mut log = self.open_to_read(&place.log()).ok()?;
        match lines::first_line(log.as_mut()).ok()? {
            FirstLine::Whole(line) => Header::parse_line(lines::text_of(&line)?).ok(),
            FirstLine::None | FirstLine::Torn(_) | FirstLine::Longer => None,
        }
    }
}

pub(crate) fn is_bucket(name: &str) -> bool {
    name == paths::NO_CWD || name.starts_with("cwd-")
}
