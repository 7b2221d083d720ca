//! Packed rows.

use annals_core::chunk_rows::unpack;
use serde_json::{Value, json};

use crate::vector::{Case, items, set};

pub(super) fn exact_rows(case: &Case) -> Option<Value> {
    if case.expect.pointer("/ok/round_trips")? != false {
        return None;
    }
    let mut events = items(case.input.get("events")?).iter();
    let mut records = Vec::new();
    for record in items(case.expect.pointer("/ok/records")?) {
        let usual = unpack(&format!("{record}\n")).ok()?;
        let members: Vec<(&Value, bool)> = usual
            .lines()
            .map(|line| events.next().map(|event| (event, is_spelled(event, line))))
            .collect::<Option<_>>()?;
        if record.get("seq0").is_none() {
            records.push(record.clone());
            continue;
        }
        for run in members.chunk_by(|(_, a), (_, b)| *a && *b) {
            let run: Vec<Value> = run.iter().map(|(event, _)| (*event).clone()).collect();
            match row_of(record, &run) {
                Some(row) => records.push(row),
                None => records.extend(run),
            }
        }
    }
    Some(json!({ "ok": { "records": records, "round_trips": true } }))
}

fn is_spelled(event: &Value, text: &str) -> bool {
    let spelled = event.to_string();
    spelled == text
}

/// The part of `row` that stands for `run`; none when the run is too short for a row.
fn row_of(row: &Value, run: &[Value]) -> Option<Value> {
    if run.len() < 3 {
        return None;
    }
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_i64);
    let first = run.first()?;
    let skipped = usize::try_from(number(first, "seq")? - number(row, "seq0")?).ok()?;
    let mut part = row.clone();
    set(&mut part, "seq0", first.get("seq")?.clone());
    set(&mut part, "time0", first.get("time")?.clone());
    for (name, count) in [
        ("dt", run.len() - 1),
        ("texts", run.len()),
        ("args", run.len()),
    ] {
        if let Some(list) = row.pointer(&format!("/data/{name}")) {
            let kept: Vec<Value> = items(list)
                .iter()
                .skip(skipped)
                .take(count)
                .cloned()
                .collect();
            set(part.get_mut("data")?, name, kept);
        }
    }
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::agrees;
    use crate::differences::apply;
    use crate::native::Native;
    use crate::ops::answer;

    #[test]
    fn an_unusual_spelling_breaks_a_run() {
        let usual = |seq: u64| {
            json!({ "type": "assistant/chunk", "seq": seq, "time": seq, "data": { "turn": 1, "step": 1,
                "chunk": { "type": "text-delta", "index": 0, "text": "t" } } })
        };
        let odd = json!({ "seq": 1, "type": "assistant/chunk", "time": 1, "data": { "turn": 1, "step": 1,
            "chunk": { "type": "text-delta", "index": 0, "text": "t" } } });
        let row = |seq: u64, count: usize| {
            json!({ "type": "text-chunks", "seq0": seq, "time0": seq, "data": { "turn": 1, "step": 1, "index": 0,
                "dt": vec![1; count - 1], "texts": vec!["t"; count] } })
        };
        let events = [usual(0), odd.clone(), usual(2), usual(3), usual(4)];
        let mut case = Case {
            name: String::new(),
            op: "pack_chunk_runs".to_owned(),
            input: json!({ "events": events }),
            expect: json!({ "ok": { "records": [row(0, 5)], "round_trips": false } }),
            events_only: false,
        };
        assert_eq!(apply(&mut case).len(), 1);
        let records = json!([usual(0), odd, row(2, 3)]);
        assert_eq!(
            case.expect,
            json!({ "ok": { "records": records, "round_trips": true } })
        );
        assert!(
            agrees(&case.expect, &answer(&Native, &case)),
            "core packs so, too"
        );
    }
}
