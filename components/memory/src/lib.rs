//! The reference backend: sessions in memory, and the whole contract of interface `persistence` in one sitting.
//!
//! Absent: I/O, and everything that only a medium needs. A log is one string of JSON Lines, so nothing here can be
//! torn, and a page carries `raw` only for what `truncate` saved.

mod leases;

use std::collections::BTreeMap;

use annals_core::fault::quoted;
use annals_core::record::read_record;
use annals_sdk::types::{
    BackendInfo, Batch, Durability, Error, ErrorCode, Eviction, LeaseScope, Listing, Page,
    SessionEntry, SessionHeader, SessionStatus, SessionSummary,
};
use annals_sdk::{Persistence, Result};

use leases::Leases;

annals_sdk::export!(Memory);

/// A cursor is an epoch above these bits and a byte offset below them, so that one from before a `truncate` or a
/// `delete` is recognised.
const OFFSET_BITS: u32 = 40;

/// The longest record that can be stored, in bytes, its newline included.
pub const RECORD_BYTES_MAX: u64 = annals_core::record::RECORD_BYTES_MAX;

/// Sessions in memory, gone with the process.
#[derive(Default)]
pub struct Memory {
    is_configured: bool,
    sessions: BTreeMap<String, Stored>,
    leases: Leases,
    last_epoch: u64,
}

struct Stored {
    header: SessionHeader,
    summary: SessionSummary,
    lines: String,
    next_seq: u64,
    last_time_ms: u64,
    /// What `truncate` dropped, oldest first.
    cut: Vec<u8>,
    /// Another one whenever the log shrinks.
    epoch: u64,
}

impl Memory {
    fn ready(&self) -> Result<()> {
        if self.is_configured {
            Ok(())
        } else {
            Err(Error::not_configured())
        }
    }

    fn stored(&mut self, id: &str) -> Result<&mut Stored> {
        self.ready()?;
        self.sessions
            .get_mut(id)
            .ok_or_else(|| Error::not_found(id))
    }

    /// The session, for the holder of its lease.
    fn writable(&mut self, id: &str, token: &str) -> Result<&mut Stored> {
        self.ready()?;
        self.leases.check(id, token)?;
        self.stored(id)
    }

    fn next_epoch(&mut self) -> u64 {
        self.last_epoch += 1;
        self.last_epoch
    }
}

impl Persistence for Memory {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        let mut wants_packed = false;
        for (name, value) in settings {
            match (name.as_str(), value.as_str()) {
                ("pack-chunks", "true") => wants_packed = true,
                ("pack-chunks", "false") => wants_packed = false,
                ("pack-chunks", _) => return Err(bad_setting(name, "it is true or false")),
                _ => return Err(bad_setting(name, "the only one known is \"pack-chunks\"")),
            }
        }
        self.is_configured = true;
        Ok(BackendInfo {
            name: "memory".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            durability: Durability::None,
            wants_packed,
            lease: LeaseScope::Session,
            record_bytes_max: RECORD_BYTES_MAX,
            notes: Vec::new(),
        })
    }

    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        self.ready()?;
        self.leases.acquire(id, holder, evict)
    }

    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.ready()?;
        self.leases.renew(id, token)
    }

    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.ready()?;
        self.leases.release(id, token);
        Ok(())
    }

    fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        self.ready()?;
        self.leases.check(&header.id, token)?;
        if self.sessions.contains_key(&header.id) {
            return Err(Error::already_exists(&header.id));
        }
        if first.first_seq != 0 {
            return Err(Error::seq_conflict(&header.id, 0, first.first_seq));
        }
        check_lines(&header.id, &first.lines, RECORD_BYTES_MAX)?;
        let stored = Stored {
            header: header.clone(),
            summary: SessionSummary {
                title: None,
                first_prompt: None,
            },
            lines: first.lines.clone(),
            next_seq: first.count,
            last_time_ms: first.last_time_ms,
            cut: Vec::new(),
            epoch: self.next_epoch(),
        };
        self.sessions.insert(header.id.clone(), stored);
        Ok(())
    }

    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        let stored = self.writable(id, token)?;
        if events.first_seq != stored.next_seq {
            return Err(Error::seq_conflict(id, stored.next_seq, events.first_seq));
        }
        check_lines(id, &events.lines, RECORD_BYTES_MAX)?;
        if events.count > 0 {
            stored.lines.push_str(&events.lines);
            stored.next_seq += events.count;
            stored.last_time_ms = events.last_time_ms;
        }
        Ok(())
    }

    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let stored = self.stored(id)?;
        let start = stored.offset(cursor).ok_or_else(bad_cursor)?;
        let end = stored.record_border(start, bytes_max);
        let is_last = end == stored.lines.len();
        Ok(Page {
            header: (cursor == 0).then(|| stored.header.clone()),
            at_byte: None,
            lines: stored.lines.get(start..end).unwrap_or_default().to_owned(),
            raw: None,
            next: (!is_last).then_some(stored.epoch << OFFSET_BITS | end as u64),
        })
    }

    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        let epoch = self.next_epoch();
        let stored = self.writable(id, token)?;
        let (mut events, mut bytes, mut last_time_ms) = (0, 0, 0);
        for line in stored.lines.split_inclusive('\n') {
            if events >= keep_events {
                break;
            }
            // nothing behind a line that cannot be read can be kept
            let Ok(record) = read_record(line.trim_end_matches('\n')) else {
                break;
            };
            events += record.count;
            bytes += line.len();
            last_time_ms = record.last_time_ms;
        }
        if events != keep_events {
            let message = format!(
                "session {} has no record that ends at {keep_events} events",
                quoted(id)
            );
            let error = Error::new(ErrorCode::Invalid, "truncate-not-a-border", message);
            return Err(error.fact("id", id).fact("events", events));
        }
        let dropped = stored.lines.get(bytes..).unwrap_or_default();
        if !dropped.is_empty() {
            stored.cut.extend_from_slice(dropped.as_bytes());
            stored.lines.truncate(bytes);
            (stored.next_seq, stored.last_time_ms) = (events, last_time_ms);
            stored.epoch = epoch;
        }
        Ok(())
    }

    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        self.ready()?;
        let after = match cursor {
            Some(cursor) => cursor.strip_prefix("after:").ok_or_else(bad_cursor)?,
            None => "",
        };
        // no id is empty, so all of them come after it
        let mut rest = self.sessions.iter().filter(|(id, _)| id.as_str() > after);
        let page = rest.by_ref().take(count_max.max(1) as usize);
        let sessions: Vec<_> = page.map(|(_, stored)| stored.entry()).collect();
        let last = sessions.last().map(|entry| format!("after:{}", entry.id));
        Ok(Listing {
            next: last.filter(|_| rest.next().is_some()),
            sessions,
        })
    }

    fn has(&mut self, id: &str) -> Result<bool> {
        self.ready()?;
        Ok(self.sessions.contains_key(id))
    }

    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let cut = &self.stored(id)?.cut;
        let rest = usize::try_from(cursor)
            .ok()
            .and_then(|start| cut.get(start..));
        let rest = rest.ok_or_else(bad_cursor)?;
        let raw = rest.get(..bytes_max.max(1) as usize).unwrap_or(rest);
        Ok(Page {
            header: None,
            at_byte: None,
            lines: String::new(),
            raw: (!raw.is_empty()).then(|| raw.to_vec()),
            next: (raw.len() < rest.len()).then_some(cursor + raw.len() as u64),
        })
    }

    fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        self.writable(id, token)?;
        self.sessions.remove(id);
        self.leases.remove(id);
        Ok(())
    }

    fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        let old = &mut self.stored(id)?.summary;
        let fields = [
            (&mut old.title, &summary.title),
            (&mut old.first_prompt, &summary.first_prompt),
        ];
        for (old, new) in fields {
            if let Some(text) = new {
                *old = (!text.is_empty()).then(|| text.clone());
            }
        }
        Ok(())
    }
}

impl Stored {
    fn entry(&self) -> SessionEntry {
        SessionEntry {
            id: self.header.id.clone(),
            header: Some(self.header.clone()),
            summary: self.summary.clone(),
            updated_at_ms: (self.next_seq > 0).then_some(self.last_time_ms),
            status: SessionStatus::Ok,
            note: None,
        }
    }

    /// The byte that a cursor stands for, if it is one of this log as it is now.
    fn offset(&self, cursor: u64) -> Option<usize> {
        if cursor == 0 {
            return Some(0);
        }
        let offset = usize::try_from(cursor & ((1 << OFFSET_BITS) - 1)).ok()?;
        let before = self.lines.as_bytes().get(offset.checked_sub(1)?)?;
        (cursor >> OFFSET_BITS == self.epoch && *before == b'\n').then_some(offset)
    }

    /// Where a page that begins at `start` ends: after whole records only, and after one at least.
    fn record_border(&self, start: usize, bytes_max: u32) -> usize {
        let rest = self.lines.as_bytes().get(start..).unwrap_or_default();
        let within = rest.get(..bytes_max as usize).unwrap_or(rest);
        let last = within.iter().rposition(|byte| *byte == b'\n');
        let border = last.or_else(|| rest.iter().position(|byte| *byte == b'\n'));
        border.map_or(self.lines.len(), |border| start + border + 1)
    }
}

/// Whole lines, none longer than `bytes_max`.
fn check_lines(id: &str, lines: &str, bytes_max: u64) -> Result<()> {
    if !lines.is_empty() && !lines.ends_with('\n') {
        let message = format!(
            "the batch for session {} does not end in a newline",
            quoted(id)
        );
        return Err(Error::new(ErrorCode::Invalid, "batch-invalid", message));
    }
    let longest = lines.split_inclusive('\n').map(str::len).max().unwrap_or(0) as u64;
    if longest > bytes_max {
        let message = format!(
            "a record for session {} has {longest} bytes, at most {bytes_max} are possible; split the event",
            quoted(id)
        );
        return Err(Error::new(ErrorCode::Limit, "limit-reached", message)
            .fact("limit", "record-bytes-max")
            .fact("max", bytes_max)
            .fact("actual", longest));
    }
    Ok(())
}

fn bad_setting(name: &str, cure: &str) -> Error {
    let name_shown = quoted(name);
    let message = format!("the memory backend does not take setting {name_shown} so: {cure}");
    Error::new(ErrorCode::Invalid, "setting-invalid", message).fact("setting", name)
}

fn bad_cursor() -> Error {
    let message = "no page or listing gave this cursor, or the log shrank since; begin again";
    Error::new(ErrorCode::Invalid, "cursor-invalid", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_limit() {
        assert!(check_lines("s", "123\n12\n", 4).is_ok());
        let error = check_lines("s", "12\n123\n", 3).unwrap_err();
        assert_eq!(error.code, ErrorCode::Limit);
        assert!(error.detail.contains("\"actual\":4"), "{}", error.detail);
    }
}
