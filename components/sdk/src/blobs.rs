//! The short way to a backend: a medium that keeps named runs of bytes, such as files in a directory, objects in a
//! bucket or rows of a table. Whoever implements [`Blobs`] has implemented [`Persistence`].
//!
//! A session is `<name>.log`, a header line and then one record a line; beside it are `<name>.cut`, what `truncate`
//! dropped, and `<name>.summary`. A call reads the whole log, so sessions of many megabytes want [`Persistence`] itself.
//! There are no leases: only one process may use a medium at a time.

use crate::types::{
    BackendInfo, Batch, Error, Eviction, Listing, Page, SessionHeader, SessionSummary,
};
use crate::{Persistence, Result, listing, log, names};

const LOG: &str = ".log";
const CUT: &str = ".cut";
const SUMMARY: &str = ".summary";

/// Named runs of bytes. Names have lower-case letters, digits, `-`, `_`, `~`, capital `A` to `F` and one dot, and are
/// shorter than 110 bytes. Every function but `configure` fails with [`Error::not_configured`] before `configure`.
pub trait Blobs {
    /// Takes the settings. An unknown or missing one is an [`Error::bad_setting`].
    fn configure(&mut self, settings: &[(String, String)]) -> Result<()>;
    /// What it promises; `lease` is `none`.
    fn info(&self) -> Result<BackendInfo>;
    /// All of a blob; none where there is no such blob.
    fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>>;
    /// Makes a blob, or replaces it: whole or not at all, durable as `info` says.
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()>;
    /// Adds to the end of a blob that is there: all of the bytes or none, durable as `info` says.
    fn append(&mut self, name: &str, bytes: &[u8]) -> Result<()>;
    /// Removes a blob; ok where there is none.
    fn remove(&mut self, name: &str) -> Result<()>;
    /// The names of all blobs, in any order. Other names do no harm.
    fn names(&mut self) -> Result<Vec<String>>;
}

impl<B: Blobs> Persistence for B {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        Blobs::configure(self, settings)?;
        self.info()
    }

    fn acquire(&mut self, _: Option<&str>, _: &str, _: Option<&Eviction>) -> Result<String> {
        self.info().map(|_| "none".to_owned())
    }

    fn renew(&mut self, _: Option<&str>, _: &str) -> Result<()> {
        self.info().map(drop)
    }

    fn release(&mut self, _: Option<&str>, _: &str) -> Result<()> {
        self.info().map(drop)
    }

    fn create(&mut self, header: &SessionHeader, _: &str, first: &Batch) -> Result<()> {
        let name = name_of(&header.id, LOG)?;
        if self.read(&name)?.is_some() {
            return Err(Error::already_exists(&header.id));
        }
        let log = log::begin(header, first, self.info()?.record_bytes_max)?;
        self.write(&name, log.as_bytes())
    }

    fn append(&mut self, id: &str, _: &str, events: &Batch) -> Result<()> {
        let log = stored(self, id)?;
        let next_seq = log::next_seq(id, &log)?;
        events.check(id, next_seq, self.info()?.record_bytes_max)?;
        Blobs::append(self, &name_of(id, LOG)?, events.lines.as_bytes())
    }

    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        log::page(id, &stored(self, id)?, cursor, bytes_max)
    }

    fn truncate(&mut self, id: &str, _: &str, keep_events: u64) -> Result<()> {
        let log = stored(self, id)?;
        let (kept, dropped) = log::split(id, &log, keep_events)?;
        if dropped.is_empty() {
            return Ok(());
        }
        let mut cut = beside(self, id, CUT)?;
        // there already where an earlier try got only so far
        if !cut.ends_with(dropped) {
            cut.extend_from_slice(dropped);
            self.write(&name_of(id, CUT)?, &cut)?;
        }
        self.write(&name_of(id, LOG)?, kept)
    }

    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        let all = self.names()?;
        let mut names: Vec<&str> = all
            .iter()
            .filter_map(|name| name.strip_suffix(LOG))
            .collect();
        names.sort_unstable();
        listing::piece(names, cursor, count_max, |name| {
            // one that cannot be read is listed as damaged, one that went away is not
            let log = self
                .read(&format!("{name}{LOG}"))
                .unwrap_or_else(|_| Some(Vec::new()))?;
            let summary = self.read(&format!("{name}{SUMMARY}")).ok().flatten();
            let summary = SessionSummary::from_json(&summary.unwrap_or_default());
            Some(log::entry(name, &log, summary))
        })
    }

    fn has(&mut self, id: &str) -> Result<bool> {
        Ok(self.read(&name_of(id, LOG)?)?.is_some())
    }

    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        stored(self, id)?;
        log::cut_page(id, &beside(self, id, CUT)?, cursor, bytes_max)
    }

    fn delete(&mut self, id: &str, _: &str) -> Result<()> {
        stored(self, id)?;
        // the log last: until then the session is there
        for suffix in [CUT, SUMMARY, LOG] {
            self.remove(&name_of(id, suffix)?)?;
        }
        Ok(())
    }

    fn update(&mut self, id: &str, change: &SessionSummary) -> Result<()> {
        stored(self, id)?;
        let mut summary = SessionSummary::from_json(&beside(self, id, SUMMARY)?);
        summary.change(change);
        self.write(&name_of(id, SUMMARY)?, summary.to_json().as_bytes())
    }
}

fn name_of(id: &str, suffix: &str) -> Result<String> {
    Ok(names::of_id(id)? + suffix)
}

fn stored<B: Blobs>(blobs: &mut B, id: &str) -> Result<Vec<u8>> {
    let log = blobs.read(&name_of(id, LOG)?)?;
    log.ok_or_else(|| Error::not_found(id))
}

fn beside<B: Blobs>(blobs: &mut B, id: &str, suffix: &str) -> Result<Vec<u8>> {
    Ok(blobs.read(&name_of(id, suffix)?)?.unwrap_or_default())
}
