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
        let event_type = text_at(&event, "/type");
        let seq = event
            .pointer("/seq")
            .map(Value::to_string)
            .unwrap_or_default();
        let data = event.pointer("/data").unwrap_or(&Value::Null);
        let line = format!("    {seq:>3}  {event_type:<18} {}", gist(data));
        println!("{}", line.trim_end());
    }
    Ok(())
}

pub fn history(messages: &str) -> Outcome<()> {
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line)?;
        println!("    {:<9}  {}", text_at(&message, "/role"), gist(&message));
    }
    Ok(())
}

pub fn first_turn_end(lines: &[String]) -> Outcome<u64> {
    for line in lines {
        let event: Value = serde_json::from_str(line)?;
        if text_at(&event, "/type") == "turn/end" {
            let seq = event.pointer("/seq").and_then(Value::as_u64);
            return Ok(seq.ok_or("an event without seq")?);
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
    let blocks = value.pointer("/content").and_then(Value::as_array);
    let mut parts: Vec<String> = blocks.into_iter().flatten().map(block).collect();
    let call = text_at(value, "/callId");
    if parts.is_empty() && !call.is_empty() {
        parts.push(format!("{call} starts"));
    }
    let code = text_at(value, "/error/code");
    if !code.is_empty() {
        parts.insert(0, format!("[{code}]"));
    }
    parts.push(text_at(value, "/reason/kind").to_owned());
    let text = parts.join("  ");
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.trim_end().to_owned(),
    }
}

fn block(block: &Value) -> String {
    match text_at(block, "/type") {
        "tool-call" => {
            let (id, arguments) = (text_at(block, "/id"), text_at(block, "/arguments"));
            format!("calls {id}: {arguments}")
        }
        "tool-result" => format!(
            "result of {}: {}",
            text_at(block, "/toolCallId"),
            gist(block)
        ),
        _ => text_at(block, "/text").to_owned(),
    }
}

fn text_at<'a>(value: &'a Value, path: &str) -> &'a str {
    value
        .pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
