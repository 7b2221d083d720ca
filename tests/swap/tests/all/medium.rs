//! What a medium holds, read without the code that wrote it where it is files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use annals::Annals;
use serde_json::Value;

/// How much is asked for at a time.
const PAGE_BYTES: u32 = 1 << 20;

/// How a row of streamed text begins.
const ROW: &str = r#"{"type":"text-chunks","#;

/// The logs of a medium at one moment.
#[derive(Clone)]
pub struct Medium {
    pub name: String,
    /// The event lines of each session, rows expanded.
    pub logs: BTreeMap<String, Vec<String>>,
    /// Rows among the records.
    pub rows: u64,
    /// Lines that are no records, and bytes behind the last line.
    pub unreadable: Vec<String>,
}

impl Medium {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            logs: BTreeMap::new(),
            rows: 0,
            unreadable: Vec::new(),
        }
    }

    /// The files below a root of JSON Lines.
    pub fn of_files(name: &str, root: &Path) -> Self {
        let mut medium = Self::new(name);
        for bucket in fs::read_dir(root).unwrap() {
            let bucket = bucket.unwrap().path();
            if !bucket.is_dir() {
                continue;
            }
            for file in fs::read_dir(bucket).unwrap() {
                let path = file.unwrap().path();
                if path.extension().is_some_and(|ending| ending == "jsonl") {
                    medium.take_file(&path);
                }
            }
        }
        medium
    }

    fn take_file(&mut self, path: &Path) {
        let text = fs::read_to_string(path).unwrap();
        let Some((header, lines)) = text.split_once('\n') else {
            self.unreadable
                .push(format!("{} has no header", path.display()));
            return;
        };
        let header: Value = serde_json::from_str(header).unwrap();
        let id = header["id"].as_str().unwrap().to_owned();
        self.take(&id, lines);
    }

    /// What a backend answers that is no file: every session that it lists.
    pub fn of_backend(name: &str, annals: &Annals) -> Self {
        let mut medium = Self::new(name);
        for entry in annals.sessions().unwrap() {
            let mut lines = String::new();
            let mut cursor = Some(0);
            while let Some(at) = cursor {
                let page = annals.read(&entry.id, at, PAGE_BYTES).unwrap();
                lines.push_str(&page.lines);
                if page.raw.is_some_and(|raw| !raw.is_empty()) {
                    let text = format!("session {}: bytes that are no line", entry.id);
                    medium.unreadable.push(text);
                }
                cursor = page.next;
            }
            medium.take(&entry.id, &lines);
        }
        medium
    }

    fn take(&mut self, id: &str, text: &str) {
        let mut events = Vec::new();
        for line in text.split_inclusive('\n') {
            self.rows += u64::from(line.starts_with(ROW));
            let whole = line.strip_suffix('\n');
            if whole.and_then(|whole| expand(whole, &mut events)).is_none() {
                let text = format!("session {id}: no record: {line:.100}");
                self.unreadable.push(text);
            }
        }
        if self.logs.insert(id.to_owned(), events).is_some() {
            self.unreadable.push(format!("session {id} is there twice"));
        }
    }
}

/// An event as it is, or the events that a row of streamed text stands for.
fn expand(line: &str, events: &mut Vec<String>) -> Option<()> {
    let record: Value = serde_json::from_str(line).ok()?;
    if !line.starts_with(ROW) {
        record["seq"].as_u64()?;
        events.push(line.to_owned());
        return Some(());
    }
    let (mut seq, mut time) = (record["seq0"].as_u64()?, record["time0"].as_i64()?);
    let data = &record["data"];
    let steps = data["dt"].as_array()?.iter().map(Value::as_i64);
    let texts = data["texts"].as_array()?;
    for (text, step) in texts.iter().zip(steps.chain([Some(0)])) {
        events.push(format!(
            r#"{{"type":"assistant/chunk","seq":{seq},"time":{time},"data":{{"turn":{},"step":{},"chunk":{{"type":"text-delta","index":{},"text":{text}}}}}}}"#,
            data["turn"], data["step"], data["index"]
        ));
        seq += 1;
        time += step?;
    }
    Some(())
}
