//! The code under test, however it is linked: stores with the JSONL backend, and the pure rules.

use std::path::Path;
use std::sync::Arc;

use annals_core::header::Header;
use annals_store::{CreateOptions, Fold, Surface};

use crate::answer::Stop;
use crate::ops::Script;

/// One way of linking.
pub trait Host {
    /// A store; what is live in it goes with it.
    type Store: Sessions;
    /// A store that tells the listeners of a script.
    type Watched: Sessions;

    /// For the report: `native`, `wasm`.
    fn name(&self) -> &'static str;

    /// A fresh store and a fresh backend over `root`, which exists.
    fn at(&self, root: &Path) -> Result<Self::Store, Stop>;

    /// A store without a backend, until [`Sessions::bind`].
    fn alone(&self) -> Result<Self::Store, Stop>;

    /// A store without a backend that tells `script`, and that takes events of the type `out_of_band` outside a turn.
    fn watched(
        &self,
        script: Arc<Script<<Self::Watched as Sessions>::Key>>,
        out_of_band: &str,
    ) -> Result<Self::Watched, Stop>;

    /// Interface `log`.
    fn rules(&self) -> &dyn Rules;
}

/// Interface `store`. Every call may be refused, or skipped where this way of linking cannot express it.
pub trait Sessions {
    /// Names a session, from when it is made on.
    type Key: Clone + PartialEq + Send;

    /// Gives a store without a backend the one over `root`, and what is live goes there.
    fn bind(&mut self, root: &Path) -> Result<(), Stop>;

    /// A new live session; nothing is stored yet.
    fn create(&mut self, options: CreateOptions, time_ms: u64) -> Result<Self::Key, Stop>;

    /// A session in no list.
    fn prepare(&mut self, options: CreateOptions, time_ms: u64) -> Result<Self::Key, Stop>;

    /// A prepared session becomes live, unannounced.
    fn enter(&mut self, key: &Self::Key) -> Result<(), Stop>;

    /// Tells the listeners of an entered session.
    fn announce(&mut self, key: &Self::Key) -> Result<(), Stop>;

    /// Takes a session out of the live list.
    fn detach(&mut self, key: &Self::Key) -> Result<(), Stop>;

    /// Opens a stored session for writing, which repairs it.
    fn open(&mut self, id: &str) -> Result<(Self::Key, Opened), Stop>;

    /// A session that begins with events of the one of that id.
    fn fork(
        &mut self,
        id: &str,
        boundary: Option<u64>,
        child: Option<String>,
        time_ms: u64,
    ) -> Result<Self::Key, Stop>;

    /// Appends lines in memory and gives them back complete.
    fn append(&mut self, key: &Self::Key, lines: &str, time_ms: u64) -> Result<String, Stop>;

    /// Appends a line outside a turn and gives it back complete.
    fn append_out_of_band(
        &mut self,
        key: &Self::Key,
        line: &str,
        trigger: &str,
        time_ms: u64,
    ) -> Result<String, Stop>;

    /// Stores what a session has and the medium lacks.
    fn flush(&mut self, key: &Self::Key) -> Result<(), Stop>;

    /// Stores a session's header although it has no events.
    fn persist(&mut self, key: &Self::Key) -> Result<(), Stop>;

    /// Flushes a session and lets go of it.
    fn close(&mut self, key: &Self::Key) -> Result<(), Stop>;

    /// As the store has it.
    fn header(&self, key: &Self::Key) -> Result<Header, Stop>;

    /// How many events there are.
    fn next_seq(&self, key: &Self::Key) -> Result<u64, Stop>;

    /// What the model sees, as seqs.
    fn surface(&self, key: &Self::Key) -> Result<Surface, Stop>;

    /// The request header as the session has it.
    fn request_header(&self, key: &Self::Key) -> Result<Option<String>, Stop>;

    /// Events from a seq on, and where to go on.
    fn events_page(&self, key: &Self::Key, start: u64) -> Result<(String, Option<u64>), Stop>;

    /// Messages from a position on, and how many there are.
    fn messages_page(&mut self, key: &Self::Key, start: u32) -> Result<(String, u32), Stop>;

    /// Headers of stored sessions that have a readable one, from a cursor on, and where to go on.
    fn listing(&mut self, cursor: Option<&str>) -> Result<(Vec<Header>, Option<String>), Stop>;

    /// Whether a session of that id is stored.
    fn has(&mut self, id: &str) -> Result<bool, Stop>;

    /// Ids in the order of the live list.
    fn live(&mut self) -> Result<Vec<String>, Stop>;

    /// The live session of that id.
    fn key_of(&mut self, id: &str) -> Result<Option<Self::Key>, Stop>;

    /// Skips where a listener may only return.
    fn check_callable(&self) -> Result<(), Stop> {
        Ok(())
    }

    /// Waits for what listeners asked for.
    fn settle(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// Every event, one line each, read page by page.
    fn events(&self, key: &Self::Key) -> Result<String, Stop> {
        let mut lines = String::new();
        let mut start = Some(0);
        while let Some(seq) = start {
            let (page, next) = self.events_page(key, seq)?;
            lines.push_str(&page);
            start = next;
        }
        Ok(lines)
    }

    /// Headers of all stored sessions that have a readable one.
    fn list(&mut self) -> Result<Vec<Header>, Stop> {
        let (mut headers, mut next) = self.listing(None)?;
        while let Some(cursor) = next {
            let (more, then) = self.listing(Some(&cursor))?;
            headers.extend(more);
            next = then;
        }
        Ok(headers)
    }
}

/// Interface `log`; see the WIT.
#[allow(
    missing_docs,
    reason = "the names and the comments are those of the WIT"
)]
pub trait Rules {
    fn fold_surface(&self, lines: &str) -> Result<Fold, Stop>;
    fn is_surface_type(&self, event_type: &str) -> Result<bool, Stop>;
    fn is_surface_event(&self, line: &str) -> Result<bool, Stop>;
    fn message_of(&self, line: &str) -> Result<Option<String>, Stop>;
    fn closers(&self, lines: &str) -> Result<String, Stop>;
    fn check_trace(&self, lines: &str) -> Result<(), Stop>;
    fn request_header(&self, lines: &str, before: Option<&str>) -> Result<Option<String>, Stop>;
    fn canonical_header(&self, header: &str) -> Result<Option<String>, Stop>;
    fn headers_equal(&self, a: &str, b: &str) -> Result<bool, Stop>;
    fn last_message_turn_end(&self, lines: &str) -> Result<Option<String>, Stop>;
    fn display_prompt(&self, data: &str) -> Result<Option<String>, Stop>;
    fn pack(&self, lines: &str) -> Result<String, Stop>;
    fn unpack(&self, lines: &str) -> Result<String, Stop>;
    fn check_json(&self, text: &str) -> Result<(), Stop>;
    fn check_header(&self, header: &str, id: &str) -> Result<Header, Stop>;
}

/// The rules whose answers are of one type however they are linked; `$of` comes before the name of each.
macro_rules! forwarded_rules {
    ($self:ident, $($of:tt)*) => {
        $crate::host::forwarded_rules! { @ $self, [$($of)*]
            is_surface_event(line: &str) -> bool;
            message_of(line: &str) -> Option<String>;
            closers(lines: &str) -> String;
            check_trace(lines: &str) -> ();
            request_header(lines: &str, before: Option<&str>) -> Option<String>;
            canonical_header(header: &str) -> Option<String>;
            headers_equal(a: &str, b: &str) -> bool;
            last_message_turn_end(lines: &str) -> Option<String>;
            display_prompt(data: &str) -> Option<String>;
            pack(lines: &str) -> String;
            unpack(lines: &str) -> String;
            check_json(text: &str) -> ();
        }
    };
    (@ $self:ident, $of:tt $($name:ident($($given:ident: $type:ty),*) -> $answer:ty;)*) => {
        $($crate::host::forwarded_rules! { @@ $self, $of $name($($given: $type),*) -> $answer })*
    };
    (@@ $self:ident, [$($of:tt)*] $name:ident($($given:ident: $type:ty),*) -> $answer:ty) => {
        fn $name(&$self, $($given: $type),*) -> Result<$answer, $crate::answer::Stop> {
            $($of)* $name($($given),*).map_err(|error| $crate::records::refused!(error))
        }
    };
}

pub(crate) use forwarded_rules;

/// What opening did.
#[derive(Debug)]
pub struct Opened {
    /// Bytes that were cut from the end.
    pub cut_bytes: u64,
    /// Events that were added to close an interrupted turn.
    pub closers: u32,
}

/// How much of a log is asked for at once: less than most logs of the vectors, so that pages are followed.
pub const PAGE_BYTES: u32 = 4096;

/// How much of a history is asked for at once, for the same reason.
pub const MESSAGES_BYTES: u32 = 256;

/// How many sessions are listed at once, for the same reason.
pub const LISTED: u32 = 4;
