//! `load_file`: what opening a stored file for writing returns, and what it leaves on the medium.

use std::path::Path;

use annals_core::header::Header;
use serde_json::{Value, json};

use super::{Answered, Stop, header_value, parsed, text_field};
use crate::answer::Refusal;
use crate::canonical::canonical;
use crate::differences;
use crate::files::{self, File};
use crate::host::{Host, Sessions};
use crate::vector::{Case, items, set};

/// Opens the file, again with a fresh store, and describes both in the shape of [`expectation`].
pub fn load_file<H: Host>(host: &H, case: &Case) -> Answered {
    let path = text_field(&case.input, "path")?;
    let id = text_field(&case.input, "load")?;
    let bytes = given(&case.input)?;
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    files::write(root, path, &bytes)?;
    let resumed = match resume(host, root, id) {
        Ok(resumed) => resumed,
        Err(Stop::Refused(refusal)) => {
            return Err(unchanged(root, path, &bytes, refusal)?.into());
        }
        Err(stop) => return Err(stop),
    };
    let mut answer = describe(&resumed)?;
    set(
        &mut answer,
        "file_after",
        match files::logs(root)?.as_slice() {
            [file] if file.path == path => file_after(file, &bytes, &resumed, case)?,
            _ => json!("other logs appeared"),
        },
    );
    if case
        .expect
        .pointer("/ok/events")
        .is_some_and(Value::is_null)
    {
        // The case only counts them.
        set(&mut answer, "events", Value::Null);
    }
    set(&mut answer, "torn", torn(root, &bytes, &resumed)?);
    set(
        &mut answer,
        "second_load",
        match resume(host, root, id) {
            Ok(second) if second.lines == resumed.lines && second.header == resumed.header => {
                json!("same")
            }
            Ok(_) => json!("differs"),
            Err(Stop::Refused(refusal)) => json!({ "error": refusal.value() }),
            Err(stop) => return Err(stop),
        },
    );
    Ok(answer)
}

/// A session as it was after opening.
struct Resumed {
    header: Header,
    /// Every event, closers included, one line each.
    lines: String,
    cut_bytes: u64,
    closers: u32,
}

/// Opens a session with a fresh store for writing, reads it whole and closes it.
fn resume<H: Host>(host: &H, root: &Path, id: &str) -> Result<Resumed, Stop> {
    let mut store = host.at(root)?;
    let (key, opened) = store.open(id)?;
    let header = store.header(&key)?;
    let lines = store.events(&key)?;
    store.close(&key)?;
    Ok(Resumed {
        header,
        lines,
        cut_bytes: opened.cut_bytes,
        closers: opened.closers,
    })
}

fn given(input: &Value) -> Result<Vec<u8>, Stop> {
    files::given(input).ok_or_else(|| Stop::Misread("the case has no bytes".to_owned()))
}

/// The refusal, which says so in its kind when something changed on the medium.
fn unchanged(root: &Path, path: &str, bytes: &[u8], mut refusal: Refusal) -> Result<Refusal, Stop> {
    let before = File {
        path: path.to_owned(),
        bytes: bytes.to_vec(),
    };
    if files::logs(root)? != [before] || !files::torn(root)?.is_empty() {
        refusal.kind.push_str(", and files were changed");
    }
    Ok(refusal)
}

fn describe(resumed: &Resumed) -> Answered {
    let lines: Vec<&str> = resumed.lines.lines().collect();
    let preserved = lines.len().saturating_sub(resumed.closers as usize);
    let (preserved, closers) = lines.split_at(preserved);
    Ok(json!({
        "meta": header_value(&resumed.header)?,
        "event_count": lines.len(),
        "events": canonical(&format!("[{}]", preserved.join(","))).map_err(Stop::Misread)?,
        "closers": parsed(&closers.join("\n"))?,
    }))
}

/// Where the old bytes end, and that they are the old ones; the closers after them are those that were returned.
fn file_after(file: &File, before: &[u8], resumed: &Resumed, case: &Case) -> Answered {
    if case.events_only {
        return Ok(json!("not compared"));
    }
    let mut kept = file.bytes.as_slice();
    let mut closers = Vec::new();
    for _ in 0..resumed.closers {
        let whole = kept.strip_suffix(b"\n").unwrap_or(kept);
        let start = whole
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let (rest, closer) = kept.split_at(start);
        closers.insert(0, String::from_utf8_lossy(closer).into_owned());
        kept = rest;
    }
    if !before.starts_with(kept) {
        return Ok(json!("old bytes were changed"));
    }
    if !resumed.lines.ends_with(&closers.concat()) {
        return Ok(json!("other closers than were returned"));
    }
    Ok(json!({ "committed_bytes": kept.len() }))
}

/// What was cut, as the files beside the log have it.
fn torn(root: &Path, before: &[u8], resumed: &Resumed) -> Answered {
    let saved = files::torn(root)?;
    Ok(match saved.as_slice() {
        [] if resumed.cut_bytes == 0 => json!("nothing"),
        [file] if !file.bytes.is_empty() && before.ends_with(&file.bytes) => {
            let offset = before.len() - file.bytes.len();
            if !file.path.ends_with(&format!(".{offset}.torn")) {
                json!("saved under another name")
            } else if file.bytes.len() as u64 != resumed.cut_bytes {
                json!("the repair counts other bytes")
            } else {
                json!({ "offset": offset })
            }
        }
        _ => json!("not saved"),
    })
}

/// What the case expects of this revision, in the shape of [`load_file`]'s answer.
///
/// The closers, the packed rows and the place to cut are read from `july_26`, as the vectors' README says. What both
/// revisions' readers leave to others, the lookup and the version, is read from the older one.
pub fn expectation(case: &Case) -> Value {
    let expect = &case.expect;
    let reading = expect.get("july_26").unwrap_or(&Value::Null);
    let older = case.error_kind().unwrap_or_default();
    if matches!(older, "session_not_found" | "log_version_unsupported")
        || expect.get("refused_by_rule").is_some()
    {
        return json!({ "error": expect.get("error") });
    }
    if let Some(error) = reading.get("error") {
        return json!({ "error": error });
    }
    let closers = reading.get("closers").map_or(&[][..], items);
    let preserved = reading
        .get("preserved_events")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    let bytes = case.input.get("bytes").and_then(Value::as_u64).unwrap_or(0);
    let committed = reading
        .get("committed_bytes")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    let mut ok = json!({
        "meta": expect.pointer("/ok/meta").cloned().or_else(|| header_members(case)),
        "event_count": preserved + closers.len() as u64,
        "events": preserved_events(case, usize::try_from(preserved).unwrap_or(0)),
        "closers": closers,
        "file_after": { "committed_bytes": committed },
        "torn": if committed < bytes { json!({ "offset": committed }) } else { json!("nothing") },
        "second_load": "same",
    });
    if case.events_only {
        set(&mut ok, "file_after", json!("not compared"));
    }
    json!({ "ok": ok })
}

/// Where the older reader refuses, its reading of the header is not recorded: the members of the line itself.
fn header_members(case: &Case) -> Option<Value> {
    let bytes = files::given(&case.input)?;
    differences::header_members(&bytes).map(Value::Object)
}

/// The preserved events in the reference's spelling; none where the case only counts them.
fn preserved_events(case: &Case, count: usize) -> Option<String> {
    let reading = case.expect.pointer("/july_26/events");
    let events = reading.or(case.expect.pointer("/ok/events"));
    let text = match events {
        Some(events) => {
            let kept: Vec<String> = items(events)
                .iter()
                .take(count)
                .map(Value::to_string)
                .collect();
            format!("[{}]", kept.join(","))
        }
        None => {
            let text = case.expect.pointer("/ok/events_text")?.as_str()?;
            let events: Vec<&serde_json::value::RawValue> = serde_json::from_str(text).ok()?;
            let kept: Vec<&str> = events.iter().take(count).map(|event| event.get()).collect();
            format!("[{}]", kept.join(","))
        }
    };
    canonical(&text).ok()
}
