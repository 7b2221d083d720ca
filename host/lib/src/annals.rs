//! The handle: sessions of one backend.

use std::sync::Arc;

use crate::actor::Actor;
use crate::bindings::store::annals::session::types::Error as Answer;
use crate::builder::{Backend, Builder};
use crate::error::Result;
use crate::link::{Linked, Plan};
use crate::prepared::Prepared;
use crate::records::{
    BackendInfo, CreateOptions, ForkOptions, Listing, OpenMode, Page, Repair, SessionEntry,
    SessionSummary,
};
use crate::session::Session;

/// Entries asked for at a time when everything is listed.
const LISTING_COUNT: u32 = 1000;

/// Sessions of one backend. A clone is another handle to the same.
///
/// Dropping the last handle, those of its sessions included, ends everything as dropping each [`Session`] does and
/// ignores errors; [`Annals::shutdown`] reports them.
#[derive(Clone)]
pub struct Annals {
    shared: Arc<Shared>,
}

/// What all handles share.
pub(crate) struct Shared {
    pub(crate) actor: Actor,
    pub(crate) clock: fn() -> u64,
    info: BackendInfo,
}

impl Annals {
    /// Sessions as JSONL files under `root`, which is made when it does not exist.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn jsonl(root: impl Into<std::path::PathBuf>) -> Result<Self> {
        Self::builder().backend(Backend::Jsonl).root(root).build()
    }

    /// Sessions in memory, gone with the last handle.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn memory() -> Result<Self> {
        Self::builder().backend(Backend::Memory).build()
    }

    /// Everything that can be chosen.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn start(plan: Plan, clock: fn() -> u64) -> Result<Self> {
        let started_ms = clock();
        let (actor, info) = Actor::start(move || Linked::new(plan, started_ms))?;
        Ok(Self {
            shared: Arc::new(Shared { actor, clock, info }),
        })
    }

    /// What the configured backend promises.
    #[must_use]
    pub fn info(&self) -> &BackendInfo {
        &self.shared.info
    }

    /// A new live session; nothing is stored until its first flush. Without an id it gets a UUIDv7.
    ///
    /// # Errors
    /// `already-exists`: live or stored; `invalid`: a header member or the seed breaks a rule.
    pub fn create(&self, mut options: CreateOptions) -> Result<Session> {
        options.id = Some(options.id.unwrap_or_else(new_id));
        let time_ms = (self.shared.clock)();
        let entered = self.shared.actor.call(move |linked| {
            let session = linked.ask(|store, data| store.call_create(data, &options, time_ms))?;
            linked.enter(session)
        })?;
        Ok(Session::new(Arc::clone(&self.shared), entered))
    }

    /// The first half of [`Annals::create`]: everything is checked but whether the id is free, and nobody is told.
    ///
    /// # Errors
    /// `invalid`: a header member or the seed breaks a rule.
    pub fn prepare(&self, mut options: CreateOptions) -> Result<Prepared> {
        options.id = Some(options.id.unwrap_or_else(new_id));
        let time_ms = (self.shared.clock)();
        let key = self.shared.actor.call(move |linked| {
            let handle = linked.ask(|store, data| store.call_prepare(data, &options, time_ms))?;
            Ok(linked.keep_prepared(handle))
        })?;
        Ok(Prepared::new(Arc::clone(&self.shared), key))
    }

    /// A stored session becomes live. When a holder of its lease is known to be gone, the lease is taken over.
    ///
    /// # Errors
    /// `not-found`; `already-exists`: it is live here already; `busy`; `unsupported-version`; `corrupt`: damage at or
    /// before the last `turn/end`, detail has `line` and `byte`.
    pub fn open(&self, id: &str, mode: OpenMode) -> Result<(Session, Repair)> {
        let id = id.to_owned();
        let (entered, repair) = self.shared.actor.call(move |linked| {
            let (session, repair) = linked.ask_judging(&id, |linked| {
                linked.ask(|store, data| store.call_open(data, &id, mode))
            })?;
            Ok((linked.enter(session)?, repair))
        })?;
        Ok((Session::new(Arc::clone(&self.shared), entered), repair))
    }

    /// A new live session that begins with the source's events, their bytes and times unchanged. The source, live or
    /// stored, is not changed.
    ///
    /// # Errors
    /// `not-found`; `already-exists`: the child's id; `invalid` with reason `fork-invalid-boundary` or
    /// `fork-open-turn`.
    pub fn fork(&self, source: &str, options: ForkOptions) -> Result<Session> {
        let source = source.to_owned();
        let child = options.child.unwrap_or_else(new_id);
        let time_ms = (self.shared.clock)();
        let entered = self.shared.actor.call(move |linked| {
            let cwd = options.cwd.as_deref();
            let session = linked.ask(|store, data| {
                store.call_fork(data, &source, options.boundary, Some(&child), cwd, time_ms)
            })?;
            linked.enter(session)
        })?;
        Ok(Session::new(Arc::clone(&self.shared), entered))
    }

    /// Stored records as they are, unjudged, from `cursor` (0 is the start), about `bytes_max` bytes at most.
    ///
    /// # Errors
    /// `not-found`; `invalid`: a cursor that no page gave.
    pub fn read(&self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let id = id.to_owned();
        self.ask(move |linked| {
            linked.ask(|store, data| store.call_read(data, &id, cursor, bytes_max))
        })
    }

    /// What repairs cut from the log, oldest first, in pages of `raw` bytes.
    ///
    /// # Errors
    /// `not-found`; `invalid`: a cursor that no page gave.
    pub fn read_cut(&self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let id = id.to_owned();
        self.ask(move |linked| {
            linked.ask(|store, data| store.call_read_cut(data, &id, cursor, bytes_max))
        })
    }

    /// A piece of the listing of stored sessions, at most `count_max` entries, from `cursor` (none is the start).
    ///
    /// # Errors
    /// `invalid`: a cursor that no listing gave.
    pub fn list(&self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        let cursor = cursor.map(str::to_owned);
        self.ask(move |linked| {
            linked.ask(|store, data| store.call_list(data, cursor.as_deref(), count_max))
        })
    }

    /// Every stored session, by place and then name.
    ///
    /// # Errors
    /// What the backend answers.
    pub fn sessions(&self) -> Result<Vec<SessionEntry>> {
        let mut listing = self.list(None, LISTING_COUNT)?;
        let mut sessions = listing.sessions;
        while let Some(next) = listing.next {
            listing = self.list(Some(&next), LISTING_COUNT)?;
            sessions.append(&mut listing.sessions);
        }
        Ok(sessions)
    }

    /// Ids of live sessions, in order of creation.
    ///
    /// # Errors
    /// `reentrant`, `unavailable`.
    pub fn live(&self) -> Result<Vec<String>> {
        self.ask(|linked| linked.ask(|store, data| Ok(Ok::<_, Answer>(store.call_live(data)?))))
    }

    /// Whether the session is stored.
    ///
    /// # Errors
    /// What the backend answers.
    pub fn has(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.ask(move |linked| linked.ask(|store, data| store.call_has(data, &id)))
    }

    /// Removes a stored session for good.
    ///
    /// # Errors
    /// `not-found`; `busy`: somebody holds it, or with reason `session-live` it is live here.
    pub fn delete(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.ask(move |linked| {
            linked.ask_judging(&id, |linked| {
                linked.ask(|store, data| store.call_delete(data, &id))
            })
        })
    }

    /// Changes title or first prompt of a stored session: none leaves a field alone, "" clears it.
    ///
    /// # Errors
    /// `not-found`.
    pub fn update(&self, id: &str, summary: SessionSummary) -> Result<()> {
        let id = id.to_owned();
        self.ask(move |linked| linked.ask(|store, data| store.call_update(data, &id, &summary)))
    }

    /// Closes every live session (flush, then release), then stops. When one cannot be closed, the first error is
    /// answered; that session stays live for other handles.
    ///
    /// # Errors
    /// What the backend answers to a flush.
    pub fn shutdown(self) -> Result<()> {
        self.shared.actor.shutdown()
    }

    fn ask<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Linked) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.shared.actor.call(job)
    }
}

impl std::fmt::Debug for Annals {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Annals")
            .field("info", &self.shared.info)
            .finish_non_exhaustive()
    }
}

/// Time-ordered, so that a listing by name is one by age.
fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
