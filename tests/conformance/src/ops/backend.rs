//! `backend_script`: a store and its backend on one root, with interference from outside.
//!
//! The recorded backend tracks sessions on its own; here the store does. So `create` makes a live session, `append`
//! appends and flushes, and `load` closes the session if it is live and opens it for writing.

use std::path::PathBuf;

use annals_core::header::Header;
use serde_json::{Map, Value, json};

use super::construct::{NOW_MS, header_value};
use super::{Answered, Stop, field, parsed, text_field};
use crate::answer::Skip;
use crate::files;
use crate::host::{Host, Root};
use crate::host_value;
use crate::vector::{Case, items, set};

pub fn script(host: &dyn Host, case: &Case) -> Answered {
    let folder = tempfile::tempdir()?;
    let mut script = Script {
        host,
        path: folder.path().to_owned(),
        root: host.at(folder.path())?,
        created: Map::new(),
    };
    let mut steps = Vec::new();
    for (step, number) in items(field(&case.input, "steps")?).iter().zip(1..) {
        steps.push(script.outcome(step, NOW_MS + 1000 * number)?);
    }
    Ok(json!({ "steps": steps }))
}

struct Script<'a> {
    host: &'a dyn Host,
    path: PathBuf,
    root: Box<dyn Root>,
    /// What was created and never stored, by id.
    created: Map<String, Value>,
}

impl Script<'_> {
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
            "append" => self.append(
                text_field(step, "id")?,
                items(field(step, "events")?),
                time_ms,
            ),
            "load" => self.load(text_field(step, "id")?),
            "list" => {
                let listed = self.root.list()?;
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
                let appended = self.root.append(text_field(step, "as")?, &line, time_ms)?;
                let event = parsed(&appended)?.into_iter().next().unwrap_or_default();
                Ok(event.get("seq").cloned().unwrap_or_default())
            }
            "session_flush" => {
                self.root.flush(text_field(step, "as")?)?;
                Ok(Value::Null)
            }
            _ => Err(Stop::Skipped(Skip::NoRunner)),
        }
    }

    fn create(&mut self, meta: &Value) -> Answered {
        let header = header(meta)?;
        // A session cannot say that it begins with events that it lacks: it is made when they come.
        if header.seed_length.is_none() {
            self.root.create(&header, "")?;
        }
        self.created.insert(header.id, meta.clone());
        Ok(Value::Null)
    }

    fn append(&mut self, id: &str, events: &[Value], time_ms: u64) -> Answered {
        let mut lines = String::new();
        for event in events {
            lines.push_str(&host_value::text(event)?);
            lines.push('\n');
        }
        if !self.root.is_live(id) {
            match self.created.get(id) {
                Some(meta) => {
                    let header = header(meta)?;
                    let seed = header.seed_length.map(|_| std::mem::take(&mut lines));
                    self.root.create(&header, &seed.unwrap_or_default())?;
                }
                None => drop(self.root.open(id)?),
            }
        }
        self.root.append(id, &lines, time_ms)?;
        self.root.flush(id)?;
        if !events.is_empty() {
            self.created.remove(id);
        }
        Ok(Value::Null)
    }

    fn load(&mut self, id: &str) -> Answered {
        if self.root.is_live(id) {
            self.root.close(id)?;
        }
        let opened = self.root.open(id)?;
        let events = parsed(&self.root.events(id)?)?;
        Ok(json!({ "meta": header_value(&opened.header)?, "events": events }))
    }

    fn reopen(&mut self) -> Answered {
        self.root.close_all()?;
        self.root = self.host.at(&self.path)?;
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
        let mut seed = String::new();
        for event in step.get("seed").map_or(&[][..], items) {
            seed.push_str(&format!("{event}\n"));
        }
        let mut meta = step.get("meta").cloned().unwrap_or(json!({}));
        set(&mut meta, "id", id);
        let header = header(&meta)?;
        if self.created.contains_key(id) {
            return Ok(id.into());
        }
        if self.root.is_live(id) {
            self.root.close(id)?;
        }
        if self.root.has(id)? {
            self.root
                .create_detached(&header, &seed)
                .ok_or(Stop::Skipped(Skip::NoRunner))??;
        } else {
            self.root.create(&header, &seed)?;
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
