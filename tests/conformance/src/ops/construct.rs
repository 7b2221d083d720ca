//! `construct`, `canonical_header`, `header_equals`, `fold_request_header`.

use annals_core::header::{Header, check_header};
use annals_core::json;
use annals_core::request_header;
use annals_core::session::Session;
use serde_json::{Map, Value, json};

use super::messages::header;
use super::{Answered, Stop, field, refusal, text_field};
use crate::host_value;
use crate::vector::{Case, items, lines, set};

/// The fixed clock of `construct`, and the start of the scripts' one.
pub(super) const NOW_MS: u64 = 1_700_000_000_000;

pub fn construct(case: &Case) -> Answered {
    let id = text_field(&case.input, "id")?;
    let mut seed = String::new();
    for event in case.input.get("seed").map_or(&[][..], items) {
        seed.push_str(&host_value::text(event)?);
        seed.push('\n');
    }
    // The reference looks at the seed before the header.
    let seeded = Session::from_seed(header(id), &seed)?;
    let header = match case.input.get("header") {
        Some(given) => given_header(&host_value::text(given)?, id)?,
        None => header(id),
    };
    let mut result = json!({
        "seq": seeded.next_seq(),
        "header": header_value(&header)?,
        "nodes": seeded.surface().nodes(),
        "replaceGeneration": seeded.surface().generation(),
    });
    add_request_header(&mut result, &seeded)?;
    Ok(result)
}

fn given_header(text: &str, id: &str) -> Result<Header, Stop> {
    // A value that is no JSON has no view to check; what is wrong with it is known here already.
    let value = json::Value::parse(text).map_err(|fault| {
        Stop::Refused(crate::answer::Refusal::new(
            "header-not-json",
            fault.to_string(),
        ))
    })?;
    Ok(check_header(value, id)?)
}

/// A header in the reference's shape: the line on the medium without its tag.
pub(super) fn header_value(header: &Header) -> Result<Value, Stop> {
    let mut members: Map<String, Value> = serde_json::from_str(&header.line())?;
    members.shift_remove("type");
    Ok(Value::Object(members))
}

pub(super) fn add_request_header(result: &mut Value, session: &Session) -> Result<(), Stop> {
    match session.request_header() {
        Ok(Some(text)) => set(
            result,
            "requestHeader",
            serde_json::from_str::<Value>(&text)?,
        ),
        Ok(None) => set(result, "requestHeader", Value::Null),
        Err(fault) => set(result, "requestHeaderError", refusal(&fault).value()),
    }
    Ok(())
}

pub fn canonical_header(case: &Case) -> Answered {
    let text = field(&case.input, "header")?.to_string();
    let header = request_header::canonical(view(&text)?);
    Ok(serde_json::from_str(&header.unwrap_or("null".to_owned()))?)
}

pub fn header_equals(case: &Case) -> Answered {
    let a = field(&case.input, "a")?.to_string();
    let b = field(&case.input, "b")?.to_string();
    Ok(request_header::headers_equal(view(&a)?, view(&b)?).into())
}

pub fn fold_request_header(case: &Case) -> Answered {
    let events = lines(items(field(&case.input, "events")?));
    let from = case.input.get("from").map(Value::to_string);
    match request_header::fold_request_header(&events, from.as_deref())? {
        Some(text) => Ok(serde_json::from_str(&text)?),
        None => Ok(Value::Null),
    }
}

fn view(text: &str) -> Result<json::Value<'_>, Stop> {
    json::Value::parse(text).map_err(|fault| Stop::Misread(fault.to_string()))
}
