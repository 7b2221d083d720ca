//! What the model reads: the history, and the request header that stands before it.

use super::{Event, Surface};
use crate::json::Json;

/// The history: a message for each node of the surface that shows one.
pub fn messages(events: &[Event], surface: &Surface) -> Vec<String> {
    let nodes = surface.nodes.iter();
    nodes
        .filter_map(|seq| message(&events[*seq as usize]))
        .collect()
}

fn message(event: &Event) -> Option<String> {
    let member = |name: &str, shown: &str| {
        let value = event.data.get(name);
        value.map_or(String::new(), |value| {
            format!(",\"{shown}\":{}", value.text())
        })
    };
    let content = member("content", "content");
    match event.kind.as_str() {
        "assistant/message" => {
            let blocks = event.data.get("content")?;
            let is_empty = matches!(blocks, Json::Array(blocks, _) if blocks.is_empty());
            let provenance = member("provenance", "provenance");
            (!is_empty && !blocks.says(""))
                .then(|| format!("{{\"role\":\"assistant\"{content}{provenance}}}"))
        }
        "tool/result" => {
            let (id, is_error) = (member("callId", "toolCallId"), member("isError", "isError"));
            let block = format!("{{\"type\":\"tool-result\"{id}{content}{is_error}}}");
            Some(format!("{{\"role\":\"user\",\"content\":[{block}]}}"))
        }
        _ => Some(format!("{{\"role\":\"user\"{content}}}")),
    }
}

/// The newest request header in its canonical form; the label where that snapshot holds none.
pub fn request_header(events: &[Event]) -> Result<Option<String>, String> {
    let mut snapshots = events
        .iter()
        .rev()
        .filter(|event| event.kind == "request/header");
    let Some(event) = snapshots.next() else {
        return Ok(None);
    };
    let none = "seed-header-without-provider-model".to_owned();
    let header = event.data.get("header").ok_or(none.clone())?;
    let mut out = format!("{{\"config\":{}", header.get("config").ok_or(none)?.text());
    for name in ["system", "tools", "messagePrefix"] {
        let value = header.get(name).filter(|value| {
            let is_empty_list = matches!(value, Json::Array(elements, _) if elements.is_empty());
            !is_empty_list && !value.says("")
        });
        if let Some(value) = value {
            out.push_str(&format!(",\"{name}\":{}", value.text()));
        }
    }
    Ok(Some(out + "}"))
}

/// The number of the last turn that has one.
pub fn last_turn(events: &[Event]) -> Option<u64> {
    let starts = events
        .iter()
        .rev()
        .filter(|event| event.kind == "turn/start");
    let mut numbers = starts.filter_map(|event| event.data.get("turn")?.count());
    numbers.next()
}
