//! Where a session is stored.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::vector::Case;

pub(super) fn bounded_names(case: &Case) -> Option<Value> {
    let segment = case.expect.pointer("/ok/segment")?.as_str()?;
    if case.op != "encode_id" || segment.len() <= 100 {
        return None;
    }
    let hash: String = Sha256::digest(segment.as_bytes())
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let short = format!("{}~{hash}", segment.get(..60)?);
    let path = case
        .expect
        .pointer("/ok/path")?
        .as_str()?
        .replace(segment, &short);
    Some(json!({ "ok": { "segment": short, "path": path } }))
}

pub(super) fn absolute_cwd(case: &Case) -> Option<Value> {
    let cwd = case.input.get("cwd")?.as_str()?;
    let relative = case.op == "cwd_bucket" && !Path::new(cwd).has_root();
    relative.then(|| json!({ "error": { "kind": "header_cwd_not_absolute" } }))
}
