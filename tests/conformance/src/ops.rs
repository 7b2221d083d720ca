//! Which code answers which operation.

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

use annals_core::fault::{Fault, Reason};
use annals_core::session::Session;
use serde_json::Value;

use crate::answer::{Answer, Refusal, Skip};
use crate::host::Host;
use crate::vector::Case;

pub use load::expectation as load_expectation;
pub use store::expectation as store_expectation;

/// Answers an operation of core.
pub fn of_core(case: &Case) -> Answer {
    let answered = match case.op.as_str() {
        "fold_surface" => surface::fold(case),
        "is_surface_eligible_type" => surface::is_eligible_type(case),
        "is_surface_event" => surface::is_event(case),
        "derive_messages" => messages::derive(case),
        "derive_event_message" => messages::derive_event(case),
        "construct" => construct::construct(case),
        "canonical_header" => construct::canonical_header(case),
        "header_equals" => construct::header_equals(case),
        "fold_request_header" => construct::fold_request_header(case),
        "append_script" => append::script(case),
        "store_script" => store::script(case),
        "json_text" => values::json_text(case),
        "host_value" => values::host_value(case),
        "pack_chunk_runs" => rows::pack(case),
        "decode_storage_record" => rows::decode(case),
        "display_prompt_content" => prompts::display(case),
        "find_last_message_turn_end" => prompts::last_message_turn_end(case),
        "check_trace" => trace::check(case),
        "interrupted_turn_closers" => closers::interrupted(case),
        _ => Err(Stop::Skipped(Skip::NoRunner)),
    };
    into_answer(answered)
}

/// Answers an operation on files, through a store with the JSONL backend.
pub fn of_files(host: &dyn Host, case: &Case) -> Answer {
    let answered = match case.op.as_str() {
        "encode_id" | "cwd_bucket" => paths::stored_at(host, case),
        "load_file" => load::load_file(host, case),
        "backend_script" => backend::script(host, case),
        _ => Err(Stop::Skipped(Skip::NoRunner)),
    };
    into_answer(answered)
}

/// What a session that begins with these lines shows at the end of a script, its seq excepted.
pub(crate) fn after_seed(lines: &str) -> Result<Value, Refusal> {
    let shown = || -> Answered {
        let mut session = Session::from_seed(messages::header("s"), lines)?;
        let mut shown = messages::history(&mut session)?;
        construct::add_request_header(&mut shown, &session)?;
        Ok(shown)
    };
    match into_answer(shown()) {
        Answer::Ok(value) => Ok(value),
        Answer::Refused(refusal) => Err(refusal),
        Answer::Skipped(skip) => Err(Refusal::new("runner", skip.reason())),
    }
}

/// What an adapter gives: a value in the shape of `expect.ok`, or why there is none.
type Answered = Result<Value, Stop>;

enum Stop {
    Refused(Refusal),
    Skipped(Skip),
    /// The case or the answer has a shape that the adapter does not know.
    Misread(String),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Refused(refusal(&fault))
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Skip> for Stop {
    fn from(skip: Skip) -> Self {
        Self::Skipped(skip)
    }
}

impl From<serde_json::Error> for Stop {
    fn from(error: serde_json::Error) -> Self {
        Self::Misread(error.to_string())
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Misread(error.to_string())
    }
}

fn into_answer(answered: Answered) -> Answer {
    match answered {
        Ok(value) => Answer::Ok(value),
        Err(Stop::Refused(refusal)) => Answer::Refused(refusal),
        Err(Stop::Skipped(skip)) => Answer::Skipped(skip),
        Err(Stop::Misread(words)) => Answer::Refused(Refusal::new("runner", words)),
    }
}

fn refusal(fault: &Fault) -> Refusal {
    let reason: Reason = fault.reason;
    Refusal::new(reason.label(), fault.message.clone())
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

/// JSON Lines as values.
fn parsed(lines: &str) -> Result<Vec<Value>, Stop> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).map_err(Stop::from))
        .collect()
}
