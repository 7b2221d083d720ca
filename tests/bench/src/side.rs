//! The two ways to run the same code: as one Rust program, and as linked components.

use std::fmt::Display;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use annals::{Annals, Builder};
use annals_jsonl::Jsonl;
use annals_store::{SessionKey, Store};

/// When events have no time of their own.
pub const TIME_MS: u64 = 1_783_352_044_771;

/// How much of the history is asked for at a time.
const HISTORY_BYTES: u32 = 1 << 20;

/// A store over JSONL files with `sync = never`, and the one session that is looked at.
pub trait Side {
    /// Opens a stored session to go on with it: the whole path, files included.
    fn load(&mut self, id: &str) -> Result<()>;
    /// Makes a new session.
    fn create(&mut self, id: &str, seed: String) -> Result<()>;
    /// Checks lines as the beginning of a session, folds them into its surface, and forgets it: no files.
    fn fold(&mut self, lines: String) -> Result<()>;
    /// How many nodes the surface has.
    fn surface(&mut self) -> Result<usize>;
    /// Messages from a position on, as far as a page goes.
    fn messages(&mut self, start: u32) -> Result<Messages>;
    /// Appends event lines, in memory.
    fn append(&mut self, lines: &str) -> Result<()>;
    /// Hands what was appended to the backend.
    fn flush(&mut self) -> Result<()>;
    /// Lets go of the session without storing anything.
    fn leave(&mut self) -> Result<()>;
}

/// A page of messages.
pub struct Messages {
    /// How many there are in all.
    pub total: u32,
    /// This page of them, one a line.
    pub lines: String,
}

/// The crates of the components, linked into this program.
pub struct Native {
    store: Store<Jsonl, ()>,
    key: Option<SessionKey>,
}

impl Native {
    /// Over the files below `root`.
    pub fn open(root: &Path) -> Result<Self> {
        let mut store = Store::new(Jsonl::default(), ());
        let root = root.to_str().context("the root is no text")?;
        let settings = [("root", root), ("sync", "never")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        store
            .configure(
                "{}",
                annals_store::StoreOptions::default(),
                Some(settings.into()),
            )
            .map_err(failed)?;
        Ok(Self { store, key: None })
    }

    fn key(&self) -> Result<SessionKey> {
        self.key.context("no session is open")
    }
}

impl Side for Native {
    fn load(&mut self, id: &str) -> Result<()> {
        let opened = self.store.open(id, annals_store::OpenMode::Resume);
        self.key = Some(opened.map_err(failed)?.0);
        Ok(())
    }

    fn create(&mut self, id: &str, seed: String) -> Result<()> {
        let created = self.store.create(native_options(id, seed), TIME_MS);
        self.key = Some(created.map_err(failed)?);
        Ok(())
    }

    fn fold(&mut self, lines: String) -> Result<()> {
        let options = native_options("folded", lines);
        let key = self.store.prepare(options, TIME_MS).map_err(failed)?;
        self.store.forget(key);
        Ok(())
    }

    fn surface(&mut self) -> Result<usize> {
        let surface = self.store.surface(self.key()?);
        Ok(surface.context("the session is gone")?.nodes.len())
    }

    fn messages(&mut self, start: u32) -> Result<Messages> {
        let page = self.store.messages(self.key()?, start, HISTORY_BYTES);
        let page = page.map_err(failed)?;
        Ok(Messages {
            total: page.total,
            lines: page.lines,
        })
    }

    fn append(&mut self, lines: &str) -> Result<()> {
        let appended = self.store.append(self.key()?, lines, TIME_MS);
        appended.map(drop).map_err(failed)
    }

    fn flush(&mut self) -> Result<()> {
        self.store.flush(self.key()?).map_err(failed)
    }

    fn leave(&mut self) -> Result<()> {
        let key = self.key()?;
        self.store.detach(key).map_err(failed)?;
        self.store.forget(key);
        self.key = None;
        Ok(())
    }
}

pub fn native_options(id: &str, seed: String) -> annals_store::CreateOptions {
    annals_store::CreateOptions {
        id: Some(id.to_owned()),
        cwd: None,
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        created_at_ms: Some(TIME_MS),
        seed: Some(seed),
        extra: None,
    }
}

/// The bundled component, through the Rust library.
pub struct Wasm {
    annals: Annals,
    session: Option<annals::Session>,
}

impl Wasm {
    /// Over the files below `root`.
    pub fn open(root: &Path) -> Result<Self> {
        let builder = Builder::default().root(root).setting("sync", "never");
        let annals = builder.clock(|| TIME_MS).build().map_err(failed)?;
        Ok(Self {
            annals,
            session: None,
        })
    }

    fn session(&self) -> Result<&annals::Session> {
        self.session.as_ref().context("no session is open")
    }
}

impl Side for Wasm {
    fn load(&mut self, id: &str) -> Result<()> {
        let opened = self.annals.open(id, annals::OpenMode::Resume);
        self.session = Some(opened.map_err(failed)?.0);
        Ok(())
    }

    fn create(&mut self, id: &str, seed: String) -> Result<()> {
        let created = self.annals.create(wasm_options(id, seed));
        self.session = Some(created.map_err(failed)?);
        Ok(())
    }

    fn fold(&mut self, lines: String) -> Result<()> {
        let options = wasm_options("folded", lines);
        drop(self.annals.prepare(options).map_err(failed)?);
        Ok(())
    }

    fn surface(&mut self) -> Result<usize> {
        Ok(self.session()?.surface().map_err(failed)?.nodes.len())
    }

    fn messages(&mut self, start: u32) -> Result<Messages> {
        let page = self.session()?.messages(start, HISTORY_BYTES);
        let page = page.map_err(failed)?;
        Ok(Messages {
            total: page.total,
            lines: page.lines,
        })
    }

    fn append(&mut self, lines: &str) -> Result<()> {
        self.session()?.append(lines).map(drop).map_err(failed)
    }

    fn flush(&mut self) -> Result<()> {
        self.session()?.flush().map_err(failed)
    }

    fn leave(&mut self) -> Result<()> {
        self.session()?.detach().map_err(failed)?;
        self.session = None;
        // answered when the handle is gone for good
        self.annals.live().map(drop).map_err(failed)
    }
}

pub fn wasm_options(id: &str, seed: String) -> annals::CreateOptions {
    annals::CreateOptions {
        id: Some(id.to_owned()),
        cwd: None,
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        created_at_ms: Some(TIME_MS),
        seed: Some(seed),
        extra: None,
    }
}

pub fn failed(error: impl Display) -> anyhow::Error {
    anyhow!("{error}")
}
