//! `store_script`: one store without a backend, watched by recording listeners.
//!
//! The recorded store takes objects and gives out capabilities to detach; here both are keys of the store. Its listeners
//! call it from inside a callback, which an observer in the same program may do here, too; across a component border it
//! may only detach.

mod listeners;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use annals_store::CreateOptions;
use serde_json::{Map, Value, json};

use super::backend::header;
use super::{
    Answered, NOW_MS, Stop, append, field, header_value, host_lines, options, parsed, seeded,
    text_field,
};
use crate::answer::{Refusal, Skip};
use crate::host::{Host, Rules, Sessions};
use crate::host_value;
use crate::native::Native;
use crate::vector::{Case, items, set};

pub use listeners::Script;

use listeners::lock;

/// The type that the scripts append outside a turn.
const OUT_OF_BAND: &str = "plugin/note";

pub fn script<H: Host>(host: &H, case: &Case) -> Answered {
    let script = Arc::new(Script::default());
    let mut store = host.watched(Arc::clone(&script), OUT_OF_BAND)?;
    let mut steps = Vec::new();
    for (step, number) in items(field(&case.input, "steps")?).iter().zip(1..) {
        script
            .time_ms
            .store(NOW_MS + 1000 * number, Ordering::SeqCst);
        let mut outcome = script.outcome(&mut store, step)?;
        store.settle()?;
        script.stopped()?;
        let emitted = std::mem::take(&mut *lock(&script.emitted));
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

impl<K: Clone + PartialEq> Script<K> {
    fn outcome<S: Sessions<Key = K>>(&self, store: &mut S, step: &Value) -> Answered {
        match self.step(store, step) {
            Ok(value) => Ok(json!({ "ok": value })),
            Err(Stop::Refused(refusal)) => Ok(json!({ "error": refusal.value() })),
            Err(stop) => Err(stop),
        }
    }

    fn step<S: Sessions<Key = K>>(&self, store: &mut S, step: &Value) -> Answered {
        match text_field(step, "op")? {
            "create" => {
                let key = self.create(store, step)?;
                self.remember(store, step, &key)
            }
            "prepare" => {
                let key = store.prepare(self.options(step)?, self.now_ms())?;
                self.remember(store, step, &key)
            }
            "enter" => {
                let key = self.key(step, "session")?;
                store.enter(&key)?;
                let handle = text_field(step, "handle")?.to_owned();
                lock(&self.handles).insert(handle, key);
                Ok(Value::Null)
            }
            "announce" => done(store.announce(&self.key(step, "session")?)),
            "detach" => done(store.detach(&self.handle(step)?)),
            "append" => self.append(store, &self.key(step, "session")?, step),
            "append_out_of_band" => self.append_out_of_band(store, step),
            "fork" => self.fork(store, step),
            "flush" => done(store.flush(&self.key(step, "session")?)),
            "get" => {
                let key = store.key_of(text_field(step, "id")?)?;
                let header = key.map(|key| store.header(&key)).transpose()?;
                Ok(header.map_or(Value::Null, |header| header.id.into()))
            }
            "list" => Ok(store.live()?.into()),
            "log" => {
                let key = self.key(step, "session")?;
                let events = parsed(&store.events(&key)?)?;
                Ok(json!({ "events": events, "nodes": store.surface(&key)?.nodes }))
            }
            "concurrently" => self.concurrently(store, items(field(step, "steps")?)),
            "listen" => {
                self.listen(step)?;
                Ok(Value::Null)
            }
            _ => Err(Stop::Skipped(Skip::NoRunner)),
        }
    }

    fn create<S: Sessions<Key = K>>(&self, store: &mut S, step: &Value) -> Result<K, Stop> {
        store.create(self.options(step)?, self.now_ms())
    }

    /// What a step creates a session with. A member that no option can hold is refused as it is in a header.
    fn options(&self, step: &Value) -> Result<CreateOptions, Stop> {
        let seed = host_lines(step, "seed")?;
        let id = step.get("id").and_then(Value::as_str);
        let mut meta = Map::new();
        meta.insert("version".to_owned(), 0.into());
        meta.insert("id".to_owned(), id.unwrap_or("s").into());
        meta.insert("createdAt".to_owned(), self.now_ms().into());
        let given = step.get("meta").and_then(Value::as_object);
        for (name, value) in given.into_iter().flatten() {
            meta.insert(name.clone(), value.clone());
        }
        let meta = Value::Object(meta);
        let checked = Native.check_header(&host_value::text(&meta)?, id.unwrap_or("s"));
        if let Err(stop) = checked {
            // the seed is looked at first
            seeded(&mut Native.alone()?, &seed)?;
            return Err(stop);
        }
        Ok(CreateOptions {
            id: id.map(str::to_owned),
            ..options(&header(&meta)?, &seed)
        })
    }

    fn append<S: Sessions<Key = K>>(&self, store: &mut S, key: &K, step: &Value) -> Answered {
        first(&store.append(key, &append::line(step)?, self.now_ms())?)
    }

    fn append_out_of_band<S: Sessions<Key = K>>(&self, store: &mut S, step: &Value) -> Answered {
        let key = self.key(step, "session")?;
        let (line, trigger) = (append::line(step)?, field(step, "trigger")?);
        let trigger = host_value::text(trigger)?;
        first(&store.append_out_of_band(&key, &line, &trigger, self.now_ms())?)
    }

    fn fork<S: Sessions<Key = K>>(&self, store: &mut S, step: &Value) -> Answered {
        let source = field(step, "source")?;
        let id = match source.get("id") {
            Some(_) => text_field(source, "id")?.to_owned(),
            None => {
                let key = self.key(step, "source")?;
                let id = store.header(&key)?.id;
                // the store is asked by id: whether that is the object of the case is seen here
                if store.key_of(&id)?.is_some_and(|live| live != key) {
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
        let key = store.fork(&id, boundary, child.map(str::to_owned), self.now_ms())?;
        let mut shown = self.remember(store, step, &key)?;
        let child = parsed(&store.events(&key)?)?;
        let is_prefix = match store.key_of(&id)? {
            Some(parent) => parsed(&store.events(&parent)?)?.starts_with(&child),
            None => false,
        };
        set(&mut shown, "eventsEqualSourcePrefix", is_prefix);
        Ok(shown)
    }

    /// Keeps the session under its name in the script, and shows it.
    fn remember<S: Sessions<Key = K>>(&self, store: &S, step: &Value, key: &K) -> Answered {
        if let Some(name) = step.get("as").and_then(Value::as_str) {
            lock(&self.sessions).insert(name.to_owned(), key.clone());
        }
        let header = store.header(key)?;
        Ok(json!({
            "id": header.id,
            "seq": store.next_seq(key)?,
            "header": header_value(&header)?,
        }))
    }

    fn key(&self, step: &Value, name: &str) -> Result<K, Stop> {
        let name = text_field(step, name)?;
        let key = lock(&self.sessions).get(name).cloned();
        key.ok_or_else(|| Stop::Misread(format!("no session {name:?} in the script")))
    }

    fn handle(&self, step: &Value) -> Result<K, Stop> {
        let name = text_field(step, "handle")?;
        let key = lock(&self.handles).get(name).cloned();
        key.ok_or_else(|| Stop::Misread(format!("no handle {name:?} in the script")))
    }

    fn now_ms(&self) -> u64 {
        self.time_ms.load(Ordering::SeqCst)
    }
}

fn done(result: Result<(), Stop>) -> Answered {
    result.map(|()| Value::Null)
}

fn first(lines: &str) -> Answered {
    Ok(parsed(lines)?.into_iter().next().unwrap_or_default())
}
