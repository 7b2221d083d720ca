//! Store and backend as linked WebAssembly components.

use std::collections::BTreeMap;
use std::path::Path;

use annals::{Annals, Backend, CreateOptions, Error, OpenMode, Session, SessionHeader};
use annals_core::header::Header;

use crate::answer::Refusal;
use crate::host::{Host, LISTED, Opened, PAGE_BYTES, Root};

/// The way of linking.
pub struct Wasm;

struct WasmRoot {
    annals: Annals,
    live: BTreeMap<String, Session>,
}

impl Host for Wasm {
    fn name(&self) -> &'static str {
        "wasm"
    }

    fn at(&self, root: &Path) -> Result<Box<dyn Root>, Refusal> {
        let builder = Annals::builder().backend(Backend::Jsonl).root(root);
        let annals = builder.setting("sync", "never").build().map_err(refusal)?;
        Ok(Box::new(WasmRoot {
            annals,
            live: BTreeMap::new(),
        }))
    }
}

impl WasmRoot {
    fn session(&self, id: &str) -> Result<&Session, Refusal> {
        let session = self.live.get(id);
        session.ok_or_else(|| Refusal::new("session-not-found", format!("{id:?} is not live")))
    }
}

impl Root for WasmRoot {
    fn create(&mut self, header: &Header, seed: &str) -> Result<(), Refusal> {
        let session = self.annals.create(options(header, seed)).map_err(refusal)?;
        self.live.insert(header.id.clone(), session);
        Ok(())
    }

    fn create_detached(&mut self, _header: &Header, _seed: &str) -> Option<Result<(), Refusal>> {
        None
    }

    fn open(&mut self, id: &str) -> Result<Opened, Refusal> {
        let (session, repair) = self.annals.open(id, OpenMode::Resume).map_err(refusal)?;
        let header = core_header(session.header().clone());
        self.live.insert(id.to_owned(), session);
        Ok(Opened {
            header,
            cut_bytes: repair.cut_bytes,
            closers: repair.closers,
        })
    }

    fn events(&mut self, id: &str) -> Result<String, Refusal> {
        let session = self.session(id)?;
        let mut lines = String::new();
        let mut start = Some(0);
        while let Some(seq) = start {
            let page = session.events(seq, PAGE_BYTES).map_err(refusal)?;
            lines.push_str(&page.lines);
            start = page.next;
        }
        Ok(lines)
    }

    fn append(&mut self, id: &str, lines: &str, time_ms: u64) -> Result<String, Refusal> {
        let batch = self
            .session(id)?
            .append_at(lines, time_ms)
            .map_err(refusal)?;
        Ok(batch.lines)
    }

    fn flush(&mut self, id: &str) -> Result<(), Refusal> {
        self.session(id)?.flush().map_err(refusal)
    }

    fn persist(&mut self, id: &str) -> Result<(), Refusal> {
        self.session(id)?.persist().map_err(refusal)
    }

    fn close(&mut self, id: &str) -> Result<(), Refusal> {
        self.session(id)?.close().map_err(refusal)?;
        self.live.remove(id);
        Ok(())
    }

    fn close_all(&mut self) -> Result<(), Refusal> {
        let ids: Vec<String> = self.live.keys().cloned().collect();
        ids.iter().try_for_each(|id| self.close(id))
    }

    fn is_live(&self, id: &str) -> bool {
        self.live.contains_key(id)
    }

    fn has(&mut self, id: &str) -> Result<bool, Refusal> {
        self.annals.has(id).map_err(refusal)
    }

    fn list(&mut self) -> Result<Vec<Header>, Refusal> {
        let mut headers = Vec::new();
        let mut cursor = None;
        loop {
            let page = self
                .annals
                .list(cursor.as_deref(), LISTED)
                .map_err(refusal)?;
            let readable = page.sessions.into_iter().filter_map(|entry| entry.header);
            headers.extend(readable.map(core_header));
            cursor = page.next;
            if cursor.is_none() {
                return Ok(headers);
            }
        }
    }
}

fn options(header: &Header, seed: &str) -> CreateOptions {
    let header = header.clone();
    CreateOptions {
        id: Some(header.id),
        cwd: header.cwd,
        parent_session: header.parent_session,
        seed_length: header.seed_length,
        delegation_depth: header.delegation_depth,
        created_at_ms: Some(header.created_at_ms),
        seed: (!seed.is_empty()).then(|| seed.to_owned()),
        extra: header.extra,
    }
}

fn refusal(error: Error) -> Refusal {
    Refusal::new(&error.reason, error.message)
}

fn core_header(header: SessionHeader) -> Header {
    Header {
        version: header.version,
        id: header.id,
        created_at_ms: header.created_at_ms,
        cwd: header.cwd,
        parent_session: header.parent_session,
        seed_length: header.seed_length,
        delegation_depth: header.delegation_depth,
        extra: header.extra,
    }
}
