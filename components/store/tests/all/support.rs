//! A medium that outlives its stores, a backend that fails on demand, and an observer that writes down what it hears.

use std::cell::RefCell;
use std::rc::Rc;

use annals_memory::Memory;
use annals_sdk::types::{
    BackendInfo, Batch, Error, ErrorCode, Eviction, Listing, Page, SessionHeader, SessionSummary,
};
use annals_sdk::{Persistence, Result};
use annals_store::{CreateOptions, Observer, SessionKey, Store, StoreOptions};

/// What a prepared failure does.
#[derive(Clone, Copy, PartialEq)]
pub enum Failure {
    /// The call does nothing.
    Before,
    /// The call is done, its answer lost.
    After,
    /// The batch is stored as far as its first line, its answer lost.
    Halfway,
    /// As `Halfway`, and a piece of the next line is stored too.
    Torn,
}

#[derive(Default)]
pub struct Inner {
    pub memory: Memory,
    /// Names of the calls so far, with the id where there is one.
    pub calls: Vec<String>,
    /// Calls that fail next: name, how, and with what.
    pub failures: Vec<(&'static str, Failure, ErrorCode)>,
    /// Changes what `load` answers.
    pub mangle: Option<Box<dyn FnMut(u64, Page) -> Page>>,
    /// Changes what `configure` answers.
    pub promise: Option<Box<dyn FnMut(BackendInfo) -> BackendInfo>>,
    /// Changes what `list` answers.
    pub mangle_listing: Option<Box<dyn FnMut(Listing) -> Listing>>,
}

/// A memory backend that several stores can have.
#[derive(Clone, Default)]
pub struct Medium(pub Rc<RefCell<Inner>>);

impl Medium {
    pub fn fail(&self, call: &'static str, failure: Failure, code: ErrorCode) {
        self.0.borrow_mut().failures.push((call, failure, code));
    }

    /// How often a function was called.
    pub fn count(&self, call: &str) -> usize {
        let calls = &self.0.borrow().calls;
        calls
            .iter()
            .filter(|made| made.split(' ').next() == Some(call))
            .count()
    }

    /// What is stored of a session, header left out.
    pub fn lines(&self, id: &str) -> String {
        self.0
            .borrow_mut()
            .memory
            .load(id, 0, u32::MAX)
            .unwrap()
            .lines
    }

    /// Store a log as it is, past every check, and give its lease back.
    pub fn plant(&self, id: &str, lines: &str, count: u64) {
        let mut inner = self.0.borrow_mut();
        inner.memory.configure(&[]).unwrap();
        let token = inner.memory.acquire(Some(id), "{}", None).unwrap();
        let batch = Batch {
            first_seq: 0,
            count,
            last_time_ms: 1,
            lines: lines.to_owned(),
        };
        inner.memory.create(&header(id), &token, &batch).unwrap();
        inner.memory.release(Some(id), &token).unwrap();
    }

    fn call<R>(
        &self,
        name: &str,
        id: &str,
        call: impl FnOnce(&mut Memory, Option<Failure>) -> Result<R>,
    ) -> Result<R> {
        let mut inner = self.0.borrow_mut();
        inner.calls.push(format!("{name} {id}"));
        let at = inner.failures.iter().position(|(call, _, _)| *call == name);
        let Some((_, failure, code)) = at.map(|at| inner.failures.remove(at)) else {
            return call(&mut inner.memory, None);
        };
        let error = Error::new(code, "prepared", "prepared failure");
        if failure != Failure::Before {
            let _ = call(&mut inner.memory, Some(failure));
        }
        Err(error)
    }
}

fn halved(batch: &Batch, failure: Option<Failure>) -> Batch {
    let tail = match failure {
        Some(Failure::Halfway) => "",
        Some(Failure::Torn) => "{\"type\":\"tu\n",
        Some(Failure::Before | Failure::After) | None => return batch.clone(),
    };
    let line = batch.lines.split_inclusive('\n').next().unwrap();
    Batch {
        count: 1,
        lines: format!("{line}{tail}"),
        ..batch.clone()
    }
}

impl Persistence for Medium {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        let info = self.call("configure", "", |memory, _| memory.configure(settings))?;
        let mut inner = self.0.borrow_mut();
        Ok(match &mut inner.promise {
            Some(promise) => promise(info),
            None => info,
        })
    }
    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        self.call("acquire", id.unwrap_or("(root)"), |memory, _| {
            memory.acquire(id, holder, evict)
        })
    }
    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.call("renew", id.unwrap_or("(root)"), |memory, _| {
            memory.renew(id, token)
        })
    }
    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.call("release", id.unwrap_or("(root)"), |memory, _| {
            memory.release(id, token)
        })
    }
    fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        self.call("create", &header.id, |memory, failure| {
            memory.create(header, token, &halved(first, failure))
        })
    }
    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        self.call("append", id, |memory, failure| {
            memory.append(id, token, &halved(events, failure))
        })
    }
    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let page = self.call("load", id, |memory, _| memory.load(id, cursor, bytes_max))?;
        let mut inner = self.0.borrow_mut();
        Ok(match &mut inner.mangle {
            Some(mangle) => mangle(cursor, page),
            None => page,
        })
    }
    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        self.call("truncate", id, |memory, _| {
            memory.truncate(id, token, keep_events)
        })
    }
    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        let listing = self.call("list", "", |memory, _| memory.list(cursor, count_max))?;
        let mut inner = self.0.borrow_mut();
        Ok(match &mut inner.mangle_listing {
            Some(mangle) => mangle(listing),
            None => listing,
        })
    }
    fn has(&mut self, id: &str) -> Result<bool> {
        self.call("has", id, |memory, _| memory.has(id))
    }
    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.call("load_cut", id, |memory, _| {
            memory.load_cut(id, cursor, bytes_max)
        })
    }
    fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        self.call("delete", id, |memory, _| memory.delete(id, token))
    }
    fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        self.call("update", id, |memory, _| memory.update(id, summary))
    }
}

/// Writes down what it hears and says what it was told to say.
#[derive(Clone, Default)]
pub struct Recorder(pub Rc<RefCell<Heard>>);

#[derive(Default)]
pub struct Heard {
    pub events: Vec<String>,
    pub veto: Option<String>,
    pub flush_error: Option<String>,
}

impl Recorder {
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.borrow_mut().events)
    }
    fn hear(&self, what: String) {
        self.0.borrow_mut().events.push(what);
    }
}

impl Observer<Medium> for Recorder {
    fn created(&self, _store: &mut TestStore, id: &str) -> std::result::Result<(), String> {
        self.hear(format!("created {id}"));
        self.0.borrow_mut().veto.take().map_or(Ok(()), Err)
    }
    fn appended(&self, _store: &mut TestStore, id: &str, events: &Batch) {
        self.hear(format!(
            "appended {id} {}+{}",
            events.first_seq, events.count
        ));
    }
    fn flushed(&self, _store: &mut TestStore, id: &str) -> std::result::Result<(), String> {
        self.hear(format!("flushed {id}"));
        self.0.borrow_mut().flush_error.take().map_or(Ok(()), Err)
    }
    fn disposed(&self, _store: &mut TestStore, id: &str) {
        self.hear(format!("disposed {id}"));
    }
}

pub type TestStore = Store<Medium, Recorder>;

/// A configured store on a medium.
pub fn store_on(medium: &Medium) -> TestStore {
    let mut store = Store::new(medium.clone(), Recorder::default());
    store
        .configure(
            "{\"host\":\"test\"}",
            StoreOptions::default(),
            Some(Vec::new()),
        )
        .unwrap();
    store
}

/// A configured store, its medium and its observer.
pub fn setting() -> (TestStore, Medium, Recorder) {
    let (medium, recorder) = (Medium::default(), Recorder::default());
    let mut store = Store::new(medium.clone(), recorder.clone());
    store
        .configure("{}", StoreOptions::default(), Some(Vec::new()))
        .unwrap();
    (store, medium, recorder)
}

/// The options of a store that takes events of these types out of band.
pub fn out_of_band(types: &[&str]) -> StoreOptions {
    StoreOptions {
        out_of_band_types: types.iter().map(|name| (*name).to_owned()).collect(),
        ..StoreOptions::default()
    }
}

/// [`out_of_band`] of the one type that tests use.
pub fn opted_in() -> StoreOptions {
    out_of_band(&["plugin/note"])
}

pub fn options(id: &str) -> CreateOptions {
    CreateOptions {
        id: (!id.is_empty()).then(|| id.to_owned()),
        cwd: None,
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        created_at_ms: None,
        seed: None,
        extra: None,
    }
}

pub fn header(id: &str) -> SessionHeader {
    SessionHeader {
        version: 0,
        id: id.to_owned(),
        created_at_ms: 1,
        cwd: None,
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        extra: None,
    }
}

pub const START: &str = r#"{"type":"turn/start","data":{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}}"#;
pub const END: &str = r#"{"type":"turn/end","data":{"turn":1,"reason":{"kind":"completed"}}}"#;

pub fn user(text: &str) -> String {
    format!(
        r#"{{"type":"user/message","data":{{"content":[{{"type":"text","text":"{text}"}}],"source":{{"kind":"user"}}}},"surfaceOp":"append"}}"#
    )
}

/// A whole turn of three events.
pub fn turn(text: &str) -> String {
    format!("{START}\n{}\n{END}\n", user(text))
}

/// A stored turn of three complete event lines from `seq` on.
pub fn stored_turn(seq: u64, text: &str) -> String {
    let number = |line: &str, seq: u64| {
        line.replacen(
            "\",\"data\"",
            &format!("\",\"seq\":{seq},\"time\":7,\"data\""),
            1,
        )
    };
    format!(
        "{}\n{}\n{}\n",
        number(START, seq),
        number(&user(text), seq + 1),
        number(END, seq + 2)
    )
}

/// A live session with one flushed turn.
pub fn flushed(store: &mut TestStore, id: &str, text: &str) -> SessionKey {
    let key = store.create(options(id), 1).unwrap();
    store.append(key, &turn(text), 2).unwrap();
    store.flush(key).unwrap();
    key
}

/// Code and reason of a failure.
pub fn label<T>(result: Result<T>) -> String {
    let error = result.err().unwrap();
    let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
    assert!(detail.is_object(), "{detail}");
    assert!(!error.message.is_empty());
    let code = format!("{:?}", error.code);
    format!(
        "{} {}",
        code.trim_start_matches("ErrorCode::"),
        error.reason
    )
}
