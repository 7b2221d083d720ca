//! The store as a component. This file only converts.

mod log;

use std::cell::RefCell;
use std::rc::Rc;

use annals_sdk::Result;
use annals_sdk::types::{
    BackendInfo, Batch, Error, ErrorCode, Eviction, Listing, Page, SessionHeader, SessionSummary,
};

use crate::bindings::annals::session::{observer, persistence};
use crate::bindings::exports::annals::session::store::{
    Bound, CreateOptions, Guest, GuestPrepared, GuestSession, Messages, OpenMode, Prepared, Repair,
    Session, StoreOptions, Surface, Usage,
};
use crate::{Observer, SessionKey, Store};

thread_local! {
    static STORE: RefCell<Store<Imported, Imported>> = RefCell::new(Store::new(Imported, Imported));
}

/// Calls the one store, or answers `reentrant` from inside a callback.
fn with<R>(call: impl FnOnce(&mut Store<Imported, Imported>) -> Result<R>) -> Result<R> {
    STORE.with(|store| match store.try_borrow_mut() {
        Ok(mut store) => call(&mut store),
        Err(_) => {
            let message =
                "called from inside a callback of the same store; call when it has returned";
            Err(Error::new(ErrorCode::Reentrant, "reentrant", message))
        }
    })
}

/// The imported interfaces `persistence` and `observer`.
struct Imported;

/// A session handle, or what was prepared: they may name one session.
struct Handle {
    held: Rc<Held>,
    /// The entry into the live list that the handle stands for: it takes the session out of no later one.
    entry: Option<u64>,
}

/// What the handles of one session share.
struct Held(SessionKey);

impl Handle {
    fn key(&self) -> SessionKey {
        self.held.0
    }

    /// Calls the store about the entry that the handle stands for; nothing is done when that is over.
    fn leave(
        &self,
        call: impl FnOnce(&mut Store<Imported, Imported>, SessionKey) -> Result<()>,
    ) -> Result<()> {
        with(|store| match store.entry(self.key()) == self.entry {
            true => call(store, self.key()),
            false => Ok(()),
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // from inside a callback a closed session is kept a little longer than needed
        let _ = with(|store| {
            store.forget(self.0);
            Ok(())
        });
    }
}

fn handle(store: &Store<Imported, Imported>, key: SessionKey) -> Session {
    let held = Rc::new(Held(key));
    let entry = store.entry(key);
    Session::new(Handle { held, entry })
}

struct Component;

impl Guest for Component {
    type Session = Handle;
    type Prepared = Handle;

    fn configure(
        holder: String,
        options: StoreOptions,
        backend: Option<Vec<(String, String)>>,
    ) -> Result<Option<BackendInfo>> {
        with(|store| store.configure(&holder, options, backend))
    }

    fn create(options: CreateOptions, time_ms: u64) -> Result<Session> {
        with(|store| {
            let key = store.create(options, time_ms)?;
            Ok(handle(store, key))
        })
    }

    fn prepare(options: CreateOptions, time_ms: u64) -> Result<Prepared> {
        let key = with(|store| store.prepare(options, time_ms))?;
        let held = Rc::new(Held(key));
        Ok(Prepared::new(Handle { held, entry: None }))
    }

    fn open(id: String, mode: OpenMode) -> Result<(Session, Repair)> {
        with(|store| {
            let (key, repair) = store.open(&id, mode)?;
            Ok((handle(store, key), repair))
        })
    }

    fn fork(
        source: String,
        boundary: Option<u64>,
        child: Option<String>,
        cwd: Option<String>,
        time_ms: u64,
    ) -> Result<Session> {
        with(|store| {
            let key = store.fork(&source, boundary, child, cwd, time_ms)?;
            Ok(handle(store, key))
        })
    }

    fn read(id: String, cursor: u64, bytes_max: u32) -> Result<Page> {
        with(|store| store.read(&id, cursor, bytes_max))
    }

    fn read_cut(id: String, cursor: u64, bytes_max: u32) -> Result<Page> {
        with(|store| store.read_cut(&id, cursor, bytes_max))
    }

    fn live() -> Vec<String> {
        with(|store| Ok(store.live())).unwrap_or_default()
    }

    fn list(cursor: Option<String>, count_max: u32) -> Result<Listing> {
        with(|store| store.list(cursor.as_deref(), count_max))
    }

    fn has(id: String) -> Result<bool> {
        with(|store| store.has(&id))
    }

    fn delete(id: String) -> Result<()> {
        with(|store| store.delete(&id))
    }

    fn update(id: String, summary: SessionSummary) -> Result<()> {
        with(|store| store.update(&id, &summary))
    }

    fn renew() -> Result<()> {
        with(Store::renew)
    }

    fn evict(id: String, holder: Eviction) -> Result<()> {
        with(|store| store.evict(&id, holder))
    }

    fn unbind() -> Result<()> {
        with(Store::unbind)
    }

    fn adopt() -> Result<Vec<Bound>> {
        with(Store::adopt)
    }
}

impl GuestPrepared for Handle {
    fn enter(&self) -> Result<Session> {
        let entry = with(|store| {
            store.enter(self.key())?;
            Ok(store.entry(self.key()))
        })?;
        let held = Rc::clone(&self.held);
        Ok(Session::new(Handle { held, entry }))
    }
}

/// What cannot say `reentrant` answers the empty value there; a component cannot be entered twice anyway.
impl GuestSession for Handle {
    fn id(&self) -> String {
        with(|store| Ok(store.id(self.key())))
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    fn header(&self) -> SessionHeader {
        let nameless = SessionHeader {
            version: 0,
            id: String::new(),
            created_at_ms: 0,
            cwd: None,
            parent_session: None,
            seed_length: None,
            delegation_depth: None,
            extra: None,
        };
        with(|store| Ok(store.header(self.key())))
            .ok()
            .flatten()
            .unwrap_or(nameless)
    }

    fn next_seq(&self) -> u64 {
        with(|store| Ok(store.next_seq(self.key())))
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    fn next_turn(&self) -> u64 {
        with(|store| Ok(store.next_turn(self.key())))
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    fn append(&self, events: String, time_ms: u64) -> Result<Batch> {
        with(|store| store.append(self.key(), &events, time_ms))
    }

    fn append_out_of_band(&self, event: String, trigger: String, time_ms: u64) -> Result<Batch> {
        with(|store| store.append_out_of_band(self.key(), &event, &trigger, time_ms))
    }

    fn events(&self, start: u64, bytes_max: u32) -> Result<Page> {
        with(|store| store.events(self.key(), start, bytes_max))
    }

    fn messages(&self, start: u32, bytes_max: u32) -> Result<Messages> {
        with(|store| store.messages(self.key(), start, bytes_max))
    }

    fn surface(&self) -> Surface {
        let empty = Surface {
            nodes: Vec::new(),
            generation: 0,
        };
        with(|store| Ok(store.surface(self.key())))
            .ok()
            .flatten()
            .unwrap_or(empty)
    }

    fn request_header(&self) -> Option<String> {
        with(|store| store.request_header(self.key()))
            .ok()
            .flatten()
    }

    fn usage(&self) -> Usage {
        let nothing = Usage {
            steps: Vec::new(),
            total: Vec::new(),
        };
        with(|store| Ok(store.usage(self.key())))
            .ok()
            .flatten()
            .unwrap_or(nothing)
    }

    fn flush(&self) -> Result<()> {
        with(|store| store.flush(self.key()))
    }

    fn persist(&self) -> Result<()> {
        with(|store| store.persist(self.key()))
    }

    fn close(&self) -> Result<()> {
        self.leave(Store::close)
    }

    fn announce(&self) -> Result<()> {
        with(|store| store.announce(self.key()))
    }

    fn detach(&self) -> Result<()> {
        self.leave(Store::detach)
    }
}

annals_sdk::imported!(Imported, persistence);

impl Observer<Imported> for Imported {
    fn created(
        &self,
        _store: &mut Store<Imported, Imported>,
        id: &str,
    ) -> std::result::Result<(), String> {
        observer::created(id)
    }

    fn appended(&self, _store: &mut Store<Imported, Imported>, id: &str, events: &Batch) {
        observer::appended(id, events);
    }

    fn flushed(
        &self,
        _store: &mut Store<Imported, Imported>,
        id: &str,
    ) -> std::result::Result<(), String> {
        observer::flushed(id)
    }

    fn disposed(&self, _store: &mut Store<Imported, Imported>, id: &str) {
        observer::disposed(id);
    }
}

#[allow(unsafe_code)]
mod exported {
    use super::Component;

    crate::bindings::export!(Component with_types_in crate::bindings);
}
