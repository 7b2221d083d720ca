//! A backend with one fault, over one that keeps the contract.

mod leases;
mod reading;
mod writing;

use annals_sdk::types::{
    BackendInfo, Batch, Error, ErrorCode, Eviction, Listing, Page, SessionHeader, SessionSummary,
};
use annals_sdk::{Persistence, Result};
use serde_json::Value;

use crate::rewritten;

/// The backend, its fault by name, and what it remembers for that.
pub struct Faulty {
    inner: Box<dyn Persistence>,
    fault: &'static str,
    seen: Seen,
}

#[derive(Default)]
struct Seen {
    is_configured: bool,
    /// The last token that was given.
    token: String,
    holders: u64,
    summary: Option<SessionSummary>,
    /// A write that only the next call brings to the medium.
    pending: Option<(String, String, Batch)>,
    /// What was cut, the newest first.
    cuts: Vec<Vec<u8>>,
    pages: u64,
}

/// The longest record of a wrapper that has a short one.
const SHORT_RECORD: u64 = 4096;

fn detail(error: &Error, name: &str) -> Value {
    let facts: Value = serde_json::from_str(&error.detail).unwrap();
    facts[name].clone()
}

fn error(code: ErrorCode) -> Error {
    Error::new(code, "made-by-a-fault", "refused by a fault")
}

fn first_events(events: &Batch, count: u64) -> Batch {
    let lines = events.lines.split_inclusive('\n');
    Batch {
        count,
        lines: lines.take(count as usize).collect(),
        ..events.clone()
    }
}

fn at_seq(events: &Batch, first_seq: u64) -> Batch {
    Batch {
        first_seq,
        ..events.clone()
    }
}

fn empty_page() -> Page {
    Page {
        header: None,
        at_byte: None,
        lines: String::new(),
        raw: None,
        next: None,
    }
}

impl Faulty {
    pub fn new(inner: Box<dyn Persistence>, fault: &'static str) -> Self {
        let seen = Seen::default();
        Self { inner, fault, seen }
    }

    fn settle(&mut self) {
        if let Some((id, token, events)) = self.seen.pending.take() {
            self.inner.append(&id, &token, &events).unwrap();
        }
    }

    fn id(&self, id: &str) -> String {
        match self.fault {
            "folds case in ids" => id.to_lowercase(),
            "cuts long ids" => id.chars().take(100).collect(),
            "takes ids for paths" => id.trim_end_matches('/').to_owned(),
            "names the empty id" if id.is_empty() => "empty".to_owned(),
            _ => id.to_owned(),
        }
    }

    fn token(&self, token: &str) -> String {
        match self.fault {
            "ignores tokens" | "gives one token to all" => self.seen.token.clone(),
            _ => token.to_owned(),
        }
    }

    fn batch(&self, events: &Batch) -> Batch {
        match self.fault {
            "counts lines instead of events" => Batch {
                count: events.lines.lines().count() as u64,
                ..events.clone()
            },
            fault => Batch {
                lines: rewritten::lines(fault, &events.lines),
                ..events.clone()
            },
        }
    }
}

impl Persistence for Faulty {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        let known = |(name, _): &&(String, String)| name == "root" || name == "pack-chunks";
        let settings: Vec<_> = match self.fault {
            "takes unknown settings" => settings.iter().filter(known).cloned().collect(),
            _ => settings.to_vec(),
        };
        if self.fault == "blames the medium for a missing setting" && settings.is_empty() {
            return Err(error(ErrorCode::Other));
        }
        let mut info = self.inner.configure(&settings)?;
        match self.fault {
            "changes its promises" if self.seen.is_configured => info.notes.push("x".to_owned()),
            "has no name" => info.name.clear(),
            "knows no limit" | "stores what fits" => info.record_bytes_max = SHORT_RECORD,
            _ => {}
        }
        self.seen.is_configured = true;
        Ok(info)
    }

    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        self.settle();
        let id = id.map(|id| self.id(id));
        self.acquired(id.as_deref(), holder, evict)
    }

    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        let token = self.token(token);
        self.renewed(id, &token)
    }

    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        let token = self.token(token);
        self.released(id, &token)
    }

    fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        self.settle();
        let mut header = header.clone();
        header.id = self.id(&header.id);
        let token = self.token(token);
        self.created(header, &token, &self.batch(first))
    }

    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        self.settle();
        let (id, token) = (self.id(id), self.token(token));
        self.appended(&id, &token, self.batch(events))
    }

    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.settle();
        let id = self.id(id);
        self.loaded(&id, cursor, bytes_max)
    }

    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        self.settle();
        let (id, token) = (self.id(id), self.token(token));
        self.truncated(&id, &token, keep_events)
    }

    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        self.settle();
        self.listed(cursor, count_max)
    }

    fn has(&mut self, id: &str) -> Result<bool> {
        self.settle();
        let id = self.id(id);
        self.is_stored(&id)
    }

    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let id = self.id(id);
        self.cut_loaded(&id, cursor, bytes_max)
    }

    fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        self.settle();
        let (id, token) = (self.id(id), self.token(token));
        self.deleted(&id, &token)
    }

    fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        self.settle();
        let id = self.id(id);
        self.updated(&id, summary.clone())
    }
}
