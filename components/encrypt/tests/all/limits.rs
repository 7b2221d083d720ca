//! Sealed records are longer than what they hold, and the backend's limit is for the sealed ones.

use annals_encrypt::Encrypt;
use annals_memory::Memory;
use annals_sdk::types::{
    BackendInfo, Batch, ErrorCode, Eviction, Listing, Page, SessionHeader, SessionSummary,
};
use annals_sdk::{Persistence, Result};

use crate::support::{acquire, header, refused, surroundings};

/// Memory that takes records of so many bytes and counts the longest one.
struct Small {
    memory: Memory,
    record_bytes_max: u64,
    longest: u64,
}

impl Small {
    fn note(&mut self, batch: &Batch) {
        let longest = batch.lines.split_inclusive('\n').map(str::len).max();
        self.longest = self.longest.max(longest.unwrap_or(0) as u64);
        assert!(self.longest <= self.record_bytes_max, "{}", self.longest);
    }
}

impl Persistence for Small {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        let info = self.memory.configure(settings)?;
        Ok(BackendInfo {
            record_bytes_max: self.record_bytes_max,
            ..info
        })
    }
    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        self.memory.acquire(id, holder, evict)
    }
    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.memory.renew(id, token)
    }
    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.memory.release(id, token)
    }
    fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        self.note(first);
        self.memory.create(header, token, first)
    }
    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        self.note(events);
        self.memory.append(id, token, events)
    }
    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.memory.load(id, cursor, bytes_max)
    }
    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        self.memory.truncate(id, token, keep_events)
    }
    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        self.memory.list(cursor, count_max)
    }
    fn has(&mut self, id: &str) -> Result<bool> {
        self.memory.has(id)
    }
    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.memory.load_cut(id, cursor, bytes_max)
    }
    fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        self.memory.delete(id, token)
    }
    fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        self.memory.update(id, summary)
    }
}

/// An event of exactly so many bytes, its newline included.
fn event_of(bytes: u64, seq: u64) -> Batch {
    let frame = format!("{{\"type\":\"x\",\"seq\":{seq},\"time\":1,\"data\":\"\"}}\n").len() as u64;
    let text = "x".repeat((bytes - frame) as usize);
    Batch {
        first_seq: seq,
        count: 1,
        last_time_ms: 1,
        lines: format!("{{\"type\":\"x\",\"seq\":{seq},\"time\":1,\"data\":\"{text}\"}}\n"),
    }
}

#[test]
fn the_longest_record_is_what_fits_sealed() {
    for record_bytes_max in [400, 401, 402, 403, 1 << 16] {
        let small = Small {
            memory: Memory::default(),
            record_bytes_max,
            longest: 0,
        };
        let mut backend = Encrypt::over(small, surroundings());
        let info = backend.configure(&[]).unwrap();
        let max = info.record_bytes_max;
        let token = acquire(&mut backend, "a");
        backend
            .create(&header("a"), &token, &event_of(max, 0))
            .unwrap();
        let last = 9_007_199_254_740_991;
        let lines = format!("{{\"type\":\"x\",\"seq\":{last},\"time\":{last},\"data\":\"\"}}\n");
        let pad = "x".repeat(max as usize - lines.len());
        let lines = lines.replace("\"\"", &format!("\"{pad}\""));
        let at_the_end = Batch {
            first_seq: last,
            count: 1,
            last_time_ms: last,
            lines,
        };
        // where the log really is, is the backend's to check
        let _ = backend.append("a", &token, &at_the_end);
        let error = refused(
            backend.append("a", &token, &event_of(max + 1, 1)),
            ErrorCode::Limit,
            "limit-reached",
        );
        assert!(
            error.detail.contains(&format!("\"max\":{max}")),
            "{}",
            error.detail
        );
        assert!(backend.below().longest + 4 + 44 >= record_bytes_max);
    }
}

#[test]
fn a_long_event_comes_back() {
    let mut backend = crate::support::over_memory();
    let token = acquire(&mut backend, "a");
    let long = event_of(1 << 18, 0);
    backend.create(&header("a"), &token, &long).unwrap();
    assert!(backend.load("a", 0, 1).unwrap().lines == long.lines);
}
