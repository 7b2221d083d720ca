//! Durable sessions for AI agents, from Rust.
//!
//! This crate links the Annals components (the store and a backend) and gives them a blocking API. It prints nothing
//! and reads no environment; it knows no rule of a session log, all of which live in the store component. The
//! components run on one own thread for each [`Annals`]; handles can be shared between threads, and calls are done
//! one after the other.
//!
//! A library changes no signal's disposition. Where files may not grow as long as a log does (`ulimit -f`, `RLIMIT_FSIZE`),
//! the system ends a process with SIGXFSZ in the middle of a write, and the log has a torn end, which the next opening for
//! writing cuts. A program that ignores or handles that signal, as the `annals` command does, gets `no-space` with reason
//! `io-file-too-large` instead, and the batch is rolled back.
//!
//! ```no_run
//! use annals::{Annals, CreateOptions};
//!
//! let annals = Annals::jsonl("/var/lib/agent/sessions")?;
//! let session = annals.create(CreateOptions::default())?;
//! session.append(r#"{"type":"turn/start","data":{"turn":0}}"#)?;
//! session.flush()?; // durable from here on
//! annals.shutdown()?;
//! # Ok::<(), annals::Error>(())
//! ```

mod actor;
mod agent;
mod annals;
mod apart;
#[allow(clippy::all, clippy::pedantic, missing_docs)]
mod bindings;
mod builder;
pub mod bundle;
mod cache;
mod component;
pub mod compose;
mod engine;
mod error;
mod grants;
mod holder;
mod inspect;
mod limits;
mod link;
mod listing;
mod log;
mod medium;
mod middleware;
mod needs;
mod observer;
mod place;
mod prepared;
mod rebind;
mod records;
mod room;
mod session;
mod upkeep;
mod waiting;
mod watch;

pub use agent::{AgentId, AgentLoop, ResumeId, Resumed};
pub use annals::Annals;
pub use builder::{Builder, Link};
pub use cache::{Cache, Cached};
pub use error::{Error, Result};
pub use grants::Access;
pub use inspect::{Inspection, component_bytes, component_sha256, inspect};
pub use link::{Bare, Started};
pub use log::Log;
pub use middleware::Middleware;
pub use needs::Need;
pub use observer::Observer;
pub use place::{Backend, Place};
pub use prepared::Prepared;
pub use records::{
    BackendInfo, Batch, Binding, Bound, CreateOptions, Durability, ErrorCode, Eviction,
    EvictionReason, Fold, ForkOptions, LeaseScope, Listing, Litter, LitterKind, Messages, OpenMode,
    Page, Repair, Replacement, SessionEntry, SessionHeader, SessionStatus, SessionSummary,
    StepUsage, Surface, Usage, UsageCount,
};
pub use session::Session;
pub use upkeep::Upkeep;

/// The README's example, so that it is compiled and run with the other examples.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
