//! The store: the list of live sessions, and what is stored beside them.

use std::collections::BTreeMap;
use std::rc::Rc;

use annals_core::fault::{Class, Fault, quoted};
use annals_core::header::Header;
use annals_core::sealed;
use annals_core::session::Session;
use annals_sdk::types::{BackendInfo, Error, ErrorCode, Listing, Page, SessionSummary};
use annals_sdk::{Persistence, Result};

use crate::StoreOptions;
use crate::backend::{Backend, Medium, Settings};
use crate::convert::{already_live, check_id, not_live};
use crate::live::{Live, SessionKey, Slot};
use crate::medium::check_unsealed;
use crate::observer::Observer;
use crate::out_of_band::check_types;
use crate::room::{Beside, Room, bytes_of_lines};
use crate::session::check_lengths;

/// Live sessions in memory, stored ones through the backend. It has no clock and no randomness.
pub struct Store<P, O> {
    pub(crate) backend: Backend<P>,
    pub(crate) observer: Rc<O>,
    pub(crate) slots: BTreeMap<SessionKey, Slot>,
    pub(crate) last_key: u64,
    pub(crate) last_entry: u64,
    /// The last number given to an id.
    last_minted: u64,
    pub(crate) options: StoreOptions,
    pub(crate) room: Room,
}

/// A live session of that handle, or `not-found`.
pub(crate) fn live_of(
    slots: &mut BTreeMap<SessionKey, Slot>,
    key: SessionKey,
) -> Result<&mut Live> {
    match slots.get_mut(&key) {
        Some(Slot::Live(live)) => Ok(live),
        slot => Err(not_live(slot.as_deref())),
    }
}

impl<P: Persistence, O: Observer<P>> Store<P, O> {
    /// A store without a backend until `configure` gives it one.
    pub fn new(persistence: P, observer: O) -> Self {
        Store {
            backend: Backend::new(persistence),
            observer: Rc::new(observer),
            slots: BTreeMap::new(),
            last_key: 0,
            last_entry: 0,
            last_minted: 0,
            options: StoreOptions::default(),
            room: Room::default(),
        }
    }

    /// Name the host as a holder of leases, and hand `backend` to the backend; none means that there is none.
    ///
    /// # Errors
    /// `invalid`: `holder` is no JSON object, or a type is one of the surface or of a boundary; what `configure` of the backend answers.
    pub fn configure(
        &mut self,
        holder: &str,
        options: StoreOptions,
        backend: Option<Settings>,
    ) -> Result<Option<BackendInfo>> {
        if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(holder).is_err() {
            let message = "the holder is no JSON object; give one that names this host";
            return Err(Error::new(ErrorCode::Invalid, "holder-not-json", message));
        }
        check_types(&options.out_of_band_types)?;
        if !self.backend.has_settings(backend.as_ref()) {
            // the error of configuring, if there is one, says more
            let _ = self.release_all();
        }
        let (info, medium) = self.backend.configure(holder, backend)?;
        self.options = options;
        if medium == Medium::Other {
            self.lives_mut().for_each(Live::forget_medium);
        }
        Ok(info)
    }

    /// A session that begins with `seed`, and will stand beside the others.
    pub(crate) fn seeded(&self, header: Header, seed: &str, others: Beside) -> Result<Session> {
        if sealed::is_sealed(&header) {
            let fault = sealed::refusal(&header.id);
            let class = Class::Invalid;
            return Err(Fault { class, ..fault }.into());
        }
        others.check(bytes_of_lines(seed))?;
        if let Some(info) = self.backend.info() {
            check_lengths(seed, info.record_bytes_max)?;
        }
        let session = if seed.is_empty() {
            Session::new(header)
        } else {
            Session::from_seed(header, seed)
        };
        let mut session = session?;
        self.options.check_seed(&mut session)?;
        Ok(session)
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
        self.slots.values().filter_map(Slot::live)
    }

    pub(crate) fn lives_mut(&mut self) -> impl Iterator<Item = &mut Live> {
        self.slots.values_mut().filter_map(Slot::live_mut)
    }

    /// Which live session has the id.
    pub fn key_of(&self, id: &str) -> Option<SessionKey> {
        let mut slots = self.slots.iter();
        slots.find_map(|(key, slot)| (slot.live()?.id() == id).then_some(*key))
    }

    /// Ids of live sessions, in the order in which they entered.
    pub fn live(&self) -> Vec<String> {
        let keys = self.keys_in_order().into_iter();
        keys.filter_map(|key| self.id(key)).collect()
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

    /// Remove a stored session for good. While somebody else writes it, `busy`; asking again is part of the same wish.
    ///
    /// # Errors
    /// `not-configured`; `not-found`; `busy`, with reason `session-live` where it is live here, and `session-changed` where
    /// it was written since it was first to be deleted: the next call begins anew.
    pub fn delete(&mut self, id: &str) -> Result<()> {
        self.backend.configured()?;
        if self.is_live(id) {
            let message = format!("session {} is live; close it first", quoted(id));
            return Err(Error::new(ErrorCode::Busy, "session-live", message).fact("id", id));
        }
        // asked first, so that an id that is not there leaves no lease behind
        self.backend.reading(id, |backend| {
            if !backend.has(id)? {
                return Err(Error::not_found(id));
            }
            let token = backend.acquire_to_delete(id)?;
            let deleted = backend.delete(id, &token);
            // a lease that went with the session is none any more, and one that stays undoes nothing
            let _ = backend.release(id, &token);
            deleted
        })
    }

    /// Change title or first prompt of a stored session.
    ///
    /// # Errors
    /// `not-configured`; `not-found`; `unsupported-version`, reason `log-sealed`.
    pub fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        self.backend.reading(id, |backend| {
            check_unsealed(backend, id)?;
            backend.update(id, summary)
        })?;
        if summary.first_prompt.is_some() {
            // what the caller wrote is not to be replaced by what the store would write
            for live in self.lives_mut().filter(|live| live.id() == id) {
                live.prompt_is_due = false;
            }
        }
        Ok(())
    }
}
