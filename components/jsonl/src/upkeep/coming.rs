//! Sessions that were being made where there are no hard links, see `publish.rs`: an empty log, and its content beside it.

use annals_core::header::Header;
use annals_sdk::Result;
use annals_sdk::types::{Eviction, EvictionReason};

use super::no_litter;
use crate::lines::{self, FirstLine};
use crate::litter;
use crate::paths;
use crate::place::Place;
use crate::root::Root;

impl Root {
    /// The log that is only coming, of which this file is the content.
    pub(super) fn coming_log(&self, bucket: &str, name: &str) -> Result<Option<Place>> {
        let Some(log) = litter::log_of(name).filter(|log| litter::is_coming(name, log)) else {
            return Ok(None);
        };
        let place = Place {
            bucket: bucket.to_owned(),
            name: log.to_owned(),
        };
        Ok(self.is_coming(&place)?.then_some(place))
    }

    /// The session that a file beside its log belongs to, by that log, by the file itself, or by its name.
    pub(super) fn id_of(&self, bucket: &str, log: &str, name: &str) -> Option<String> {
        let place = Place {
            bucket: bucket.to_owned(),
            name: log.to_owned(),
        };
        let header = self
            .header_of(&place)
            .or_else(|| self.header_in(&format!("{bucket}/{name}")));
        match header {
            Some(header) => Some(header.id),
            None => paths::decode_name(log),
        }
    }

    fn header_in(&self, relative: &str) -> Option<Header> {
        let mut file = self.open_to_read(relative).ok()?;
        match lines::first_line(file.as_mut()).ok()? {
            FirstLine::Whole(line) => Header::parse_line(lines::text_of(&line)?).ok(),
            FirstLine::None | FirstLine::Torn(_) | FirstLine::Longer => None,
        }
    }

    /// Removes a session that is not stored yet, unless somebody makes it just now: under its lease, and its empty log
    /// for good before the file that tells this one from a damaged log.
    pub(super) fn remove_coming(&mut self, log: &Place, token: &str) -> Result<()> {
        let coming = self.coming_names(log)?;
        let mut names = coming.iter();
        let Some(id) = names.find_map(|name| self.id_of(&log.bucket, &log.name, name)) else {
            return Err(no_litter(&log.log()));
        };
        let eviction = Eviction {
            token: token.to_owned(),
            why: EvictionReason::Gone,
        };
        let own = self.acquire(Some(&id), "{}", Some(&eviction))?;
        let removed = self.remove_made(log, &coming);
        let released = self.release(Some(&id), &own);
        removed.and(released)
    }

    fn remove_made(&self, log: &Place, coming: &[String]) -> Result<()> {
        if !self.is_coming(log)? {
            return Ok(());
        }
        self.remove(&log.log())?;
        self.sync_directory(&log.bucket)?;
        for name in coming {
            self.remove(&format!("{}/{name}", log.bucket))?;
        }
        self.sync_directory(&log.bucket)
    }
}
