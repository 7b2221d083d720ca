//! A store with the JSONL backend over a directory, however it is linked.

use std::path::Path;

use annals_core::header::Header;

use crate::answer::Refusal;

/// One way of linking store and backend.
pub trait Host {
    /// For the report: `native`, `wasm`.
    fn name(&self) -> &'static str;

    /// A fresh store and a fresh backend over `root`, which exists.
    fn at(&self, root: &Path) -> Result<Box<dyn Root>, Refusal>;
}

/// A store over one directory. Live sessions are named by their ids. Every call may be refused.
pub trait Root {
    /// A new live session; nothing is stored yet. `seed` is JSON Lines.
    fn create(&mut self, header: &Header, seed: &str) -> Result<(), Refusal>;

    /// As `create`, in a store that meets the backend only when the session is flushed first. None: this way of
    /// linking has no store without a backend.
    fn create_detached(&mut self, header: &Header, seed: &str) -> Option<Result<(), Refusal>>;

    /// Opens a stored session for writing, which repairs it.
    fn open(&mut self, id: &str) -> Result<Opened, Refusal>;

    /// Every event of a live session, one line each, read page by page.
    fn events(&mut self, id: &str) -> Result<String, Refusal>;

    /// Appends lines in memory and gives them back complete.
    fn append(&mut self, id: &str, lines: &str, time_ms: u64) -> Result<String, Refusal>;

    /// Stores what a live session has and the medium lacks.
    fn flush(&mut self, id: &str) -> Result<(), Refusal>;

    /// Stores a live session's header although it has no events.
    fn persist(&mut self, id: &str) -> Result<(), Refusal>;

    /// Flushes a live session and lets go of it.
    fn close(&mut self, id: &str) -> Result<(), Refusal>;

    /// Flushes every live session and lets go of it.
    fn close_all(&mut self) -> Result<(), Refusal>;

    /// Whether the session is live here.
    fn is_live(&self, id: &str) -> bool;

    /// Whether the session is stored.
    fn has(&mut self, id: &str) -> Result<bool, Refusal>;

    /// Headers of the stored sessions that have a readable one.
    fn list(&mut self) -> Result<Vec<Header>, Refusal>;
}

/// What opening did.
#[derive(Debug)]
pub struct Opened {
    /// As the store has it.
    pub header: Header,
    /// Bytes that were cut from the end.
    pub cut_bytes: u64,
    /// Events that were added to close an interrupted turn.
    pub closers: u32,
}

/// How much of a log is asked for at once: less than most logs of the vectors, so that pages are followed.
pub const PAGE_BYTES: u32 = 4096;

/// How many sessions are listed at once: less than some listings of the vectors, so that pages are followed.
pub const LISTED: u32 = 4;
