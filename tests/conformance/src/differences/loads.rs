//! Loading a file.

use std::borrow::Cow;

use annals_core::chunk_rows::unpack;
use annals_core::closers::closers;
use serde_json::{Map, Value, json};

use crate::canonical::canonical;
use crate::files;
use crate::vector::Case;

/// A file that both revisions' readers would load: its bytes.
fn loadable(case: &Case) -> Option<Vec<u8>> {
    let refused = case.expect.pointer("/july_26/error").is_some()
        || case.expect.get("refused_by_rule").is_some()
        || matches!(
            case.error_kind(),
            Some("session_not_found" | "log_version_unsupported")
        );
    if case.op != "load_file" || refused {
        return None;
    }
    files::given(&case.input)
}

/// A refusal that no other rule and no reading changes any more.
fn refused(error: Value) -> Value {
    json!({ "error": error, "refused_by_rule": true })
}

/// The members of the first line, without the tag that makes it a header.
pub fn header_members(bytes: &[u8]) -> Option<Map<String, Value>> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let mut members: Map<String, Value> = serde_json::from_slice(line).ok()?;
    let tag = members.shift_remove("type")?;
    (tag == "session").then_some(members)
}

pub(super) fn header_id(case: &Case) -> Option<Value> {
    let header = header_members(&loadable(case)?)?;
    let differs = header.get("id") != case.input.get("load");
    differs.then(|| refused(json!({ "kind": "header_id_mismatch" })))
}

pub(super) fn checked_when_opened(case: &Case) -> Option<Value> {
    loadable(case)?;
    let error = case.expect.pointer("/accepted_as_seed/error")?;
    Some(refused(error.clone()))
}

pub(super) fn version_first(case: &Case) -> Option<Value> {
    if case.op != "load_file" || case.error_kind()? != "log_header_invalid" {
        return None;
    }
    let header = header_members(&files::given(&case.input)?)?;
    let version = header.get("version")?.as_f64()?;
    (version != 0.0).then(|| refused(json!({ "kind": "log_version_unsupported" })))
}

pub(super) fn header_member_named(case: &Case) -> Option<Value> {
    let kind = case.expect.pointer("/july_26/error/kind")?;
    if case.op != "load_file" || kind != "log_header_invalid" || case.expect.get("ok").is_none() {
        return None;
    }
    let header = header_members(&files::given(&case.input)?)?;
    let is_count = |name: &str| {
        header
            .get(name)?
            .as_f64()
            .map(|count| count >= 0.0 && count.fract() == 0.0)
    };
    if is_count("createdAt") != Some(true) || !header.contains_key("delegationDepth") {
        return None;
    }
    let earlier = case.expect.pointer("/accepted_as_seed/error").cloned();
    let error = earlier.unwrap_or(json!({ "kind": "header_delegation_depth" }));
    Some(refused(error))
}

pub(super) fn no_record(case: &Case) -> Option<Value> {
    if case.op != "load_file" || case.error_kind() == Some("session_not_found") {
        return None;
    }
    let reading = case.expect.get("july_26")?;
    let error = reading.pointer("/error/kind").and_then(Value::as_str);
    if error.is_some_and(|kind| kind != "host_type_error") {
        return None;
    }
    let bytes = files::given(&case.input)?;
    let stored: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let first = stored.iter().position(|line| is_no_record(line))?;
    let (kept, behind) = stored.split_at(first);
    let committed_bytes = kept.concat().len() as u64;
    if first == 0 {
        return Some(refused(json!({ "kind": "log_header_not_json" })));
    }
    if reading
        .get("committed_bytes")
        .and_then(Value::as_u64)
        .is_some_and(|cut| cut <= committed_bytes)
    {
        return None;
    }
    if behind
        .iter()
        .any(|line| line.ends_with(b"\n") && ends_turn(line))
    {
        let any = json!({ "kind": error.unwrap_or("log_corrupt_unparsable") });
        return Some(refused(any));
    }
    let records = String::from_utf8(kept.get(1..)?.concat()).ok()?;
    let events = unpack(&records).ok()?;
    let added = closers(&events).ok()?;
    let values = |lines: &str| -> Option<Vec<Value>> {
        lines
            .lines()
            .map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    let events = values(&events)?;
    Some(json!({
        "july_26": {
            "preserved_events": events.len(),
            "committed_bytes": committed_bytes,
            "closers": values(&added)?,
        },
        "ok": { "meta": header_members(&bytes)?, "events": events },
    }))
}

/// A line that the reference reads as JSON and Annals takes for no record.
fn is_no_record(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    text.trim() == "null" || (matches!(text, Cow::Owned(_)) && canonical(&text).is_ok())
}

fn ends_turn(line: &[u8]) -> bool {
    let event: Option<Value> = serde_json::from_str(&String::from_utf8_lossy(line)).ok();
    event.as_ref().and_then(|event| event.get("type")) == Some(&json!("turn/end"))
}

pub(super) fn header_members_kept(case: &Case) -> Option<Value> {
    let header = Value::Object(header_members(&loadable(case)?)?);
    let mut expect = case.expect.clone();
    let meta = expect.pointer_mut("/ok/meta")?;
    if *meta == header {
        return None;
    }
    *meta = header;
    Some(expect)
}
