//! `derive_messages`, `derive_event_message`.

use annals_core::event::{Envelope, Event};
use annals_core::header::Header;
use annals_core::json;
use annals_core::message::message_of;
use annals_core::session::Session;
use serde_json::{Value, json};

use super::{Answered, Stop, field, parsed};
use crate::vector::{Case, items, lines};

pub fn derive(case: &Case) -> Answered {
    let seed = lines(items(field(&case.input, "events")?));
    let mut session = Session::from_seed(header("s"), &seed)?;
    history(&mut session)
}

pub fn derive_event(case: &Case) -> Answered {
    let text = field(&case.input, "event")?.to_string();
    let value = json::Value::parse(&text).map_err(|fault| Stop::Misread(fault.to_string()))?;
    match message_of(&Event::of(&Envelope::of(value), 0))? {
        Some(text) => Ok(serde_json::from_str(&text)?),
        None => Ok(Value::Null),
    }
}

/// What a model sees now, read page by page.
pub(super) fn history(session: &mut Session) -> Answered {
    let mut messages = Vec::new();
    let mut start = 0;
    loop {
        let page = session.messages(start, 256)?;
        messages.extend(parsed(&page.lines)?);
        start = u32::try_from(messages.len()).unwrap_or(u32::MAX);
        if start >= page.total {
            break;
        }
    }
    let surface = session.surface();
    Ok(json!({
        "messages": messages,
        "nodes": surface.nodes(),
        "replaceGeneration": surface.generation(),
    }))
}

/// The header that is synthesized where a case gives none.
pub(super) fn header(id: &str) -> Header {
    Header {
        id: id.to_owned(),
        created_at_ms: super::construct::NOW_MS,
        ..Header::default()
    }
}
