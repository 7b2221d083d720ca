//! Store and backend as one Rust program.

use std::path::Path;
use std::sync::Arc;

use annals_core::header::Header;
use annals_jsonl::Jsonl;
use annals_sdk::types::Batch;
use annals_store::{
    CreateOptions, Fold, Observer, OpenMode, SessionKey, Store, StoreOptions, Surface, log,
};

use crate::answer::Stop;
use crate::host::{
    Host, LISTED, MESSAGES_BYTES, Opened, PAGE_BYTES, Rules, Sessions, forwarded_rules,
};
use crate::ops::Script;
use crate::records::{header, refused};

/// The way of linking.
pub struct Native;

/// The observer of a store whose script listens.
pub struct Listeners(Arc<Script<SessionKey>>);

impl Host for Native {
    type Store = Store<Jsonl, ()>;
    type Watched = Store<Jsonl, Listeners>;

    fn name(&self) -> &'static str {
        "native"
    }

    fn at(&self, root: &Path) -> Result<Self::Store, Stop> {
        let mut store = self.alone()?;
        store.bind(root)?;
        Ok(store)
    }

    fn alone(&self) -> Result<Self::Store, Stop> {
        Ok(Store::new(Jsonl::default(), ()))
    }

    fn watched(
        &self,
        script: Arc<Script<SessionKey>>,
        out_of_band: &str,
    ) -> Result<Self::Watched, Stop> {
        let mut store = Store::new(Jsonl::default(), Listeners(script));
        let options = StoreOptions {
            out_of_band_types: vec![out_of_band.to_owned()],
            strict: false,
        };
        store
            .configure("{}", options, None)
            .map_err(|error| refused!(error))?;
        Ok(store)
    }

    fn rules(&self) -> &dyn Rules {
        self
    }
}

impl<O: Observer<Jsonl>> Sessions for Store<Jsonl, O> {
    type Key = SessionKey;

    fn bind(&mut self, root: &Path) -> Result<(), Stop> {
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = vec![
            setting("root", &root.to_string_lossy()),
            setting("sync", "never"),
        ];
        let holder = format!("{{\"pid\":{}}}", std::process::id());
        self.configure(&holder, StoreOptions::default(), Some(settings))
            .map(drop)
            .map_err(|error| refused!(error))
    }

    fn create(&mut self, options: CreateOptions, time_ms: u64) -> Result<SessionKey, Stop> {
        Store::create(self, options, time_ms).map_err(|error| refused!(error))
    }

    fn prepare(&mut self, options: CreateOptions, time_ms: u64) -> Result<SessionKey, Stop> {
        Store::prepare(self, options, time_ms).map_err(|error| refused!(error))
    }

    fn enter(&mut self, key: &SessionKey) -> Result<(), Stop> {
        Store::enter(self, *key).map_err(|error| refused!(error))
    }

    fn announce(&mut self, key: &SessionKey) -> Result<(), Stop> {
        Store::announce(self, *key).map_err(|error| refused!(error))
    }

    fn detach(&mut self, key: &SessionKey) -> Result<(), Stop> {
        Store::detach(self, *key).map_err(|error| refused!(error))
    }

    fn open(&mut self, id: &str) -> Result<(SessionKey, Opened), Stop> {
        let opened = Store::open(self, id, OpenMode::Resume);
        let (key, repair) = opened.map_err(|error| refused!(error))?;
        let (cut_bytes, closers) = (repair.cut_bytes, repair.closers);
        Ok((key, Opened { cut_bytes, closers }))
    }

    fn fork(
        &mut self,
        id: &str,
        boundary: Option<u64>,
        child: Option<String>,
        time_ms: u64,
    ) -> Result<SessionKey, Stop> {
        Store::fork(self, id, boundary, child, None, time_ms).map_err(|error| refused!(error))
    }

    fn append(&mut self, key: &SessionKey, lines: &str, time_ms: u64) -> Result<String, Stop> {
        let appended = Store::append(self, *key, lines, time_ms);
        appended
            .map(|batch| batch.lines)
            .map_err(|error| refused!(error))
    }

    fn append_out_of_band(
        &mut self,
        key: &SessionKey,
        line: &str,
        trigger: &str,
        time_ms: u64,
    ) -> Result<String, Stop> {
        let appended = Store::append_out_of_band(self, *key, line, trigger, time_ms);
        appended
            .map(|batch| batch.lines)
            .map_err(|error| refused!(error))
    }

    fn flush(&mut self, key: &SessionKey) -> Result<(), Stop> {
        Store::flush(self, *key).map_err(|error| refused!(error))
    }

    fn persist(&mut self, key: &SessionKey) -> Result<(), Stop> {
        Store::persist(self, *key).map_err(|error| refused!(error))
    }

    fn close(&mut self, key: &SessionKey) -> Result<(), Stop> {
        Store::close(self, *key).map_err(|error| refused!(error))
    }

    fn header(&self, key: &SessionKey) -> Result<Header, Stop> {
        let header = Store::header(self, *key).ok_or_else(forgotten)?;
        Ok(header!(header))
    }

    fn next_seq(&self, key: &SessionKey) -> Result<u64, Stop> {
        Store::next_seq(self, *key).ok_or_else(forgotten)
    }

    fn surface(&self, key: &SessionKey) -> Result<Surface, Stop> {
        Store::surface(self, *key).ok_or_else(forgotten)
    }

    fn request_header(&self, key: &SessionKey) -> Result<Option<String>, Stop> {
        // what the component answers where the newest snapshot holds none
        Ok(Store::request_header(self, *key).unwrap_or_default())
    }

    fn events_page(&self, key: &SessionKey, start: u64) -> Result<(String, Option<u64>), Stop> {
        let page = self.events(*key, start, PAGE_BYTES);
        page.map(|page| (page.lines, page.next))
            .map_err(|error| refused!(error))
    }

    fn messages_page(&mut self, key: &SessionKey, start: u32) -> Result<(String, u32), Stop> {
        let page = self.messages(*key, start, MESSAGES_BYTES);
        page.map(|page| (page.lines, page.total))
            .map_err(|error| refused!(error))
    }

    fn listing(&mut self, cursor: Option<&str>) -> Result<(Vec<Header>, Option<String>), Stop> {
        let page = Store::list(self, cursor, LISTED).map_err(|error| refused!(error))?;
        let readable = page.sessions.into_iter().filter_map(|entry| entry.header);
        Ok((readable.map(|header| header!(header)).collect(), page.next))
    }

    fn has(&mut self, id: &str) -> Result<bool, Stop> {
        Store::has(self, id).map_err(|error| refused!(error))
    }

    fn live(&mut self) -> Result<Vec<String>, Stop> {
        Ok(Store::live(self))
    }

    fn key_of(&mut self, id: &str) -> Result<Option<SessionKey>, Stop> {
        Ok(Store::key_of(self, id))
    }
}

fn forgotten() -> Stop {
    Stop::Misread("the store has forgotten the session".to_owned())
}

impl Observer<Jsonl> for Listeners {
    fn created(&self, store: &mut Store<Jsonl, Self>, id: &str) -> Result<(), String> {
        self.0.created(store, id)
    }

    fn appended(&self, store: &mut Store<Jsonl, Self>, id: &str, events: &Batch) {
        self.0.appended(store, id, &events.lines);
    }

    fn flushed(&self, store: &mut Store<Jsonl, Self>, id: &str) -> Result<(), String> {
        self.0.flushed(store, id)
    }

    fn disposed(&self, store: &mut Store<Jsonl, Self>, id: &str) {
        self.0.disposed(store, id);
    }
}

impl Rules for Native {
    fn fold_surface(&self, lines: &str) -> Result<Fold, Stop> {
        log::fold_surface(lines).map_err(|error| refused!(error))
    }

    fn is_surface_type(&self, event_type: &str) -> Result<bool, Stop> {
        Ok(log::is_surface_type(event_type))
    }

    fn check_header(&self, header: &str, id: &str) -> Result<Header, Stop> {
        let header = log::check_header(header, id).map_err(|error| refused!(error))?;
        Ok(header!(header))
    }

    forwarded_rules!(self, log::);
}
