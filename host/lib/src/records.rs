//! The records of the interface, in Rust spelling. Their comments are those of the WIT.

pub use crate::bindings::store::annals::session::types::{
    BackendInfo, Batch, Durability, ErrorCode, LeaseScope, Listing, Page, SessionEntry,
    SessionHeader, SessionStatus, SessionSummary,
};
pub use crate::bindings::store::exports::annals::session::store::{
    CreateOptions, Messages, OpenMode, Repair, Surface,
};

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
