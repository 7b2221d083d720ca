//! `derive_messages`, `derive_event_message`.

use serde_json::json;

use super::{Answered, event_lines, field, maybe, parsed, seeded};
use crate::host::{Host, Rules, Sessions};
use crate::vector::Case;

pub fn derive<H: Host>(host: &H, case: &Case) -> Answered {
    let mut store = host.alone()?;
    let key = seeded(&mut store, &event_lines(case)?)?;
    history(&mut store, &key)
}

pub fn derive_event(rules: &dyn Rules, case: &Case) -> Answered {
    let event = field(&case.input, "event")?.to_string();
    maybe(rules.message_of(&event)?)
}

/// What a model sees now, read page by page.
pub(super) fn history<S: Sessions>(store: &mut S, key: &S::Key) -> Answered {
    let mut messages = Vec::new();
    let mut start = 0;
    loop {
        let (lines, total) = store.messages_page(key, start)?;
        messages.extend(parsed(&lines)?);
        start = u32::try_from(messages.len()).unwrap_or(u32::MAX);
        if start >= total {
            break;
        }
    }
    let surface = store.surface(key)?;
    Ok(json!({
        "messages": messages,
        "nodes": surface.nodes,
        "replaceGeneration": surface.generation,
    }))
}
