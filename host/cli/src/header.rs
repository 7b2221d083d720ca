//! A session's header as the JSON that commands print, with the member names of the stored line.

use annals::SessionHeader;
use serde_json::{Map, Value};

/// `{version, id, createdAt, cwd?, parentSession?, seedLength?, delegationDepth?}` and the members kept as found.
pub fn json(header: &SessionHeader) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("version".into(), header.version.into());
    members.insert("id".into(), header.id.clone().into());
    members.insert("createdAt".into(), header.created_at_ms.into());
    if let Some(cwd) = &header.cwd {
        members.insert("cwd".into(), cwd.clone().into());
    }
    if let Some(parent) = &header.parent_session {
        members.insert("parentSession".into(), parent.clone().into());
    }
    if let Some(length) = header.seed_length {
        members.insert("seedLength".into(), length.into());
    }
    if let Some(depth) = header.delegation_depth {
        members.insert("delegationDepth".into(), depth.into());
    }
    let extra = header.extra.as_deref().unwrap_or("{}");
    if let Ok(Value::Object(extra)) = serde_json::from_str(extra) {
        members.extend(extra);
    }
    members
}
