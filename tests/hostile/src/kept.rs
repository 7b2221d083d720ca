//! The honest part: one file a session, a header line and the events as they came.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use annals_core::header::Header;
use annals_core::record::{RECORD_BYTES_MAX, read_record};
use annals_sdk::Result;
use annals_sdk::types::{
    BackendInfo, Batch, Durability, Error, ErrorCode, LeaseScope, Listing, Page, SessionEntry,
    SessionHeader, SessionStatus, SessionSummary,
};

/// Sessions in one directory.
#[derive(Default)]
pub struct Kept {
    root: PathBuf,
}

pub fn info() -> BackendInfo {
    BackendInfo {
        name: "hostile".to_owned(),
        version: "1".to_owned(),
        durability: Durability::Power,
        wants_packed: false,
        lease: LeaseScope::Session,
        record_bytes_max: RECORD_BYTES_MAX,
        notes: Vec::new(),
    }
}

pub fn page(header: Option<SessionHeader>, lines: String, next: Option<u64>) -> Page {
    Page {
        header,
        at_byte: None,
        lines,
        raw: None,
        next,
    }
}

impl Kept {
    pub fn new(root: &str) -> Self {
        Self { root: root.into() }
    }

    /// Whether whoever watches wants the attack now.
    pub fn is_armed(&self) -> bool {
        self.path("armed").exists()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// For whoever watches: which lease was renewed while this was armed, and when.
    pub fn note_renewal(&self, id: &str) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let path = self.path("renewals");
        let file = OpenOptions::new().create(true).append(true).open(path);
        writeln!(file.unwrap(), "{id} {}", at.as_millis()).unwrap();
    }

    fn log(&self, id: &str) -> PathBuf {
        let name: String = id.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.path(&format!("{name}.log"))
    }

    fn read(&self, id: &str) -> Result<String> {
        match fs::read_to_string(self.log(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::not_found(id)),
            read => read.map_err(failed),
        }
    }

    pub fn has(&self, id: &str) -> bool {
        self.log(id).exists()
    }

    pub fn create(&self, header: &SessionHeader, first: &Batch) -> Result<()> {
        let log = self.log(&header.id);
        if log.exists() {
            return Err(Error::already_exists(&header.id));
        }
        let line = Header::from(header.clone()).line();
        let whole = format!("{line}\n{}", first.lines);
        let temporary = log.with_extension("new");
        fs::write(&temporary, whole).map_err(failed)?;
        fs::rename(&temporary, &log).map_err(failed)
    }

    pub fn append(&self, id: &str, events: &Batch) -> Result<()> {
        let next_seq = count(&self.read(id)?);
        if events.first_seq != next_seq {
            return Err(Error::seq_conflict(id, next_seq, events.first_seq));
        }
        let opened = OpenOptions::new().append(true).open(self.log(id));
        let mut log: File = opened.map_err(failed)?;
        log.write_all(events.lines.as_bytes()).map_err(failed)?;
        log.sync_data().map_err(failed)
    }

    pub fn load(&self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let whole = self.read(id)?;
        let (header, lines) = whole.split_once('\n').unwrap_or((&whole, ""));
        let rest = usize::try_from(cursor)
            .ok()
            .and_then(|start| lines.get(start..))
            .unwrap_or_default();
        let mut length = 0;
        for line in rest.split_inclusive('\n') {
            if length > 0 && length + line.len() > bytes_max as usize {
                break;
            }
            length += line.len();
        }
        let header = match cursor {
            0 => Some(Header::parse_line(header)?.into()),
            _ => None,
        };
        let next = (length < rest.len()).then_some(cursor + length as u64);
        Ok(page(header, rest[..length].to_owned(), next))
    }

    pub fn truncate(&self, id: &str, keep_events: u64) -> Result<()> {
        let whole = self.read(id)?;
        let keep = usize::try_from(keep_events).unwrap_or(usize::MAX);
        let kept: String = whole
            .split_inclusive('\n')
            .take(keep.saturating_add(1))
            .collect();
        fs::write(self.log(id), kept).map_err(failed)
    }

    pub fn list(&self) -> Result<Listing> {
        let mut sessions = Vec::new();
        for entry in fs::read_dir(&self.root).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "log") {
                let whole = fs::read_to_string(&path).map_err(failed)?;
                let header = Header::parse_line(whole.lines().next().unwrap_or_default())?;
                sessions.push(entry_of(&header.id.clone(), Some(header.into())));
            }
        }
        sessions.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(Listing {
            sessions,
            next: None,
        })
    }

    pub fn delete(&self, id: &str) -> Result<()> {
        match fs::remove_file(self.log(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::not_found(id)),
            removed => removed.map_err(failed),
        }
    }
}

pub fn entry_of(id: &str, header: Option<SessionHeader>) -> SessionEntry {
    SessionEntry {
        id: id.to_owned(),
        header,
        summary: SessionSummary {
            title: None,
            first_prompt: None,
        },
        updated_at_ms: None,
        status: SessionStatus::Ok,
        note: None,
    }
}

/// How many events a log has; one without packed rows.
fn count(whole: &str) -> u64 {
    let lines = whole.lines().skip(1);
    lines
        .filter_map(|line| read_record(line).ok())
        .map(|record| record.count)
        .sum()
}

fn failed(error: io::Error) -> Error {
    Error::new(ErrorCode::Other, "io-failed", error.to_string())
}
