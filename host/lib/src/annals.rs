//! The handle: sessions of one backend.

use std::cell::Cell;
use std::sync::{Arc, PoisonError, RwLock};

use crate::actor::Actor;
use crate::bindings::store::annals::session::types::Error as Answer;
use crate::builder::Builder;
use crate::error::Result;
use crate::link::{Linked, Plan};
use crate::listing;
use crate::place::Backend;
use crate::prepared::Prepared;
use crate::records::{
    BackendInfo, CreateOptions, ForkOptions, Listing, OpenMode, Page, Repair, SessionEntry,
    SessionSummary,
};
use crate::session::{Handles, Session};
use crate::waiting::{self, Patience};

/// Entries asked for at a time when everything is listed.
const LISTING_COUNT: u32 = 1000;

/// Sessions of one backend. A clone is another handle to the same.
///
/// Dropping the last handle, those of its sessions included, ends everything as dropping each [`Session`] does and
/// ignores errors; [`Annals::shutdown`] reports them.
#[derive(Clone)]
pub struct Annals {
    pub(crate) shared: Arc<Shared>,
}

/// What all handles share.
pub(crate) struct Shared {
    pub(crate) actor: Actor,
    pub(crate) clock: fn() -> u64,
    pub(crate) patience: Patience,
    pub(crate) info: Arc<Info>,
    pub(crate) handles: Handles,
}

/// What is known of the present backend: written by the thread of the components, read from everywhere.
#[derive(Default)]
pub(crate) struct Info(RwLock<Known>);

#[derive(Clone, Default)]
struct Known {
    /// What it promises; none without one.
    backend: Option<BackendInfo>,
    warnings: Vec<String>,
}

impl Info {
    pub(crate) fn note(&self, linked: &Linked) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *known = Known {
            backend: linked.info().cloned(),
            warnings: linked.warnings(),
        };
    }

    fn known(&self) -> Known {
        let known = self.0.read();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }
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

    pub(crate) fn start(plan: Plan, clock: fn() -> u64, patience: Patience) -> Result<Self> {
        let started_ms = clock();
        let info = Arc::<Info>::default();
        let noted = Arc::clone(&info);
        let actor = Actor::start(move || {
            let linked = Linked::new(plan, started_ms)?;
            noted.note(&linked);
            Ok(linked)
        })?;
        Ok(Self {
            shared: Arc::new(Shared {
                actor,
                clock,
                patience,
                info,
                handles: Handles::default(),
            }),
        })
    }

    /// What the present backend promises; none without one.
    #[must_use]
    pub fn info(&self) -> Option<BackendInfo> {
        self.shared.info.known().backend
    }

    /// What people should be told once about where the sessions are, each on a line: that others can read the root.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.shared.info.known().warnings
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

    /// A stored session becomes live. The lease of a holder that is known to be gone is taken over at once, that of one
    /// that shows no sign of life once that was so for the backend's time to live. While another lives it is waited for,
    /// as long as [`Builder::lease_wait_ms`] says.
    ///
    /// # Errors
    /// `not-configured`: there is no backend; `not-found`; `already-exists`: it is live here already; `busy`: somebody
    /// else writes it, detail has `holder` (with `host`, `pid` and `since`), `age-ms` and `silent-ms`: [`Annals::fork`]
    /// needs no lease; `unsupported-version`; `corrupt`: damage at or before the last `turn/end`, detail has `line` and
    /// `byte`.
    pub fn open(&self, id: &str, mode: OpenMode) -> Result<(Session, Repair)> {
        let (entered, repair) = self.shared.ask_waiting(|| {
            let id = id.to_owned();
            self.ask(move |linked| {
                let (session, repair) = linked.ask_judging(&id, |linked| {
                    linked.ask(|store, data| store.call_open(data, &id, mode))
                })?;
                Ok((linked.enter(session)?, repair))
            })
        })?;
        Ok((
            Session::new(Arc::clone(&self.shared), entered),
            repair.into(),
        ))
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
    /// What the backend answers. `other`, reason `backend-listing`: its cursors lead round in a circle. `limit`: it
    /// listed a million sessions, or 1 GiB about them, and went on; [`Annals::list`] goes piece by piece.
    pub fn sessions(&self) -> Result<Vec<SessionEntry>> {
        let backend = self.info().map_or_else(String::new, |info| info.name);
        listing::whole(&backend, |cursor| self.list(cursor, LISTING_COUNT))
    }

    /// Ids of live sessions, in order of creation.
    ///
    /// # Errors
    /// `reentrant`, `unavailable`.
    pub fn live(&self) -> Result<Vec<String>> {
        self.ask(|linked| linked.ask(|store, data| Ok(Ok::<_, Answer>(store.call_live(data)?))))
    }

    /// Another handle to a live session; none where no session of this id is live. The session stays open until the
    /// last of its handles goes.
    ///
    /// # Errors
    /// `reentrant`, `unavailable`.
    pub fn get(&self, id: &str) -> Result<Option<Session>> {
        let of = id.to_owned();
        let key = self.ask(move |linked| Ok(linked.key_of(&of)))?;
        Ok(key.and_then(|key| self.shared.handles.get(id, key)))
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
    /// `not-found`; `busy`: somebody holds it, with reason `session-live` it is live here, and with `session-changed` it
    /// was written while this call waited, or since an earlier one that gave up when this one has to wait too.
    pub fn delete(&self, id: &str) -> Result<()> {
        let is_first = Cell::new(true);
        self.shared.ask_waiting(|| match self.ask_to_delete(id) {
            // since a call before this one, which gave up
            Err(error) if is_first.replace(false) && waiting::was_asked_before(&error) => {
                self.ask_to_delete(id)
            }
            answer => answer,
        })
    }

    fn ask_to_delete(&self, id: &str) -> Result<()> {
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
    /// `not-found`; `unsupported-version`, reason `log-sealed`: it is sealed, and this is not what sealed it.
    pub fn update(&self, id: &str, summary: SessionSummary) -> Result<()> {
        let id = id.to_owned();
        self.ask(move |linked| linked.ask(|store, data| store.call_update(data, &id, &summary)))
    }

    /// Everything that the live sessions have accepted is durable when this returns. When one cannot be flushed, the
    /// first error is answered, after all were tried.
    ///
    /// # Errors
    /// What the backend answers to a flush.
    pub fn flush(&self) -> Result<()> {
        self.shared.ask_waiting(|| self.ask(Linked::flush_all))
    }

    /// Closes every live session (flush, then release), then stops. When one cannot be closed, the first error is
    /// answered; that session stays live for other handles.
    ///
    /// Any thread may call it on a clone, one that waits for SIGTERM above all: calls of other threads are done first, and
    /// what comes after answers `unavailable`, reason `store-shut-down`. Whoever waits for a lease stops waiting.
    ///
    /// ```
    /// use annals::{Annals, CreateOptions};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let root = directory.path();
    /// let annals = Annals::jsonl(root)?;
    /// let session = annals.create(CreateOptions::default())?;
    ///
    /// // a thread of its own waits for the signal, with the crate signal-hook for one
    /// let for_the_end = annals.clone();
    /// let (signal, signals) = std::sync::mpsc::channel();
    /// let ending = std::thread::spawn(move || {
    ///     signals.recv().ok();
    ///     for_the_end.shutdown() // and then std::process::exit(128 + signal)
    /// });
    ///
    /// session.append(r#"{"type":"plugin/note","data":{"accepted":true}}"#)?;
    /// signal.send("SIGTERM")?;
    /// ending.join().expect("it does not panic")?;
    /// assert!(Annals::jsonl(root)?.has(session.id())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What the backend answers to a flush.
    pub fn shutdown(self) -> Result<()> {
        self.stop_waiting();
        self.shared.actor.shutdown()
    }

    /// Calls that wait for a lease are answered `busy` now, and no call waits for one any more: a first step where a
    /// program is to end soon.
    pub fn stop_waiting(&self) {
        self.shared.patience.end();
    }

    pub(crate) fn ask<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Linked) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.shared.actor.call(job)
    }
}

impl Shared {
    /// Asks until nobody else writes, for as long as calls wait. The last `busy` says for how long that is.
    pub(crate) fn ask_waiting<R>(&self, ask: impl Fn() -> Result<R>) -> Result<R> {
        let answer = self.patience.ask(ask);
        answer.map_err(|error| error.with_age((self.clock)()))
    }
}

impl std::fmt::Debug for Annals {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Annals")
            .field("info", &self.info())
            .finish_non_exhaustive()
    }
}

/// Time-ordered, so that a listing by name is one by age.
fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
