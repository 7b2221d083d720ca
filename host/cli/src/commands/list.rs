use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use annals::{Annals, SessionEntry, SessionStatus};
use clap::Args;
use serde_json::{Map, Value};

use crate::commands::{Run, verify};
use crate::failure::{Exit, Failure};
use crate::header;
use crate::output::{Format, Output, note};
use crate::place::{self, Place};
use crate::text;
use crate::time;

/// How much of a title is shown in the table, in characters.
const TITLE_CHARS_MAX: usize = 60;

/// How much is shown of what is wrong with one.
const NOTE_CHARS_MAX: usize = 600;

/// List stored sessions, the one with the newest last event first
///
/// Never writes. Each session's header, summary and last records are read, not its whole log: --verify and `verify`
/// find damage further in.
#[derive(Args, Debug)]
pub struct List {
    /// Only sessions with this working directory, made absolute against the current one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Read every log whole and mark each that is damaged; `verify` says all that is wrong
    #[arg(long)]
    verify: bool,
}

impl Run for List {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let cwd = self.cwd.as_deref().map(place::working_directory);
        let cwd = cwd.transpose()?;
        let annals = place.open()?;
        let mut entries = annals.sessions()?;
        if let Some(cwd) = &cwd {
            // As paths: shells complete a directory with a slash at its end.
            entries.retain(|entry| cwd_of(entry).map(Path::new) == Some(Path::new(cwd)));
        }
        if self.verify {
            for entry in &mut entries {
                mark_damage(&annals, entry);
            }
        }
        entries.sort_by(|a, b| (Reverse(newest(a)), &a.id).cmp(&(Reverse(newest(b)), &b.id)));

        let mut output = Output::new(place.global.format);
        match output.format {
            Format::Text if entries.is_empty() => note("no sessions"),
            Format::Text => output.bytes(rows(&entries).as_bytes())?,
            Format::Json => output.json(&entries.iter().map(json).collect())?,
            Format::Jsonl => {
                for entry in &entries {
                    output.json(&json(entry))?;
                }
            }
        }
        output.end()?;
        Ok(Exit::Done)
    }
}

/// Marks an entry that looks fine and is damaged, or cannot be read. The exit code stays that of a listing.
fn mark_damage(annals: &Annals, entry: &mut SessionEntry) {
    if entry.status != SessionStatus::Ok {
        return;
    }
    let note = match verify::judge(annals, &entry.id) {
        Ok(verdict) if verdict.exit == Exit::Done => return,
        Ok(verdict) => verdict.message,
        Err(Failure::Said(_, message)) => Some(message),
        Err(Failure::ReaderLeft) => None,
    };
    entry.status = SessionStatus::Damaged;
    entry.note = note;
}

fn cwd_of(entry: &SessionEntry) -> Option<&String> {
    entry.header.as_ref()?.cwd.as_ref()
}

/// A session without events is as new as its header.
fn newest(entry: &SessionEntry) -> Option<u64> {
    let created = entry.header.as_ref().map(|header| header.created_at_ms);
    entry.updated_at_ms.or(created)
}

fn rows(entries: &[SessionEntry]) -> String {
    let titles = ["UPDATED", "ID", "CWD", "TITLE"].map(String::from);
    let rows: Vec<[String; 4]> = std::iter::once(titles)
        .chain(entries.iter().map(row))
        .collect();
    text::table(&rows)
}

fn row(entry: &SessionEntry) -> [String; 4] {
    let updated = newest(entry).map_or_else(|| "-".into(), time::utc);
    let cwd = cwd_of(entry).map_or("-", String::as_str);
    let summary = &entry.summary;
    let title = summary.title.as_deref().or(summary.first_prompt.as_deref());
    let title = match entry.status {
        SessionStatus::Ok => text::excerpt(title.unwrap_or("-"), TITLE_CHARS_MAX),
        SessionStatus::Damaged | SessionStatus::Unsupported => {
            let note = entry.note.as_deref().unwrap_or("annals verify says more");
            let note = format!("[{}: {note}]", status(entry.status));
            text::excerpt(&note, NOTE_CHARS_MAX)
        }
    };
    [
        updated,
        text::escape(&entry.id).into_owned(),
        text::escape(cwd).into_owned(),
        title,
    ]
}

/// The name of a status in JSON.
pub fn status(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Ok => "ok",
        SessionStatus::Damaged => "damaged",
        SessionStatus::Unsupported => "unsupported",
    }
}

fn json(entry: &SessionEntry) -> Value {
    let mut members = Map::new();
    members.insert("id".into(), entry.id.clone().into());
    members.insert("status".into(), status(entry.status).into());
    let texts = [
        ("note", &entry.note),
        ("title", &entry.summary.title),
        ("firstPrompt", &entry.summary.first_prompt),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            members.insert(name.into(), text.clone().into());
        }
    }
    if let Some(updated) = entry.updated_at_ms {
        members.insert("updatedAt".into(), updated.into());
    }
    if let Some(header) = &entry.header {
        members.insert("header".into(), header::json(header).into());
    }
    members.into()
}
