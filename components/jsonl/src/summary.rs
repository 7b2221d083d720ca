//! What may change after creation: a small file beside the log, replaced as a whole.

use annals_sdk::Result;
use annals_sdk::types::{Error, SessionSummary};
use serde_json::{Map, Value};

use crate::fault;
use crate::files::{Kind, Mode};
use crate::lines;
use crate::place::Place;
use crate::root::Root;

/// The longest summary.
pub const SUMMARY_BYTES_MAX: u64 = 64 << 10;

const TITLE: &str = "title";
const FIRST_PROMPT: &str = "firstPrompt";

/// What the file of a summary shows.
pub(crate) enum Stored {
    /// Members as they are, unknown ones included; none where there is no file.
    Members(Map<String, Value>),
    /// Not JSON, no object, too long.
    Unreadable,
}

impl Root {
    /// Changes the summary, never the log.
    pub fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        let place = self.place_of(id)?;
        let mut members = match self.summary(&place)? {
            Stored::Members(members) => members,
            Stored::Unreadable => Map::new(),
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
        let temporary = self.summary_temporary(&place);
        let replaced = self.replace(&temporary, &place, &text);
        if replaced.is_err() {
            self.discard(&temporary);
        }
        // a delete takes temporary files along, and may not have seen a summary that came after it
        if self.kind(&place.log())?.is_none() {
            self.discard(&place.summary());
            return Err(Error::not_found(id));
        }
        replaced
    }

    fn replace(&self, temporary: &str, place: &Place, text: &str) -> Result<()> {
        let mut file = self.open_to_write(temporary, Mode::New)?;
        file.write_all(text.as_bytes())
            .map_err(|error| fault::of_files("write", temporary, &error))?;
        self.sync(file.as_mut(), temporary)?;
        let summary = place.summary();
        self.files
            .rename(&self.path(temporary), &self.path(&summary))
            .map_err(|error| fault::of_files("replace", &summary, &error))?;
        self.sync_directory(&place.bucket)
    }

    /// The summary as stored.
    pub(crate) fn summary(&self, place: &Place) -> Result<Stored> {
        let relative = place.summary();
        match self.kind(&relative)? {
            None => return Ok(Stored::Members(Map::new())),
            Some(Kind::File) => {}
            Some(Kind::Directory | Kind::Other) => return Ok(Stored::Unreadable),
        }
        let mut file = self.open_to_read(&relative)?;
        let mut bytes = Vec::new();
        let bytes_max = lines::usize_of(SUMMARY_BYTES_MAX);
        lines::read_more(file.as_mut(), 0, bytes_max, &mut bytes)
            .map_err(|error| fault::of_reading(&relative, &error))?;
        Ok(match serde_json::from_slice(&bytes) {
            Ok(Value::Object(members)) => Stored::Members(members),
            Ok(_) | Err(_) => Stored::Unreadable,
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
