//! Finding a session's files: its working directory is not known, so every bucket is looked into.

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

impl Root {
    /// Where the session is stored; none where it is not. An id that has no name is invalid. A bucket that cannot be
    /// looked into hides no session of another one; of a session that is in none of those, nobody can say that it is
    /// not stored, and it is refused.
    pub(crate) fn find(&mut self, id: &str) -> Result<Option<Place>> {
        let names = [
            paths::encode_id(id).map_err(fault::of_empty_id)?,
            paths::spare_name(id).map_err(fault::of_empty_id)?,
        ];
        self.settle_removal(id)?;
        if let Some(place) = self.known_place(id).cloned() {
            if self.kind(&place.log())? == Some(Kind::File) {
                return Ok(Some(place));
            }
            self.forget(id);
        }
        let mut unreadable = None;
        'buckets: for bucket in self.buckets()? {
            for name in &names {
                let place = Place {
                    bucket: bucket.clone(),
                    name: name.clone(),
                };
                let kind = match self.kind(&place.log()) {
                    Ok(kind) => kind,
                    Err(error) => {
                        unreadable.get_or_insert(error);
                        continue 'buckets;
                    }
                };
                if kind == Some(Kind::File) && !self.is_of_another(&place, id) {
                    self.remember(id, place.clone(), None);
                    return Ok(Some(place));
                }
            }
        }
        match unreadable {
            None => Ok(None),
            Some(error) => Err(Error {
                message: format!("session {id:?} may be stored: {}", error.message),
                ..error
            }),
        }
    }

    /// [`Root::find`], where it must be stored.
    pub(crate) fn place_of(&mut self, id: &str) -> Result<Place> {
        self.find(id)?.ok_or_else(|| Error::not_found(id))
    }

    /// The directories that logs are in, bytewise.
    pub(crate) fn buckets(&self) -> Result<Vec<String>> {
        let mut buckets: Vec<String> = self
            .names("")?
            .into_iter()
            .filter(|(name, kind)| *kind == Kind::Directory && is_bucket(name))
            .map(|(name, _)| name)
            .collect();
        buckets.sort_unstable();
        Ok(buckets)
    }

    /// Whether the log at `place`, which is named as a log of `id` would be, is rightly there for another id: where
    /// the filesystem folds case, `abc.jsonl` is found also when it was written as `Abc.jsonl`. A log that names
    /// another id without a right to the name is damaged, and still the one that this id finds. One that is only coming
    /// is nobody's yet.
    pub(crate) fn is_of_another(&self, place: &Place, id: &str) -> bool {
        match self.header_of(place) {
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
