//! Events, messages and listings for a reader who has seen none before.

use std::path::Path;

use annals::SessionEntry;
use serde_json::Value;

/// Characters of a text that are shown.
const TEXT_CHARS_MAX: usize = 84;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

pub fn chapter(number: u32, title: &str) {
    println!("\n{number}. {title}");
}

pub fn events<'a>(lines: impl Iterator<Item = &'a String>) -> Outcome<()> {
    for line in lines {
        let event: Value = serde_json::from_str(line)?;
        let event_type = event["type"].as_str().unwrap_or_default();
        let seq = event["seq"].to_string();
        let line = format!("    {seq:>3}  {event_type:<18} {}", gist(&event["data"]));
        println!("{}", line.trim_end());
    }
    Ok(())
}

pub fn history(messages: &str) -> Outcome<()> {
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line)?;
        println!(
            "    {:<9}  {}",
            message["role"].as_str().unwrap_or_default(),
            gist(&message)
        );
    }
    Ok(())
}

pub fn first_turn_end(lines: &[String]) -> Outcome<u64> {
    for line in lines {
        let event: Value = serde_json::from_str(line)?;
        if event["type"] == "turn/end" {
            return Ok(event["seq"].as_u64().ok_or("an event without seq")?);
        }
    }
    Err("no turn has ended".into())
}

pub fn entry(entry: &SessionEntry) {
    let header = entry.header.as_ref();
    let parent = header.and_then(|header| header.parent_session.as_deref());
    let prompt = entry.summary.first_prompt.as_deref().unwrap_or_default();
    println!("  {}  {prompt}", entry.id);
    if let Some(parent) = parent {
        println!("    forked from {parent}");
    }
}

pub fn places(root: &Path, id: &str) {
    let root = root.display();
    println!("\nThe files are in {root}.");
    println!("`cargo xtask build` makes the command to look at them with:");
    println!("  target/annals/annals --root {root} list");
    println!("  target/annals/annals --root {root} show {id}");
    println!("  target/annals/annals --root {root} messages {id}");
}

/// The text of an event or a message in one line.
fn gist(value: &Value) -> String {
    let blocks = value["content"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut parts: Vec<String> = blocks.iter().map(block).collect();
    if value["callId"].is_string() && blocks.is_empty() {
        parts.push(format!("{} starts", text_of(&value["callId"])));
    }
    if let Some(code) = value["error"]["code"].as_str() {
        parts.insert(0, format!("[{code}]"));
    }
    if value["reason"]["kind"].is_string() {
        parts.push(text_of(&value["reason"]["kind"]));
    }
    let text = parts.join("  ");
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn block(block: &Value) -> String {
    match block["type"].as_str() {
        Some("tool-call") => format!(
            "calls {}: {}",
            text_of(&block["id"]),
            text_of(&block["arguments"])
        ),
        Some("tool-result") => format!(
            "result of {}: {}",
            text_of(&block["toolCallId"]),
            gist(block)
        ),
        _ => text_of(&block["text"]),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
