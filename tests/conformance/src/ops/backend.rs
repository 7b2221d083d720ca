//! `backend_script`: a store and its backend on one root, with interference from outside.
//!
//! The recorded backend tracks sessions on its own; here the store does. So `create` makes a live session, `append`
//! appends and flushes, and `load` closes the session if it is live and opens it for writing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use annals_core::header::Header;
use serde_json::{Map, Value, json};

use super::{Answered, NOW_MS, Stop, field, header_value, host_lines, options, parsed, text_field};
use crate::answer::{Refusal, Skip};
use crate::files;
use crate::host::{Host, Sessions};
use crate::host_value;
use crate::vector::{Case, items, set};

pub fn script<H: Host>(host: &H, case: &Case) -> Answered {
    let folder = tempfile::tempdir()?;
    let mut script = Script {
        host,
        path: folder.path().to_owned(),
        store: host.at(folder.path())?,
        live: BTreeMap::new(),
        created: Map::new(),
    };
    let mut steps = Vec::new();
    for (step, number) in items(field(&case.input, "steps")?).iter().zip(1..) {
        steps.push(script.outcome(step, NOW_MS + 1000 * number)?);
    }
    Ok(json!({ "steps": steps }))
}

struct Script<'a, H: Host> {
    host: &'a H,
    path: PathBuf,
    store: H::Store,
    /// By id.
    live: BTreeMap<String, Live<H::Store>>,
    /// What was created and never stored, by id.
    created: Map<String, Value>,
}

/// Where a session is live.
enum Live<S: Sessions> {
    /// In the script's store.
    Here(S::Key),
    /// In a store of its own, which meets the backend when the session is flushed first.
    Apart(Box<S>, S::Key),
}

impl<H: Host> Script<'_, H> {
    fn session(&mut self, id: &str) -> Result<(&mut H::Store, <H::Store as Sessions>::Key), Stop> {
        match self.live.get_mut(id) {
            Some(Live::Here(key)) => Ok((&mut self.store, key.clone())),
            Some(Live::Apart(store, key)) => Ok((store, key.clone())),
            None => Err(Refusal::new("session-not-found", format!("{id:?} is not live")).into()),
        }
    }

    fn make(&mut self, header: &Header, seed: &str) -> Result<(), Stop> {
        let key = self.store.create(options(header, seed), 0)?;
        self.live.insert(header.id.clone(), Live::Here(key));
        Ok(())
    }

    fn open(&mut self, id: &str) -> Result<(), Stop> {
        let (key, _) = self.store.open(id)?;
        self.live.insert(id.to_owned(), Live::Here(key));
        Ok(())
    }

    fn flush(&mut self, id: &str) -> Result<(), Stop> {
        if let Some(Live::Apart(store, _)) = self.live.get_mut(id) {
            store.bind(&self.path)?;
        }
        let (store, key) = self.session(id)?;
        store.flush(&key)
    }

    fn close(&mut self, id: &str) -> Result<(), Stop> {
        let (store, key) = self.session(id)?;
        store.close(&key)?;
        self.live.remove(id);
        Ok(())
    }

    fn outcome(&mut self, step: &Value, time_ms: u64) -> Answered {
        match self.step(step, time_ms) {
            Ok(value) => Ok(json!({ "ok": value })),
            Err(Stop::Refused(refusal)) => Ok(json!({ "error": refusal.value() })),
            Err(stop) => Err(stop),
        }
    }

    fn step(&mut self, step: &Value, time_ms: u64) -> Answered {
        match text_field(step, "op")? {
            "create" => self.create(field(step, "meta")?),
            "append" => self.append(text_field(step, "id")?, step, time_ms),
            "load" => self.load(text_field(step, "id")?),
            "list" => {
                let listed = self.store.list()?;
                listed
                    .iter()
                    .map(header_value)
                    .collect::<Result<Vec<_>, _>>()
                    .map(Value::from)
            }
            "reopen" => self.reopen(),
            "files" => self.files(),
            "write_file" => {
                let bytes =
                    files::given(step).ok_or(Stop::Misread("no bytes to write".to_owned()))?;
                files::write(&self.path, text_field(step, "path")?, &bytes)?;
                Ok(Value::Null)
            }
            "remove_file" => {
                std::fs::remove_file(self.path.join(text_field(step, "path")?))?;
                Ok(Value::Null)
            }
            "make_directory" => {
                std::fs::create_dir_all(self.path.join(text_field(step, "path")?))?;
                Ok(Value::Null)
            }
            "concurrently" => {
                // One caller has nothing to overlap: in the order of their calls is what is asked for.
                let steps = items(field(step, "steps")?).iter();
                steps
                    .map(|step| self.outcome(step, time_ms))
                    .collect::<Result<Vec<_>, _>>()
                    .map(Value::from)
            }
            "session_create" => self.session_create(step),
            "session_append" => {
                let line = super::append::line(step)?;
                let (store, key) = self.session(text_field(step, "as")?)?;
                let appended = store.append(&key, &line, time_ms)?;
                let event = parsed(&appended)?.into_iter().next().unwrap_or_default();
                Ok(event.get("seq").cloned().unwrap_or_default())
            }
            "session_flush" => {
                self.flush(text_field(step, "as")?)?;
                Ok(Value::Null)
            }
            _ => Err(Stop::Skipped(Skip::NoRunner)),
        }
    }

    fn create(&mut self, meta: &Value) -> Answered {
        let header = header(meta)?;
        // A session cannot say that it begins with events that it lacks: it is made when they come.
        if header.seed_length.is_none() {
            self.make(&header, "")?;
        }
        self.created.insert(header.id, meta.clone());
        Ok(Value::Null)
    }

    fn append(&mut self, id: &str, step: &Value, time_ms: u64) -> Answered {
        let mut lines = host_lines(step, "events")?;
        let has_events = !lines.is_empty();
        if !self.live.contains_key(id) {
            match self.created.get(id) {
                Some(meta) => {
                    let header = header(meta)?;
                    let seed = header.seed_length.map(|_| std::mem::take(&mut lines));
                    self.make(&header, &seed.unwrap_or_default())?;
                }
                None => self.open(id)?,
            }
        }
        let (store, key) = self.session(id)?;
        store.append(&key, &lines, time_ms)?;
        self.flush(id)?;
        if has_events {
            self.created.remove(id);
        }
        Ok(Value::Null)
    }

    fn load(&mut self, id: &str) -> Answered {
        if self.live.contains_key(id) {
            self.close(id)?;
        }
        self.open(id)?;
        let (store, key) = self.session(id)?;
        let events = parsed(&store.events(&key)?)?;
        Ok(json!({ "meta": header_value(&store.header(&key)?)?, "events": events }))
    }

    fn reopen(&mut self) -> Answered {
        let ids: Vec<String> = self.live.keys().cloned().collect();
        ids.iter().try_for_each(|id| self.close(id))?;
        self.store = self.host.at(&self.path)?;
        self.created.clear();
        Ok(Value::Null)
    }

    fn files(&self) -> Answered {
        let logs = files::logs(&self.path)?;
        let shown = logs
            .into_iter()
            .map(|file| match String::from_utf8(file.bytes) {
                Ok(text) => json!({ "path": file.path, "utf8": files::comparable(&text) }),
                Err(error) => json!({ "path": file.path, "bytes": error.into_bytes() }),
            });
        Ok(shown.collect::<Vec<_>>().into())
    }

    /// A session in a store that meets the backend later; one that was created and has no events is claimed.
    fn session_create(&mut self, step: &Value) -> Answered {
        let id = text_field(step, "id")?;
        if id != text_field(step, "as")? {
            return Err(Stop::Skipped(Skip::NoRunner));
        }
        let seed = host_lines(step, "seed")?;
        let mut meta = step.get("meta").cloned().unwrap_or(json!({}));
        set(&mut meta, "id", id);
        let header = header(&meta)?;
        if self.created.contains_key(id) {
            return Ok(id.into());
        }
        if self.live.contains_key(id) {
            self.close(id)?;
        }
        if self.store.has(id)? {
            let mut store = Box::new(self.host.alone()?);
            let key = store.create(options(&header, &seed), 0)?;
            self.live.insert(id.to_owned(), Live::Apart(store, key));
        } else {
            self.make(&header, &seed)?;
        }
        Ok(id.into())
    }
}

/// The members of a header that a session is created with.
pub(super) fn header(meta: &Value) -> Result<Header, Stop> {
    let text = |name: &str| meta.get(name).and_then(Value::as_str).map(str::to_owned);
    let count = |name: &str| meta.get(name).and_then(Value::as_u64);
    let mut others = Vec::new();
    for (name, value) in meta.as_object().into_iter().flatten() {
        match name.as_str() {
            "version" => {}
            "id" | "cwd" | "parentSession" if value.is_string() => {}
            "createdAt" | "seedLength" | "delegationDepth" if value.is_u64() => {}
            _ => others.push(format!(
                "{}:{}",
                Value::from(name.as_str()),
                host_value::text(value)?
            )),
        }
    }
    Ok(Header {
        id: text("id").unwrap_or_default(),
        created_at_ms: count("createdAt").unwrap_or(NOW_MS),
        cwd: text("cwd"),
        parent_session: text("parentSession"),
        seed_length: count("seedLength"),
        delegation_depth: count("delegationDepth").and_then(|depth| u32::try_from(depth).ok()),
        extra: (!others.is_empty()).then(|| format!("{{{}}}", others.join(","))),
        ..Header::default()
    })
}
