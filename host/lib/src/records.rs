//! The records of the interface, in Rust spelling. Their comments are those of the WIT.

pub use crate::bindings::store::annals::session::types::{
    BackendInfo, Batch, Durability, ErrorCode, Eviction, EvictionReason, LeaseScope, Listing, Page,
    SessionEntry, SessionHeader, SessionStatus, SessionSummary,
};
pub use crate::bindings::store::exports::annals::session::log::{Fold, Replacement};
pub use crate::bindings::store::exports::annals::session::store::{
    Binding, CreateOptions, Messages, OpenMode, StepUsage, StoreOptions, Surface, Usage, UsageCount,
};
pub use crate::bindings::upkeep::exports::annals::session::upkeep::{Litter, LitterKind};

use crate::bindings::store::exports::annals::session::store::Repair as Answer;
use crate::error::Error;

impl Default for CreateOptions {
    /// Nothing given: a new id, the present time, no working directory, no seed.
    fn default() -> Self {
        Self {
            id: None,
            cwd: None,
            parent_session: None,
            seed_length: None,
            delegation_depth: None,
            created_at_ms: None,
            seed: None,
            extra: None,
        }
    }
}

impl Default for SessionSummary {
    /// Changes nothing.
    fn default() -> Self {
        Self {
            title: None,
            first_prompt: None,
        }
    }
}

/// What to fork and how the child is called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForkOptions {
    /// Inclusive seq of a `turn/end`; none: through the last event.
    pub boundary: Option<u64>,
    /// The child's id; none: a new UUIDv7.
    pub child: Option<String>,
    /// The child's working directory, an absolute path; none: the source's.
    pub cwd: Option<String>,
}

/// What opening did, or with [`OpenMode::Inspect`] would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// Bytes cut from a bad end, saved beside the log first.
    pub cut_bytes: u64,
    /// Readable events among them.
    pub cut_events: u64,
    /// Events appended (or due) to close an interrupted turn.
    pub closers: u32,
    /// With [`OpenMode::Inspect`] in a strict store: why the other modes refuse to open the session.
    pub refusal: Option<Error>,
    /// For people.
    pub notes: Vec<String>,
}

impl From<Answer> for Repair {
    fn from(repair: Answer) -> Self {
        Self {
            cut_bytes: repair.cut_bytes,
            cut_events: repair.cut_events,
            closers: repair.closers,
            refusal: repair.refusal.map(Error::from),
            notes: repair.notes,
        }
    }
}

/// What became of a live session when another backend took over.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The session's id.
    pub id: String,
    /// Adopted, stored whole, left alone, or refused.
    pub binding: Binding,
    /// Why it was refused; none otherwise.
    pub error: Option<Error>,
}
