//! Store and backend as one Rust program.

use std::collections::BTreeMap;
use std::path::Path;

use annals_core::header::Header;
use annals_jsonl::Jsonl;
use annals_sdk::types::{Error, SessionHeader};
use annals_store::{CreateOptions, OpenMode, SessionKey, Store};

use crate::answer::Refusal;
use crate::host::{Host, LISTED, Opened, PAGE_BYTES, Root};

/// The way of linking.
pub struct Native;

struct NativeRoot {
    settings: Vec<(String, String)>,
    store: Store<Jsonl, ()>,
    live: BTreeMap<String, Live>,
}

enum Live {
    Attached(SessionKey),
    /// In a store of its own, which may not have met the backend yet.
    Detached(Box<Store<Jsonl, ()>>, SessionKey),
}

impl Host for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn at(&self, root: &Path) -> Result<Box<dyn Root>, Refusal> {
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = vec![
            setting("root", &root.to_string_lossy()),
            setting("sync", "never"),
        ];
        let mut store = Store::new(Jsonl::default(), ());
        configure(&mut store, &settings)?;
        Ok(Box::new(NativeRoot {
            settings,
            store,
            live: BTreeMap::new(),
        }))
    }
}

fn configure(store: &mut Store<Jsonl, ()>, settings: &[(String, String)]) -> Result<(), Refusal> {
    let holder = format!("{{\"pid\":{}}}", std::process::id());
    store
        .configure(&holder, &[], Some(settings.to_vec()))
        .map_err(refusal)?;
    Ok(())
}

impl NativeRoot {
    fn session(&mut self, id: &str) -> Result<(&mut Store<Jsonl, ()>, SessionKey), Refusal> {
        match self.live.get_mut(id) {
            Some(Live::Attached(key)) => Ok((&mut self.store, *key)),
            Some(Live::Detached(store, key)) => Ok((store, *key)),
            None => Err(Refusal::new(
                "session-not-found",
                format!("{id:?} is not live"),
            )),
        }
    }
}

impl Root for NativeRoot {
    fn create(&mut self, header: &Header, seed: &str) -> Result<(), Refusal> {
        let key = self
            .store
            .create(options(header, seed), 0)
            .map_err(refusal)?;
        self.live.insert(header.id.clone(), Live::Attached(key));
        Ok(())
    }

    fn create_detached(&mut self, header: &Header, seed: &str) -> Option<Result<(), Refusal>> {
        let mut store = Store::new(Jsonl::default(), ());
        let created = store.create(options(header, seed), 0).map_err(refusal);
        Some(created.map(|key| {
            self.live
                .insert(header.id.clone(), Live::Detached(Box::new(store), key));
        }))
    }

    fn open(&mut self, id: &str) -> Result<Opened, Refusal> {
        let (key, repair) = self.store.open(id, OpenMode::Resume).map_err(refusal)?;
        self.live.insert(id.to_owned(), Live::Attached(key));
        Ok(Opened {
            header: self.store.header(key).map(core_header).unwrap_or_default(),
            cut_bytes: repair.cut_bytes,
            closers: repair.closers,
        })
    }

    fn events(&mut self, id: &str) -> Result<String, Refusal> {
        let (store, key) = self.session(id)?;
        let mut lines = String::new();
        let mut start = Some(0);
        while let Some(seq) = start {
            let page = store.events(key, seq, PAGE_BYTES).map_err(refusal)?;
            lines.push_str(&page.lines);
            start = page.next;
        }
        Ok(lines)
    }

    fn append(&mut self, id: &str, lines: &str, time_ms: u64) -> Result<String, Refusal> {
        let (store, key) = self.session(id)?;
        let batch = store.append(key, lines, time_ms).map_err(refusal)?;
        Ok(batch.lines)
    }

    fn flush(&mut self, id: &str) -> Result<(), Refusal> {
        if let Some(Live::Detached(store, _)) = self.live.get_mut(id) {
            configure(store, &self.settings)?;
        }
        let (store, key) = self.session(id)?;
        store.flush(key).map_err(refusal)
    }

    fn persist(&mut self, id: &str) -> Result<(), Refusal> {
        let (store, key) = self.session(id)?;
        store.persist(key).map_err(refusal)
    }

    fn close(&mut self, id: &str) -> Result<(), Refusal> {
        let (store, key) = self.session(id)?;
        store.close(key).map_err(refusal)?;
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
        self.store.has(id).map_err(refusal)
    }

    fn list(&mut self) -> Result<Vec<Header>, Refusal> {
        let mut headers = Vec::new();
        let mut cursor = None;
        loop {
            let page = self
                .store
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

pub(crate) fn options(header: &Header, seed: &str) -> CreateOptions {
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

pub(crate) fn refusal(error: Error) -> Refusal {
    Refusal::new(&error.reason, error.message)
}

pub(crate) fn core_header(header: SessionHeader) -> Header {
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
