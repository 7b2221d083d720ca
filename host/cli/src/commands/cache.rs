use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use annals::{Cache as Kept, Cached};
use clap::Args;
use serde_json::{Value, json};

use crate::commands::Run;
use crate::failure::{Exit, Failure};
use crate::output::{Format, Output};
use crate::place::Place;
use crate::{text, time};

/// Show what machine code of backends is kept, or remove it
///
/// A backend of somebody else is compiled when it is used for the first time, and kept in `$XDG_CACHE_HOME/annals`, or
/// `~/.cache/annals`, for the next times.
#[derive(Args, Debug)]
pub struct Cache {
    /// Remove everything that is kept
    #[arg(long)]
    clear: bool,
}

impl Run for Cache {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let kept = kept().ok_or_else(|| {
            Failure::usage("no cache: set XDG_CACHE_HOME or HOME to an absolute path")
        })?;
        let entries = match self.clear {
            true => kept.clear(),
            false => kept.entries(),
        };
        let entries = entries.map_err(Failure::configuration)?;
        let mut output = Output::new(place.global.format);
        match output.format {
            Format::Text => {
                output.bytes(rows(&entries).as_bytes())?;
                output.line(&self.summary(&kept, &entries))?;
            }
            Format::Json => output.json(&entries.iter().map(value).collect())?,
            Format::Jsonl => {
                for entry in &entries {
                    output.json(&value(entry))?;
                }
            }
        }
        output.end()?;
        Ok(Exit::Done)
    }
}

impl Cache {
    fn summary(&self, kept: &Kept, entries: &[Cached]) -> String {
        let bytes = entries.iter().map(|entry| entry.bytes).sum();
        let what = format!(
            "{}, {}",
            text::count(entries.len() as u64, "component"),
            text::count(bytes, "byte")
        );
        let where_from = kept.directory().display();
        match self.clear {
            true => format!("removed {what} from {where_from}"),
            false => format!("{what} in {where_from}"),
        }
    }
}

/// The user's own; none where the environment does not say. A relative path is none, as the standard for it has it.
pub fn kept() -> Option<Kept> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(Kept::new(caches.join("annals")))
}

fn made_ms(entry: &Cached) -> Option<u64> {
    let since = entry.made?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

fn rows(entries: &[Cached]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let titles = ["MADE", "BYTES", "SHA-256 OF THE COMPONENT"].map(String::from);
    let row = |entry: &Cached| {
        let made = made_ms(entry).map_or_else(|| "-".into(), time::utc);
        [made, entry.bytes.to_string(), entry.component.clone()]
    };
    let rows: Vec<[String; 3]> = std::iter::once(titles)
        .chain(entries.iter().map(row))
        .collect();
    text::table(&rows)
}

fn value(entry: &Cached) -> Value {
    json!({ "component": entry.component, "bytes": entry.bytes, "madeAt": made_ms(entry) })
}
