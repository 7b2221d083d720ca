//! Store and backend as linked WebAssembly components, through the Rust library.

mod sessions;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use annals::{Annals, Backend, Batch, Builder, Log, Observer, Prepared, Session};
use annals_core::header::Header;
use annals_store::{CreateOptions, Fold, Replacement};

use crate::answer::{Skip, Stop};
use crate::host::{Host, Rules, Sessions, forwarded_rules};
use crate::ops::Script;
use crate::records::{header, refused};

/// The way of linking.
pub struct Wasm {
    log: Log,
}

/// A store in its own thread, or inside one of its callbacks what there is of it: the sessions.
pub struct WasmStore {
    annals: Option<Annals>,
    /// By key.
    sessions: Arc<Mutex<Vec<Entry>>>,
    /// The last number given to an id.
    minted: u64,
}

/// What a key names.
#[derive(Clone)]
struct Entry {
    header: Header,
    /// How many events it began with.
    seed: u64,
    prepared: Option<Arc<Prepared>>,
    /// Since it is live.
    session: Option<Session>,
}

struct Listeners {
    script: Arc<Script<usize>>,
    sessions: Arc<Mutex<Vec<Entry>>>,
}

/// The clock of every store here: scripts run one after the other.
static NOW_MS: AtomicU64 = AtomicU64::new(0);

fn now_ms() -> u64 {
    NOW_MS.load(Ordering::SeqCst)
}

impl Wasm {
    /// # Errors
    /// There are no components in this build.
    pub fn new() -> annals::Result<Self> {
        Ok(Self { log: Log::new()? })
    }
}

impl Host for Wasm {
    type Store = WasmStore;
    type Watched = WasmStore;

    fn name(&self) -> &'static str {
        "wasm"
    }

    fn at(&self, root: &Path) -> Result<WasmStore, Stop> {
        let builder = Annals::builder().backend(Backend::Jsonl).root(root);
        WasmStore::new(builder.setting("sync", "never"), Arc::default())
    }

    fn alone(&self) -> Result<WasmStore, Stop> {
        WasmStore::new(Annals::builder().backend(Backend::None), Arc::default())
    }

    fn watched(&self, script: Arc<Script<usize>>, out_of_band: &str) -> Result<WasmStore, Stop> {
        let sessions: Arc<Mutex<Vec<Entry>>> = Arc::default();
        let listeners = Listeners {
            script,
            sessions: Arc::clone(&sessions),
        };
        let builder = Annals::builder()
            .backend(Backend::None)
            .out_of_band_type(out_of_band)
            .observer(Box::new(listeners));
        WasmStore::new(builder, sessions)
    }

    fn rules(&self) -> &dyn Rules {
        self
    }
}

impl Drop for WasmStore {
    /// The observer has the sessions too, and they keep their store alive.
    fn drop(&mut self) {
        if self.annals.is_some() {
            self.entries().clear();
        }
    }
}

impl WasmStore {
    fn new(builder: Builder, sessions: Arc<Mutex<Vec<Entry>>>) -> Result<Self, Stop> {
        let annals = builder.clock(now_ms).lease_wait_ms(0).build();
        Ok(Self {
            annals: Some(annals.map_err(|error| refused!(error))?),
            sessions,
            minted: 0,
        })
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn annals(&self) -> Result<&Annals, Stop> {
        self.annals.as_ref().ok_or(Stop::Skipped(Skip::Callback))
    }

    fn keep(&self, entry: Entry) -> usize {
        let mut entries = self.entries();
        entries.push(entry);
        entries.len() - 1
    }

    fn keep_session(&self, session: Session) -> usize {
        self.keep(Entry {
            header: header!(session.header().clone()),
            seed: 0,
            prepared: None,
            session: Some(session),
        })
    }

    fn entry(&self, key: usize) -> Result<Entry, Stop> {
        let entry = self.entries().get(key).cloned();
        entry.ok_or_else(|| Stop::Misread(format!("no session has the key {key}")))
    }

    /// A session that has entered; what is only prepared cannot be asked anything.
    fn session(&self, key: usize) -> Result<Session, Stop> {
        let session = self.entry(key)?.session;
        session.ok_or(Stop::Skipped(Skip::Prepared))
    }

    /// The library gives an id of its own where none is given; the vectors' are counted.
    fn id(&mut self, given: Option<String>) -> Result<String, Stop> {
        if let Some(id) = given {
            return Ok(id);
        }
        loop {
            self.minted += 1;
            let id = format!("session-{}", self.minted);
            if !self.live()?.contains(&id) {
                return Ok(id);
            }
        }
    }

    fn options(&mut self, given: CreateOptions) -> Result<annals::CreateOptions, Stop> {
        Ok(annals::CreateOptions {
            id: Some(self.id(given.id)?),
            cwd: given.cwd,
            parent_session: given.parent_session,
            seed_length: given.seed_length,
            delegation_depth: given.delegation_depth,
            created_at_ms: given.created_at_ms,
            seed: given.seed,
            extra: given.extra,
        })
    }
}

impl Listeners {
    fn inside(&self) -> WasmStore {
        WasmStore {
            annals: None,
            sessions: Arc::clone(&self.sessions),
            minted: 0,
        }
    }
}

impl Observer for Listeners {
    fn created(&mut self, id: &str) -> Result<(), String> {
        self.script.created(&mut self.inside(), id)
    }

    fn appended(&mut self, id: &str, events: &Batch) {
        self.script.appended(&mut self.inside(), id, &events.lines);
    }

    fn flushed(&mut self, id: &str) -> Result<(), String> {
        self.script.flushed(&mut self.inside(), id)
    }

    fn disposed(&mut self, id: &str) {
        self.script.disposed(&mut self.inside(), id);
    }
}

impl Rules for Wasm {
    fn fold_surface(&self, lines: &str) -> Result<Fold, Stop> {
        let fold = self.log.fold_surface(lines);
        let fold = fold.map_err(|error| refused!(error))?;
        let replacements = fold.replacements.into_iter();
        Ok(Fold {
            nodes: fold.nodes,
            replacements: replacements
                .map(|of| Replacement {
                    seq: of.seq,
                    start: of.start,
                    end: of.end,
                    shadowed: of.shadowed,
                })
                .collect(),
        })
    }

    fn is_surface_type(&self, event_type: &str) -> Result<bool, Stop> {
        let answer = self.log.is_surface_type(event_type);
        answer.map_err(|error| refused!(error))
    }

    fn check_header(&self, header: &str, id: &str) -> Result<Header, Stop> {
        let header = self.log.check_header(header, id);
        Ok(header!(header.map_err(|error| refused!(error))?))
    }

    forwarded_rules!(self, self.log.);
}
