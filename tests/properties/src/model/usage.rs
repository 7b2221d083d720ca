//! Tokens per step and in all.

use std::collections::BTreeMap;

use super::Event;
use crate::json::Json;

/// Counts by name.
pub type Tokens = BTreeMap<String, u64>;

/// Turn, step and counts of each step that tells its usage; and the sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// In the order of the log.
    pub steps: Vec<(Option<u64>, Option<u64>, Tokens)>,
    /// All steps together.
    pub total: Tokens,
}

/// One report of usage.
struct Report<'a> {
    // Which stretch between two edges of steps and turns, and what the event names.
    place: (usize, Option<u64>, Option<u64>),
    is_chunk: bool,
    usage: &'a Json,
}

/// Of each step the reports of its chunks, or where it has none those of its message.
pub fn usage(events: &[Event]) -> Usage {
    let mut reports: Vec<Report<'_>> = Vec::new();
    let mut stretch = 0;
    for event in events {
        if ["step/start", "step/end", "turn/start", "turn/end"].contains(&event.kind.as_str()) {
            stretch += 1;
        }
        if let Some((is_chunk, usage)) = report(event) {
            let number = |name| event.data.get(name).and_then(Json::count);
            let place = (stretch, number("turn"), number("step"));
            reports.push(Report {
                place,
                is_chunk,
                usage,
            });
        }
    }
    let mut out = Usage::default();
    for step in reports.chunk_by(|one, next| one.place == next.place) {
        let has_chunk = step.iter().any(|report| report.is_chunk);
        let mut tokens = Tokens::new();
        for report in step.iter().filter(|report| report.is_chunk == has_chunk) {
            for (name, value) in report.usage.last_members() {
                if let Some(count) = value.count() {
                    let name = String::from_utf16_lossy(&name);
                    *tokens.entry(name.clone()).or_default() += count;
                    *out.total.entry(name).or_default() += count;
                }
            }
        }
        let (_, turn, number) = step[0].place;
        out.steps.push((turn, number, tokens));
    }
    out
}

fn report(event: &Event) -> Option<(bool, &Json)> {
    let (is_chunk, usage) = match event.kind.as_str() {
        "assistant/chunk" => {
            let chunk = event.data.get("chunk")?;
            (
                true,
                chunk
                    .get("type")?
                    .says("usage")
                    .then(|| chunk.get("usage"))??,
            )
        }
        // a rewrite repeats what was counted
        "assistant/message" if !matches!(event.op, Some(Json::Object(..))) => {
            (false, event.data.get("usage")?)
        }
        _ => return None,
    };
    matches!(usage, Json::Object(..)).then_some((is_chunk, usage))
}
