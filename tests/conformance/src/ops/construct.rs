//! `construct`.

use serde_json::{Value, json};

use super::{
    Answered, NOW_MS, Stop, header_value, host_lines, maybe, options, seeded, synthesized,
    text_field,
};
use crate::host::{Host, Sessions};
use crate::host_value;
use crate::vector::{Case, set};

pub fn construct<H: Host>(host: &H, case: &Case) -> Answered {
    let id = text_field(&case.input, "id")?;
    let seed = host_lines(&case.input, "seed")?;
    // The reference looks at the seed before the header.
    seeded(&mut host.alone()?, &seed)?;
    let mut header = match case.input.get("header") {
        Some(given) => host.rules().check_header(&host_value::text(given)?, id)?,
        None => synthesized(id),
    };
    let mut shown = header_value(&header)?;
    if id.is_empty() {
        // a store keeps no session without an id
        header.id = "s".to_owned();
    }
    let mut store = host.alone()?;
    let key = store.create(options(&header, &seed), NOW_MS)?;
    if !id.is_empty() {
        shown = header_value(&store.header(&key)?)?;
    }
    let surface = store.surface(&key)?;
    let mut result = json!({
        "seq": store.next_seq(&key)?,
        "header": shown,
        "nodes": surface.nodes,
        "replaceGeneration": surface.generation,
    });
    add_request_header(host, &mut result, &store, &key)?;
    Ok(result)
}

/// The fold over the session's events, which the session's own view agrees with where there is a result.
pub(super) fn add_request_header<H: Host, S: Sessions>(
    host: &H,
    result: &mut Value,
    store: &S,
    key: &S::Key,
) -> Result<(), Stop> {
    let own = store.request_header(key)?;
    match host.rules().request_header(&store.events(key)?, None) {
        Ok(folded) if folded == own => set(result, "requestHeader", maybe(folded)?),
        Ok(folded) => {
            let message = format!("the session has the header {own:?}, its events {folded:?}");
            return Err(Stop::Misread(message));
        }
        Err(Stop::Refused(refusal)) => set(result, "requestHeaderError", refusal.value()),
        Err(stop) => return Err(stop),
    }
    Ok(())
}
