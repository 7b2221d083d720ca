//! A session in the plainest way: a list of events, and each view of it made from scratch by the rules of the session
//! README. Slow, and right by looking at it; nothing of `annals_core` is used, but in [`State::of`].

mod closers;
mod messages;
mod rows;
mod state;
mod surface;
mod usage;

use crate::json::Json;

pub use closers::{closers, has_open_turn};
pub use messages::{last_turn, messages, request_header};
pub use rows::{Delta, pack};
pub use state::State;
pub use surface::{Refusal, Replacement, Surface, surface};
pub use usage::{Tokens, Usage, usage};

/// One event of a log.
#[derive(Clone, Debug)]
pub struct Event {
    /// `type`, without escapes.
    pub kind: String,
    /// Its place in the log.
    pub seq: u64,
    /// `time`
    pub time_ms: u64,
    /// `data`
    pub data: Json,
    /// `surfaceOp`
    pub op: Option<Json>,
    /// `sourceEventSeqs`
    pub sources: Option<Json>,
    /// What packs: a streamed delta that is spelled as usual.
    pub delta: Option<Delta>,
    /// The line as it is stored, without its newline.
    pub line: String,
    /// A line to append that becomes the stored one.
    pub draft: String,
}

/// The lines of events, each ended by a newline.
pub fn lines(events: &[Event]) -> String {
    events
        .iter()
        .map(|event| format!("{}\n", event.line))
        .collect()
}

/// Whether a log may be forked behind this event.
pub fn is_boundary(event: &Event) -> bool {
    event.kind == "turn/end"
}
