//! `encode_id`, `cwd_bucket`: where a session of that id and working directory is stored.

use annals_core::header::Header;
use serde_json::{Value, json};

use super::{Answered, NOW_MS, Stop, options};
use crate::answer::Skip;
use crate::files;
use crate::host::{Host, Sessions};
use crate::vector::Case;

pub fn stored_at<H: Host>(host: &H, case: &Case) -> Answered {
    let (id, cwd) = (text(&case.input, "id")?, text(&case.input, "cwd")?);
    let root = tempfile::tempdir()?;
    let header = Header {
        id: id.unwrap_or("s".to_owned()),
        cwd,
        ..Header::default()
    };
    let mut store = host.at(root.path())?;
    let key = store.create(options(&header, ""), NOW_MS)?;
    store.persist(&key)?;
    store.close(&key)?;
    let stored = files::logs(root.path())?;
    let [file] = stored.as_slice() else {
        return Err(Stop::Misread(format!("{} logs were stored", stored.len())));
    };
    let (bucket, name) = file.path.split_once('/').unwrap_or_default();
    let path = format!("/r/{}", file.path);
    if case.op == "cwd_bucket" {
        return Ok(json!({ "bucket": bucket, "path": path }));
    }
    let segment = name.strip_suffix(".jsonl").unwrap_or(name);
    Ok(json!({ "segment": segment, "path": path }))
}

/// A string given as text or as UTF-16 units; a lone surrogate is a skip.
fn text(input: &Value, name: &str) -> Result<Option<String>, Stop> {
    if let Some(text) = input.get(name).and_then(Value::as_str) {
        return Ok(Some(text.to_owned()));
    }
    let Some(units) = input.get(format!("{name}_utf16")).and_then(Value::as_array) else {
        return Ok(None);
    };
    let units: Option<Vec<u16>> = units
        .iter()
        .map(|unit| unit.as_u64().and_then(|unit| u16::try_from(unit).ok()))
        .collect();
    let text = units.and_then(|units| String::from_utf16(&units).ok());
    text.map(Some).ok_or(Stop::Skipped(Skip::HostValue))
}
