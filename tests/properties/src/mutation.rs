//! Events that break one rule.

mod table;

use crate::json::Json;
use crate::model::Event;
use crate::random::Random;
use crate::script::Log;

use table::ALWAYS_BROKEN;

/// How many kinds of broken events there are.
pub const KINDS: u8 = ALWAYS_BROKEN.len() as u8 + PLACED_KINDS;

/// Kinds that depend on the log.
const PLACED_KINDS: u8 = 12;

/// A line to append after `log` that must be refused, and the label of the rule that it breaks.
pub fn broken(log: &Log, kind: u8, seed: u32) -> (String, &'static str) {
    let random = &mut Random::new(u64::from(seed));
    let placed = if kind < PLACED_KINDS / 2 {
        misnumbered(log, kind, random)
    } else {
        misplaced(log, kind, random)
    };
    placed.unwrap_or_else(|| {
        let at = usize::from(kind.saturating_sub(PLACED_KINDS));
        let (lines, label) = ALWAYS_BROKEN[at];
        (random.pick(lines).to_owned(), label)
    })
}

/// Wrong about seqs, whatever stands on the surface.
fn misnumbered(log: &Log, kind: u8, random: &mut Random) -> Option<(String, &'static str)> {
    let next = log.events.len();
    let user = |sources: String| {
        format!(
            r#"{{"type":"user/message","data":{{"content":"x"}},"surfaceOp":"append","sourceEventSeqs":{sources}}}"#
        )
    };
    match kind {
        0 => Some((user(format!("[{next},{next}.0]")), "sources-duplicate")),
        1 => {
            let late = next + random.below(3);
            Some((user(format!("[{late}]")), "sources-not-earlier"))
        }
        2 => {
            let seq = if random.once_in(2) {
                next + 1
            } else {
                next.checked_sub(1)?
            };
            let line = format!(r#"{{"type":"x","data":0,"seq":{seq}}}"#);
            Some((line, "append-seq-mismatch"))
        }
        // an event that is not there, or not any more, or that never stood there
        3 | 4 => {
            let nodes = log.nodes();
            let gone: Vec<u64> = (0..next as u64 + 3)
                .filter(|seq| !nodes.contains(seq))
                .collect();
            let gone = gone[random.below(gone.len())];
            if kind == 3 {
                return Some((rewrite(gone, gone, &[]), "replace-start-not-found"));
            }
            let start = *nodes.get(random.below(nodes.len()))?;
            Some((rewrite(start, gone, &[]), "replace-end-not-found"))
        }
        _ => None,
    }
}

/// A replace that its range does not allow; none where the surface has no such range.
fn misplaced(log: &Log, kind: u8, random: &mut Random) -> Option<(String, &'static str)> {
    let nodes = log.nodes();
    let is_result = |seq: &&u64| log.events[**seq as usize].kind == "tool/result";
    let first = random.below(nodes.len().max(2) - 1);
    let (start, end) = (*nodes.get(first)?, *nodes.last()?);
    match kind {
        6 if start != end => Some((rewrite(end, start, &nodes), "replace-range-reversed")),
        7 => {
            let mut sources = nodes[first..].to_vec();
            sources.remove(random.below(sources.len()));
            let others = 0..log.events.len() as u64;
            sources.extend(others.into_iter().find(|seq| !nodes[first..].contains(seq)));
            let line = rewrite(start, end, &sources);
            (!sources.is_empty()).then_some((line, "sources-missing-shadowed"))
        }
        8 if start != end => {
            let line = result_rewrite(r#"{"callId":"c"}"#, start, end, &nodes);
            Some((line, "tool-rewrite-not-single"))
        }
        9 => {
            let target = *nodes.iter().find(|seq| !is_result(seq))?;
            let line = result_rewrite(r#"{"callId":"c"}"#, target, target, &[target]);
            Some((line, "tool-rewrite-wrong-target"))
        }
        10 | 11 => {
            let target = *nodes.iter().find(is_result)?;
            let mut data = log.events[target as usize].data.clone();
            let name = random.pick(&["callId", "isError", "other"]);
            match data {
                Json::Object(..) => data.add(name, Json::array(vec![Json::number(0)])),
                Json::Plain(_) | Json::Array(..) => data = Json::array(Vec::new()),
            }
            let line = result_rewrite(&data.text(), target, target, &[target]);
            Some((line, "tool-rewrite-changes-more-than-content"))
        }
        _ => None,
    }
}

fn rewrite(start: u64, end: u64, sources: &[u64]) -> String {
    replace("user/message", r#"{"content":"x"}"#, start, end, sources)
}

fn result_rewrite(data: &str, start: u64, end: u64, sources: &[u64]) -> String {
    replace("tool/result", data, start, end, sources)
}

fn replace(kind: &str, data: &str, start: u64, end: u64, sources: &[u64]) -> String {
    format!(
        r#"{{"type":"{kind}","data":{data},"surfaceOp":{{"op":"replace","start":{start},"end":{end}}},"sourceEventSeqs":{sources:?}}}"#
    )
}

/// The same events with some of their surface members changed, without a thought for the rules.
pub fn scrambled(events: &[Event], seed: u32) -> Vec<Event> {
    let random = &mut Random::new(u64::from(seed));
    let mut events = events.to_vec();
    let count = events.len();
    for _ in 0..1 + random.below(3) {
        if let Some(event) = events.get_mut(random.below(count)) {
            scramble(event, random);
        }
    }
    events
}

fn scramble(event: &mut Event, random: &mut Random) {
    let mut near = || Json::number(event.seq.saturating_sub(random.below(6) as u64));
    let range = |start, end| {
        Json::object([
            ("op", Json::string("replace")),
            ("start", start),
            ("end", end),
        ])
    };
    let ops = [
        Some(Json::string("append")),
        Some(range(near(), near())),
        Some(range(near(), near())),
        Some(Json::object([
            ("op", Json::string("replace")),
            ("end", near()),
        ])),
        Some(Json::number("null")),
        None,
    ];
    let sources = [
        Some(Json::array(vec![near(), near(), near()])),
        Some(Json::array((0..event.seq).map(Json::number).collect())),
        Some(Json::array(vec![near()])),
        Some(Json::array(vec![Json::number(event.seq + 1)])),
        Some(Json::array(Vec::new())),
        Some(Json::array(vec![Json::string("0")])),
        Some(Json::number("null")),
        None,
    ];
    if random.once_in(2) {
        event.op = ops[random.below(ops.len())].clone();
    }
    if random.once_in(2) {
        event.sources = sources[random.below(sources.len())].clone();
    }
    if random.once_in(8) {
        let kinds = ["user/message", "tool/result", "assistant/message", "x"];
        event.kind = random.pick(&kinds).to_owned();
    }
    let member = |name: &str, value: &Option<Json>| {
        let text = value.as_ref().map(Json::text);
        text.map_or(String::new(), |text| format!(",\"{name}\":{text}"))
    };
    event.line = format!(
        "{{\"type\":\"{}\",\"seq\":{},\"time\":0,\"data\":{}{}{}}}",
        event.kind,
        event.seq,
        event.data.text(),
        member("surfaceOp", &event.op),
        member("sourceEventSeqs", &event.sources)
    );
}
