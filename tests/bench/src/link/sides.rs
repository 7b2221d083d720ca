//! One store for each way to call it.

use annals::{Annals, Builder, Link, Place, Session};
use annals_sdk::Persistence;
use annals_store::{SessionKey, Store};
use anyhow::{Result, ensure};

use crate::side::{TIME_MS, failed, native_options, wasm_options};

/// The session that is measured, and one that is closed.
const MEASURED: &str = "measured";
const CLOSED: &str = "closed";

/// About what a batch takes when it is stored with seq and time.
const READ_BYTES: u32 = 290_000;

/// A store and one live session of it.
pub trait Side {
    /// Does nothing: what is left is the way to the code that would and back.
    fn close_closed(&mut self) -> Result<()>;
    /// A call that the store answers.
    fn next_seq(&mut self) -> Result<u64>;
    /// A call that the store passes on to the backend.
    fn has(&mut self) -> Result<bool>;
    /// Appends event lines, in memory.
    fn append(&mut self, lines: &str) -> Result<()>;
    /// Hands what was appended to the backend.
    fn flush(&mut self) -> Result<()>;
    /// Reads about a batch back from the backend; how many events it was.
    fn read(&mut self) -> Result<usize>;
}

/// The crates of the components, linked into this program.
pub struct Native<P> {
    store: Store<P, ()>,
    key: SessionKey,
    closed: SessionKey,
}

impl<P: Persistence> Native<P> {
    pub fn open(persistence: P, settings: &[(String, String)]) -> Result<Self> {
        let mut store = Store::new(persistence, ());
        let options = annals_store::StoreOptions::default();
        let configured = store.configure("{}", options, Some(settings.to_vec()));
        configured.map_err(failed)?;
        let mut create = |id| {
            let created = store.create(native_options(id, String::new()), TIME_MS);
            created.map_err(failed)
        };
        let (key, closed) = (create(MEASURED)?, create(CLOSED)?);
        store.close(closed).map_err(failed)?;
        Ok(Self { store, key, closed })
    }
}

impl<P: Persistence> Side for Native<P> {
    fn close_closed(&mut self) -> Result<()> {
        self.store.close(self.closed).map_err(failed)
    }

    fn next_seq(&mut self) -> Result<u64> {
        Ok(self.store.next_seq(self.key).unwrap_or_default())
    }

    fn has(&mut self) -> Result<bool> {
        self.store.has(MEASURED).map_err(failed)
    }

    fn append(&mut self, lines: &str) -> Result<()> {
        let appended = self.store.append(self.key, lines, TIME_MS);
        appended.map(drop).map_err(failed)
    }

    fn flush(&mut self) -> Result<()> {
        self.store.flush(self.key).map_err(failed)
    }

    fn read(&mut self) -> Result<usize> {
        let page = self.store.read(MEASURED, 0, READ_BYTES).map_err(failed)?;
        Ok(count(&page.lines))
    }
}

/// Components, through the Rust library.
pub struct Linked {
    annals: Annals,
    session: Session,
    closed: Session,
}

impl Linked {
    pub fn open(place: Place, link: Link) -> Result<Self> {
        let builder = Builder::default().place(place).link(link);
        let annals = builder.clock(|| TIME_MS).build().map_err(failed)?;
        let create = |id| {
            let created = annals.create(wasm_options(id, String::new()));
            created.map_err(failed)
        };
        let (session, closed) = (create(MEASURED)?, create(CLOSED)?);
        closed.close().map_err(failed)?;
        ensure!(annals.info().is_some(), "there is no backend");
        Ok(Self {
            annals,
            session,
            closed,
        })
    }
}

impl Side for Linked {
    fn close_closed(&mut self) -> Result<()> {
        self.closed.close().map_err(failed)
    }

    fn next_seq(&mut self) -> Result<u64> {
        self.session.next_seq().map_err(failed)
    }

    fn has(&mut self) -> Result<bool> {
        self.annals.has(MEASURED).map_err(failed)
    }

    fn append(&mut self, lines: &str) -> Result<()> {
        self.session.append(lines).map(drop).map_err(failed)
    }

    fn flush(&mut self) -> Result<()> {
        self.session.flush().map_err(failed)
    }

    fn read(&mut self) -> Result<usize> {
        let page = self.annals.read(MEASURED, 0, READ_BYTES);
        Ok(count(&page.map_err(failed)?.lines))
    }
}

fn count(lines: &str) -> usize {
    lines.bytes().filter(|byte| *byte == b'\n').count()
}
