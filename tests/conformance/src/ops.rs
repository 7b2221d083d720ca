//! What each operation asks of the code under test, however it is linked.

mod append;
mod backend;
mod closers;
mod construct;
mod load;
mod messages;
mod paths;
mod prompts;
mod rows;
mod store;
mod surface;
mod trace;
mod values;

use annals_core::header::Header;
use annals_store::CreateOptions;
use serde_json::{Map, Value};

use crate::answer::{Answer, Skip, Stop};
use crate::host::{Host, Sessions};
use crate::host_value;
use crate::native::Native;
use crate::vector::{Case, items, lines};

pub use load::expectation as load_expectation;
pub use store::Script;
pub use store::expectation as store_expectation;

/// The fixed clock of `construct`, and the start of the scripts' one.
const NOW_MS: u64 = 1_700_000_000_000;

/// A value in the shape of `expect.ok`, or why there is none.
type Answered = Result<Value, Stop>;

/// Answers a case.
pub fn answer<H: Host>(host: &H, case: &Case) -> Answer {
    let rules = host.rules();
    let answered = match case.op.as_str() {
        "fold_surface" => surface::fold(rules, case),
        "is_surface_eligible_type" => surface::is_eligible_type(rules, case),
        "is_surface_event" => surface::is_event(rules, case),
        "derive_messages" => messages::derive(host, case),
        "derive_event_message" => messages::derive_event(rules, case),
        "construct" => construct::construct(host, case),
        "canonical_header" => prompts::canonical_header(rules, case),
        "header_equals" => prompts::header_equals(rules, case),
        "fold_request_header" => prompts::fold_request_header(rules, case),
        "append_script" => append::script(host, case),
        "store_script" => store::script(host, case),
        "json_text" => values::json_text(rules, case),
        "host_value" => values::host_value(rules, case),
        "pack_chunk_runs" => rows::pack(rules, case),
        "decode_storage_record" => rows::decode(rules, case),
        "display_prompt_content" => prompts::display(rules, case),
        "find_last_message_turn_end" => prompts::last_message_turn_end(rules, case),
        "check_trace" => trace::check(rules, case),
        "interrupted_turn_closers" => closers::interrupted(host, case),
        "encode_id" | "cwd_bucket" => paths::stored_at(host, case),
        "load_file" => load::load_file(host, case),
        "backend_script" => backend::script(host, case),
        _ => Err(Stop::Skipped(Skip::NoRunner)),
    };
    answered.into()
}

/// What a session that begins with these lines shows at the end of a script, its seq excepted.
pub(crate) fn after_seed(lines: &str) -> Option<Value> {
    let mut store = Native.alone().ok()?;
    let key = seeded(&mut store, lines).ok()?;
    append::end(&Native, &mut store, &key).ok()
}

/// A session with the header that is synthesized where a case gives none.
fn seeded<S: Sessions>(store: &mut S, lines: &str) -> Result<S::Key, Stop> {
    store.create(options(&synthesized("s"), lines), NOW_MS)
}

fn synthesized(id: &str) -> Header {
    Header {
        id: id.to_owned(),
        created_at_ms: NOW_MS,
        ..Header::default()
    }
}

/// What a session of that header and seed is created with.
fn options(header: &Header, seed: &str) -> CreateOptions {
    let header = header.clone();
    CreateOptions {
        id: Some(header.id),
        cwd: header.cwd,
        parent_session: header.parent_session,
        seed_length: header.seed_length,
        delegation_depth: header.delegation_depth,
        created_at_ms: Some(header.created_at_ms),
        seed: (!seed.is_empty()).then(|| seed.to_owned()),
        extra: header.extra,
    }
}

/// A header in the reference's shape: the line on the medium without its tag.
fn header_value(header: &Header) -> Answered {
    let mut members: Map<String, Value> = serde_json::from_str(&header.line())?;
    members.shift_remove("type");
    Ok(Value::Object(members))
}

fn field<'a>(value: &'a Value, name: &str) -> Result<&'a Value, Stop> {
    value
        .get(name)
        .ok_or_else(|| Stop::Misread(format!("the case has no {name:?}")))
}

fn text_field<'a>(value: &'a Value, name: &str) -> Result<&'a str, Stop> {
    let text = field(value, name)?.as_str();
    text.ok_or_else(|| Stop::Misread(format!("{name:?} is no string")))
}

/// The events of a case as JSON Lines.
fn event_lines(case: &Case) -> Result<String, Stop> {
    Ok(lines(items(field(&case.input, "events")?)))
}

/// The events of a member, host values among them, as JSON Lines; none where there is no such member.
fn host_lines(value: &Value, name: &str) -> Result<String, Stop> {
    let mut lines = String::new();
    for event in value.get(name).map_or(&[][..], items) {
        lines.push_str(&host_value::text(event)?);
        lines.push('\n');
    }
    Ok(lines)
}

/// JSON Lines as values.
fn parsed(lines: &str) -> Result<Vec<Value>, Stop> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).map_err(Stop::from))
        .collect()
}

/// A text that a rule gave as a value; none is null.
fn maybe(text: Option<String>) -> Answered {
    match text {
        Some(text) => Ok(serde_json::from_str(&text)?),
        None => Ok(Value::Null),
    }
}
