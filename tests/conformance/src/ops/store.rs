//! `store_script`: one store without a backend, watched by recording listeners.
//!
//! The recorded store takes objects and gives out capabilities to detach; here both are keys of the store. Its listeners
//! call it from inside a callback, which an observer in the same program may do here, too.

mod listeners;

use annals_core::header::check_header;
use annals_core::json;
use annals_core::session::Session;
use annals_jsonl::Jsonl;
use annals_store::{CreateOptions, SessionKey, Store};
use serde_json::{Map, Value, json};

use super::backend::header;
use super::construct::{NOW_MS, header_value};
use super::{Answered, Stop, append, field, parsed, text_field};
use crate::answer::{Refusal, Skip};
use crate::host_value;
use crate::native::{core_header, options, refusal};
use crate::vector::{Case, items, set};

use listeners::{Listeners, Script};

/// A store that calls the script's listeners.
type Scripted = Store<Jsonl, Listeners>;

/// The type that the scripts append outside a turn.
const OUT_OF_BAND: &str = "plugin/note";

const EVENTS_BYTES: u32 = 4096;

pub fn script(case: &Case) -> Answered {
    let listeners = Listeners::default();
    let script = listeners.script();
    let mut store = Store::new(Jsonl::default(), listeners);
    store
        .configure("{}", &[OUT_OF_BAND.to_owned()], None)
        .map_err(refusal)?;
    let mut steps = Vec::new();
    for (step, number) in items(field(&case.input, "steps")?).iter().zip(1..) {
        script.time_ms.set(NOW_MS + 1000 * number);
        let mut outcome = script.outcome(&mut store, step)?;
        script.stopped()?;
        let emitted = script.emitted.take();
        if !emitted.is_empty() {
            set(&mut outcome, "emitted", emitted);
        }
        steps.push(outcome);
    }
    Ok(json!({ "steps": steps }))
}

/// What is expected of a script without its warnings: diagnostics of contained failures, which have no equivalent.
pub fn expectation(case: &Case) -> Value {
    let mut expect = case.expect.clone();
    let steps = expect.pointer_mut("/ok/steps");
    for step in steps.and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(emitted) = step.get_mut("emitted").and_then(Value::as_array_mut) else {
            continue;
        };
        emitted.retain(|emission| emission.get("warning").is_none());
        if emitted.is_empty()
            && let Some(step) = step.as_object_mut()
        {
            step.remove("emitted");
        }
    }
    expect
}

impl Script {
    fn outcome(&self, store: &mut Scripted, step: &Value) -> Answered {
        match self.step(store, step) {
            Ok(value) => Ok(json!({ "ok": value })),
            Err(Stop::Refused(refusal)) => Ok(json!({ "error": refusal.value() })),
            Err(stop) => Err(stop),
        }
    }

    fn step(&self, store: &mut Scripted, step: &Value) -> Answered {
        match text_field(step, "op")? {
            "create" => {
                let key = self.create(store, step)?;
                self.remember(store, step, key)
            }
            "prepare" => {
                let options = self.options(step)?;
                let key = store
                    .prepare(options, self.time_ms.get())
                    .map_err(refusal)?;
                self.remember(store, step, key)
            }
            "enter" => {
                let key = self.key(step, "session")?;
                store.enter(key).map_err(refusal)?;
                let handle = text_field(step, "handle")?.to_owned();
                self.handles.borrow_mut().insert(handle, key);
                Ok(Value::Null)
            }
            "announce" => done(store.announce(self.key(step, "session")?)),
            "detach" => done(store.detach(self.handle(step)?)),
            "append" => self.append(store, self.key(step, "session")?, step),
            "append_out_of_band" => self.append_out_of_band(store, step),
            "fork" => self.fork(store, step),
            "flush" => done(store.flush(self.key(step, "session")?)),
            "get" => {
                let id = text_field(step, "id")?;
                let key = store.key_of(id);
                Ok(key
                    .and_then(|key| store.id(key))
                    .map_or(Value::Null, Value::from))
            }
            "list" => Ok(store.live().into()),
            "log" => {
                let key = self.key(step, "session")?;
                let nodes = store.surface(key).map(|surface| surface.nodes);
                Ok(json!({ "events": events(store, key)?, "nodes": nodes }))
            }
            "concurrently" => self.concurrently(store, items(field(step, "steps")?)),
            "listen" => {
                self.listen(step)?;
                Ok(Value::Null)
            }
            _ => Err(Stop::Skipped(Skip::NoRunner)),
        }
    }

    fn create(&self, store: &mut Scripted, step: &Value) -> Result<SessionKey, Stop> {
        let options = self.options(step)?;
        let created = store.create(options, self.time_ms.get());
        created.map_err(|error| refusal(error).into())
    }

    /// What a step creates a session with. A member that no option can hold is refused as core refuses it in a header.
    fn options(&self, step: &Value) -> Result<CreateOptions, Stop> {
        let mut seed = String::new();
        for event in step.get("seed").map_or(&[][..], items) {
            seed.push_str(&host_value::text(event)?);
            seed.push('\n');
        }
        let id = step.get("id").and_then(Value::as_str);
        let mut meta = Map::new();
        meta.insert("version".to_owned(), 0.into());
        meta.insert("id".to_owned(), id.unwrap_or("s").into());
        meta.insert("createdAt".to_owned(), self.time_ms.get().into());
        for (name, value) in step
            .get("meta")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            meta.insert(name.clone(), value.clone());
        }
        let meta = Value::Object(meta);
        let text = host_value::text(&meta)?;
        let checked = json::Value::parse(&text)
            .map_err(|fault| Refusal::new("header-not-json", fault.to_string()))
            .map(|value| check_header(value, id.unwrap_or("s")));
        let header = header(&meta)?;
        if !matches!(checked, Ok(Ok(_))) {
            // the seed is looked at first
            Session::from_seed(super::messages::header("s"), &seed)?;
            checked??;
        }
        Ok(CreateOptions {
            id: id.map(str::to_owned),
            ..options(&header, &seed)
        })
    }

    fn append(&self, store: &mut Scripted, key: SessionKey, step: &Value) -> Answered {
        let line = append::line(step)?;
        let batch = store
            .append(key, &line, self.time_ms.get())
            .map_err(refusal)?;
        first(&batch.lines)
    }

    fn append_out_of_band(&self, store: &mut Scripted, step: &Value) -> Answered {
        let key = self.key(step, "session")?;
        let trigger = host_value::text(field(step, "trigger")?)?;
        let batch = store
            .append_out_of_band(key, &append::line(step)?, &trigger, self.time_ms.get())
            .map_err(refusal)?;
        first(&batch.lines)
    }

    fn fork(&self, store: &mut Scripted, step: &Value) -> Answered {
        let source = field(step, "source")?;
        let id = match source.get("id") {
            Some(_) => text_field(source, "id")?.to_owned(),
            None => {
                let key = self.key(step, "source")?;
                let id = store.id(key).unwrap_or_default();
                // the store is asked by id: whether that is the object of the case is seen here
                if store.key_of(&id).is_some_and(|live| live != key) {
                    let message = format!("{id:?} is another session now");
                    return Err(Refusal::new("fork-session-not-live", message).into());
                }
                id
            }
        };
        // what is no seq is the seq of no event
        let boundary = step
            .get("boundary")
            .map(|boundary| boundary.as_u64().unwrap_or(u64::MAX));
        let child = step.get("child_id").and_then(Value::as_str);
        let child = child.map(str::to_owned);
        let key = store
            .fork(&id, boundary, child, None, self.time_ms.get())
            .map_err(refusal)?;
        let mut shown = self.remember(store, step, key)?;
        let parent = store
            .key_of(&id)
            .map(|key| events(store, key))
            .transpose()?;
        let child = events(store, key)?;
        let is_prefix = parent.is_some_and(|parent| parent.starts_with(&child));
        set(&mut shown, "eventsEqualSourcePrefix", is_prefix);
        Ok(shown)
    }

    /// Keeps the session under its name in the script, and shows it.
    fn remember(&self, store: &Scripted, step: &Value, key: SessionKey) -> Answered {
        if let Some(name) = step.get("as").and_then(Value::as_str) {
            self.sessions.borrow_mut().insert(name.to_owned(), key);
        }
        let header = store.header(key).map(core_header).unwrap_or_default();
        Ok(json!({
            "id": store.id(key),
            "seq": store.next_seq(key),
            "header": header_value(&header)?,
        }))
    }

    fn key(&self, step: &Value, name: &str) -> Result<SessionKey, Stop> {
        let name = text_field(step, name)?;
        let key = self.sessions.borrow().get(name).copied();
        key.ok_or_else(|| Stop::Misread(format!("no session {name:?} in the script")))
    }

    fn handle(&self, step: &Value) -> Result<SessionKey, Stop> {
        let name = text_field(step, "handle")?;
        let key = self.handles.borrow().get(name).copied();
        key.ok_or_else(|| Stop::Misread(format!("no handle {name:?} in the script")))
    }
}

fn done(result: Result<(), annals_sdk::types::Error>) -> Answered {
    result.map_err(refusal)?;
    Ok(Value::Null)
}

fn first(lines: &str) -> Answered {
    Ok(parsed(lines)?.into_iter().next().unwrap_or_default())
}

fn events(store: &Scripted, key: SessionKey) -> Result<Vec<Value>, Stop> {
    let mut events = Vec::new();
    let mut start = Some(0);
    while let Some(seq) = start {
        let page = store.events(key, seq, EVENTS_BYTES).map_err(refusal)?;
        events.extend(parsed(&page.lines)?);
        start = page.next;
    }
    Ok(events)
}
