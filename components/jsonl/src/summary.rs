//! What may change after creation: a small file beside the log, replaced as a whole.

use std::io::ErrorKind;

use annals_core::fault::quoted;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, SessionSummary};
use serde_json::{Map, Value};

use crate::fault;
use crate::files::{Kind, Mode};
use crate::lines;
use crate::litter;
use crate::place::Place;
use crate::root::Root;
use crate::summary_lock::Wait;

/// The longest summary.
pub const SUMMARY_BYTES_MAX: u64 = 64 << 10;

/// How often an update begins again when its lock is broken.
const ATTEMPTS_MAX: usize = 32;

const TITLE: &str = "title";
const FIRST_PROMPT: &str = "firstPrompt";

/// What the file of a summary shows.
pub(crate) enum Stored {
    /// Members as they are, unknown ones included; none where there is no file.
    Members(Map<String, Value>),
    /// No file, too long, no JSON, no object, or a title or prompt that is no text.
    Damaged(Kind),
}

impl Root {
    /// Changes the summary, never the log. A damaged one is kept beside the new one.
    pub fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        let place = self.place_to_write(id)?;
        let mut wait = Wait::below(self.settings.lease_ttl_ms);
        for _ in 0..ATTEMPTS_MAX {
            let own = self.lock_summary(id, &place, &mut wait)?;
            let replaced = self.change(&place, summary, &own);
            self.unlock_summary(&place, own);
            // a delete takes temporary files along, and may not have seen a summary that came after it
            if self.kind(&place.log())?.is_none() {
                self.discard(&place.summary());
                return Err(Error::not_found(id));
            }
            if replaced? {
                return Ok(());
            }
        }
        let message = format!(
            "the summary of session {} is being changed by others; try again",
            quoted(id)
        );
        Err(Error::new(ErrorCode::Busy, "summary-contended", message))
    }

    // False where the lock was lost before anything was changed, or the log.
    fn change(&self, place: &Place, summary: &SessionSummary, own: &str) -> Result<bool> {
        // a delete removes every lock once the log is gone: one that was made later sees that
        if self.kind(&place.log())?.is_none() {
            return Ok(false);
        }
        self.sweep_summary(place)?;
        let (mut members, damaged) = match self.summary(place)? {
            Stored::Members(members) => (members, None),
            Stored::Damaged(kind) => (Map::new(), Some(kind)),
        };
        for (name, value) in [
            (TITLE, &summary.title),
            (FIRST_PROMPT, &summary.first_prompt),
        ] {
            match value.as_deref() {
                None => {}
                Some("") => {
                    members.shift_remove(name);
                }
                Some(text) => {
                    members.insert(name.to_owned(), Value::from(text));
                }
            }
        }
        let text = format!("{}\n", Value::Object(members));
        let length = text.len() as u64;
        if length > SUMMARY_BYTES_MAX {
            return Err(fault::of_limit(
                "summary-bytes-max",
                "a summary",
                length,
                SUMMARY_BYTES_MAX,
            ));
        }
        let temporary = litter::summary_temporary_of(place, own);
        let replaced = self.replace(&temporary, place, &text, damaged, own);
        if replaced != Ok(true) {
            self.discard(&temporary);
        }
        replaced
    }

    fn replace(
        &self,
        temporary: &str,
        place: &Place,
        text: &str,
        damaged: Option<Kind>,
        own: &str,
    ) -> Result<bool> {
        let mut file = self.open_to_write(temporary, Mode::New)?;
        file.write_all(text.as_bytes())
            .map_err(|error| fault::of_files("write", temporary, &error))?;
        self.sync(file.as_mut(), temporary)?;
        if let Some(kind) = damaged {
            self.keep_damaged(place, kind, own)?;
        }
        if !self.has_summary_lock(place, own)? {
            return Ok(false);
        }
        let summary = place.summary();
        let renamed = self
            .files
            .rename(&self.path(temporary), &self.path(&summary));
        match renamed {
            Ok(()) => {}
            // the lock was broken, and the file removed
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(fault::of_files("replace", &summary, &error)),
        }
        self.sync_directory(&place.bucket)?;
        Ok(true)
    }

    // Whoever broke it may have had something to say in it.
    fn keep_damaged(&self, place: &Place, kind: Kind, own: &str) -> Result<()> {
        let (summary, kept) = (place.summary(), litter::damaged_summary(place, own));
        match kind {
            Kind::File => self.copy(&summary, 0, None, &kept)?,
            Kind::Directory | Kind::Link | Kind::Other => self
                .files
                .rename(&self.path(&summary), &self.path(&kept))
                .map_err(|error| fault::of_files("move away", &summary, &error))?,
        }
        self.sync_directory(&place.bucket)
    }

    /// The summary as stored.
    pub(crate) fn summary(&self, place: &Place) -> Result<Stored> {
        let relative = place.summary();
        match self.kind(&relative)? {
            None => return Ok(Stored::Members(Map::new())),
            Some(Kind::File) => {}
            Some(kind @ (Kind::Directory | Kind::Link | Kind::Other)) => {
                return Ok(Stored::Damaged(kind));
            }
        }
        let mut file = match self.files.open(&self.path(&relative), Mode::Read) {
            Ok(file) => file,
            // replaced or deleted meanwhile
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Stored::Members(Map::new()));
            }
            Err(error) => return Err(fault::of_reading(&relative, &error)),
        };
        let mut bytes = Vec::new();
        let bytes_max = lines::usize_of(SUMMARY_BYTES_MAX) + 1;
        let read = lines::read_more(file.as_mut(), 0, bytes_max, &mut bytes)
            .map_err(|error| fault::of_reading(&relative, &error))?;
        let is_text = |value: &Value| value.is_string() || value.is_null();
        Ok(match serde_json::from_slice(&bytes) {
            Ok(Value::Object(members))
                if read < bytes_max
                    && [TITLE, FIRST_PROMPT]
                        .iter()
                        .all(|name| members.get(*name).is_none_or(is_text)) =>
            {
                Stored::Members(members)
            }
            Ok(_) | Err(_) => Stored::Damaged(Kind::File),
        })
    }
}

/// The members that the interface has.
pub(crate) fn summary_out(members: &Map<String, Value>) -> SessionSummary {
    let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
    SessionSummary {
        title: text(TITLE),
        first_prompt: text(FIRST_PROMPT),
    }
}

/// A summary without members.
pub(crate) fn no_summary() -> SessionSummary {
    SessionSummary {
        title: None,
        first_prompt: None,
    }
}
