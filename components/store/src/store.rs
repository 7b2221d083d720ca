//! The store: the list of live sessions, creation, and what is stored beside them.

use std::collections::BTreeMap;

use annals_core::header::{FORMAT_VERSION, Header};
use annals_core::session::Session;
use annals_sdk::types::{BackendInfo, Error, ErrorCode, Listing, Page, SessionSummary};
use annals_sdk::{Persistence, Result};

use crate::CreateOptions;
use crate::backend::{Backend, Medium, Settings};
use crate::convert::{already_live, check_id, closed, error, listener};
use crate::live::{Live, SessionKey, Slot};
use crate::observer::Observer;
use crate::session::check_lengths;

/// Live sessions in memory, stored ones through the backend. It has no clock and no randomness.
pub struct Store<P, O> {
    pub(crate) backend: Backend<P>,
    pub(crate) observer: O,
    /// By handle, so in order of creation.
    pub(crate) slots: BTreeMap<SessionKey, Slot>,
    last_key: u64,
    /// The last number given to an id.
    last_minted: u64,
}

/// A live session of that handle, or `not-found`.
pub(crate) fn live_of(
    slots: &mut BTreeMap<SessionKey, Slot>,
    key: SessionKey,
) -> Result<&mut Live> {
    match slots.get_mut(&key) {
        Some(Slot::Live(live)) => Ok(live),
        Some(slot @ Slot::Closed(_)) => Err(closed(slot.id())),
        None => Err(closed("")),
    }
}

impl<P: Persistence, O: Observer> Store<P, O> {
    /// A store without a backend until `configure` gives it one.
    pub fn new(persistence: P, observer: O) -> Self {
        Store {
            backend: Backend::new(persistence),
            observer,
            slots: BTreeMap::new(),
            last_key: 0,
            last_minted: 0,
        }
    }

    /// Name the host as a holder of leases, and hand `backend` to the backend; none means that there is none.
    ///
    /// # Errors
    /// `invalid`: `holder` is no JSON object, or a type is given; what `configure` of the backend answers.
    pub fn configure(
        &mut self,
        holder: &str,
        out_of_band_types: &[String],
        backend: Option<Settings>,
    ) -> Result<Option<BackendInfo>> {
        if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(holder).is_err() {
            let message = "the holder is no JSON object; give one that names this host";
            return Err(Error::new(ErrorCode::Invalid, "holder-not-json", message));
        }
        if let Some(given) = out_of_band_types.first() {
            let message =
                format!("out-of-band type {given:?} is not known; the list is empty today");
            return Err(Error::new(ErrorCode::Invalid, "out-of-band-types", message));
        }
        if !self.backend.has_settings(backend.as_ref()) {
            self.release_all();
        }
        let (info, medium) = self.backend.configure(holder, backend)?;
        if medium == Medium::Other {
            for slot in self.slots.values_mut() {
                if let Slot::Live(live) = slot {
                    live.forget_medium();
                }
            }
        }
        Ok(info)
    }

    /// A new live session; nothing is stored until its first flush.
    ///
    /// # Errors
    /// `already-exists`: live or stored; `invalid`: a header member or the seed breaks a rule; `limit`: a record of
    /// the seed is too long for the backend; `other`, reason `listener-error`: the observer's veto.
    pub fn create(&mut self, options: CreateOptions, time_ms: u64) -> Result<SessionKey> {
        let id = self.new_id(options.id)?;
        let header = Header {
            version: FORMAT_VERSION,
            id,
            created_at_ms: options.created_at_ms.unwrap_or(time_ms),
            cwd: options.cwd,
            parent_session: options.parent_session,
            seed_length: options.seed_length,
            delegation_depth: options.delegation_depth,
            extra: options.extra,
        };
        let seed = options.seed.as_deref().unwrap_or_default();
        let session = self.seeded(header, seed)?;
        check_seed_length(&session)?;
        self.check_new(&session.header().id)?;
        self.enter(Live::new(session))
    }

    /// A session that begins with `seed`.
    pub(crate) fn seeded(&self, header: Header, seed: &str) -> Result<Session> {
        if let Some(info) = self.backend.info() {
            check_lengths(seed, info.record_bytes_max, 0)?;
        }
        let session = if seed.is_empty() {
            Session::new(header)
        } else {
            Session::from_seed(header, seed)
        };
        session.map_err(error)
    }

    /// The given id, or `session-<n>` with the next number that no live session has.
    pub(crate) fn new_id(&mut self, given: Option<String>) -> Result<String> {
        if let Some(id) = given {
            check_id(&id)?;
            return Ok(id);
        }
        loop {
            self.last_minted += 1;
            let id = format!("session-{}", self.last_minted);
            if !self.is_live(&id) && !self.is_stored(&id)? {
                return Ok(id);
            }
        }
    }

    /// `already-exists` where a session of that id is live or stored.
    pub(crate) fn check_new(&mut self, id: &str) -> Result<()> {
        if self.is_live(id) {
            return Err(already_live(id));
        }
        if self.is_stored(id)? {
            Err(Error::already_exists(id))
        } else {
            Ok(())
        }
    }

    fn is_stored(&mut self, id: &str) -> Result<bool> {
        if self.backend.info().is_none() {
            return Ok(false);
        }
        self.backend.reading(id, |backend| backend.has(id))
    }

    pub(crate) fn is_live(&self, id: &str) -> bool {
        self.lives().any(|live| live.id() == id)
    }

    pub(crate) fn lives(&self) -> impl Iterator<Item = &Live> {
        self.slots.values().filter_map(|slot| match slot {
            Slot::Live(live) => Some(&**live),
            Slot::Closed(_) => None,
        })
    }

    /// Into the live list, unless the observer objects.
    pub(crate) fn enter(&mut self, live: Live) -> Result<SessionKey> {
        self.last_key += 1;
        let key = SessionKey(self.last_key);
        let id = live.id().to_owned();
        self.slots.insert(key, Slot::Live(Box::new(live)));
        match self.observer.created(&id) {
            Ok(()) => Ok(key),
            Err(words) => {
                self.slots.remove(&key);
                self.observer.disposed(&id);
                Err(listener(&id, words))
            }
        }
    }

    /// Ids of live sessions, in order of creation.
    pub fn live(&self) -> Vec<String> {
        self.lives().map(|live| live.id().to_owned()).collect()
    }

    /// Stored records as they are, unjudged, going on past damage.
    ///
    /// # Errors
    /// `not-configured`; `not-found`; `invalid`: a cursor that no page gave.
    pub fn read(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.backend
            .reading(id, |backend| backend.load(id, cursor, bytes_max))
    }

    /// What repairs cut from the log, oldest first.
    ///
    /// # Errors
    /// As `read`.
    pub fn read_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.backend
            .reading(id, |backend| backend.load_cut(id, cursor, bytes_max))
    }

    /// Stored sessions, a bounded piece at a time.
    ///
    /// # Errors
    /// `not-configured`; `invalid`: a cursor that no listing gave.
    pub fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        self.backend
            .reading("", |backend| backend.list(cursor, count_max))
    }

    /// Whether the session is stored.
    ///
    /// # Errors
    /// `not-configured`.
    pub fn has(&mut self, id: &str) -> Result<bool> {
        self.backend.reading(id, |backend| backend.has(id))
    }

    /// Remove a stored session for good.
    ///
    /// # Errors
    /// `not-configured`; `not-found`; `busy`, with reason `session-live` where it is live here.
    pub fn delete(&mut self, id: &str) -> Result<()> {
        self.backend.configured()?;
        if self.is_live(id) {
            let message = format!("session {id:?} is live; close it first");
            return Err(Error::new(ErrorCode::Busy, "session-live", message).fact("id", id));
        }
        // asked first, so that an id that is not there leaves no lease behind
        self.backend.reading(id, |backend| {
            if !backend.has(id)? {
                return Err(Error::not_found(id));
            }
            let token = backend.acquire(id)?;
            let deleted = backend.delete(id, &token);
            // a lease that went with the session is none any more, and giving it back is ok
            let released = backend.release(id, &token);
            deleted.and(released)
        })
    }

    /// Change title or first prompt of a stored session.
    ///
    /// # Errors
    /// `not-configured`; `not-found`.
    pub fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        self.backend
            .reading(id, |backend| backend.update(id, summary))?;
        if summary.first_prompt.is_some() {
            for slot in self.slots.values_mut() {
                // what the caller wrote is not to be replaced by what the store would write
                if let Slot::Live(live) = slot
                    && live.id() == id
                {
                    live.prompt_is_due = false;
                }
            }
        }
        Ok(())
    }
}

fn check_seed_length(session: &Session) -> Result<()> {
    let events = session.next_seq();
    match session.header().seed_length {
        Some(length) if length > events => {
            let message = format!("seed-length is {length}, the seed has {events} events");
            Err(
                Error::new(ErrorCode::Invalid, "header-seed-length", message)
                    .fact("expected", events)
                    .fact("actual", length),
            )
        }
        Some(_) | None => Ok(()),
    }
}
