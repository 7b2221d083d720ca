//! `append`: all of a batch or none, at the next seq only.

use annals_sdk::types::{Batch, ErrorCode};

use crate::Check;
use crate::expectation::{ensure, refused, same};
use crate::samples::{batch, batch_of, event, header, row, time_ms};
use crate::trial::{Checked, Stop, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "append/contiguous",
        proves: "batches at the next seq follow each other, and the listing shows the last time",
        run: contiguous,
    },
    Check {
        name: "append/gap",
        proves: "a batch beyond the next seq is a seq-conflict and changes nothing",
        run: gap,
    },
    Check {
        name: "append/repeated",
        proves: "a batch that is stored already is a seq-conflict, so no event is stored twice",
        run: repeated,
    },
    Check {
        name: "append/missing",
        proves: "append to a session that is not stored is not-found and stores nothing",
        run: missing,
    },
    Check {
        name: "append/empty",
        proves: "an empty batch changes nothing",
        run: empty,
    },
    Check {
        name: "append/apart",
        proves: "an append changes no other session",
        run: apart,
    },
    Check {
        name: "append/thousand",
        proves: "a batch of 1,000 events is stored whole and in order",
        run: thousand,
    },
    Check {
        name: "append/long-event",
        proves: "events of 10 MB come back whole, and the log goes on",
        run: long_event,
    },
    Check {
        name: "append/rows",
        proves: "packed rows stay the rows that they were, and count as their events",
        run: rows,
    },
    Check {
        name: "append/limit",
        proves: "a record over record-bytes-max is refused with limit, and none of its batch is stored",
        run: limit,
    },
];

const LONG_BYTES: usize = 10 << 20;

/// A longer `record-bytes-max` is not tried, for want of memory.
const TRIED_BYTES_MAX: u64 = 300 << 20;

fn contiguous(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 1)?;
    let mut next_seq = 1;
    for count in [1, 2, 3, 50, 1] {
        trial.append("a", &token, &batch(next_seq, count))?;
        next_seq += count;
        let updated = trial.listed("a")?.updated_at_ms;
        let due = time_ms(next_seq - 1);
        ensure(updated.is_none_or(|updated| updated == due), || {
            format!("updated-at is {updated:?}, not {due}")
        })?;
    }
    trial.holds(&header("a"), &batch(0, next_seq).lines)
}

fn conflicts(trial: &mut Trial<'_>, token: &str, batches: &[Batch]) -> Checked {
    let before = trial.state("a")?;
    for events in batches {
        let call = format!(
            "append of {} events at seq {}",
            events.count, events.first_seq
        );
        let answer = trial.backend()?.append("a", token, events);
        refused(&call, answer, ErrorCode::SeqConflict)?;
        trial.is_as_before(&call, "a", &before)?;
    }
    Ok(())
}

fn gap(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 3)?;
    conflicts(
        trial,
        &token,
        &[batch(4, 1), batch(5, 3), batch(1 << 53, 1), batch(4, 0)],
    )?;
    trial.append("a", &token, &batch(3, 1))?;
    trial.holds(&header("a"), &batch(0, 4).lines)
}

fn repeated(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 3)?;
    trial.append("a", &token, &batch(3, 2))?;
    conflicts(
        trial,
        &token,
        &[
            batch(3, 2),
            batch(4, 1),
            batch(4, 4),
            batch(0, 5),
            batch(0, 1),
        ],
    )?;
    trial.append("a", &token, &batch(5, 1))?;
    trial.holds(&header("a"), &batch(0, 6).lines)
}

fn missing(trial: &mut Trial<'_>) -> Checked {
    let token = trial.lease("a")?;
    for first_seq in [0, 1] {
        let answer = trial.backend()?.append("a", &token, &batch(first_seq, 1));
        refused("append", answer, ErrorCode::NotFound)?;
        trial.is_absent("a")?;
    }
    Ok(())
}

fn empty(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 2)?;
    trial.append("a", &token, &batch(2, 0))?;
    trial.holds(&header("a"), &batch(0, 2).lines)?;
    trial.append("a", &token, &batch(2, 1))?;
    trial.holds(&header("a"), &batch(0, 3).lines)
}

fn apart(trial: &mut Trial<'_>) -> Checked {
    let first = trial.stored("a", 2)?;
    let second = trial.stored("b", 1)?;
    trial.append("b", &second, &batch(1, 3))?;
    trial.append("a", &first, &batch(2, 1))?;
    trial.holds(&header("a"), &batch(0, 3).lines)?;
    trial.holds(&header("b"), &batch(0, 4).lines)
}

fn thousand(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 1)?;
    let text = "x".repeat(200);
    let line = |seq| event(seq, &format!("{{\"text\":\"{text}\"}}"));
    let lines: String = (1..=1000).map(line).collect();
    trial.append("a", &token, &batch_of(1, 1000, lines.clone()))?;
    trial.append("a", &token, &batch(1001, 1))?;
    let all = [batch(0, 1).lines, lines, batch(1001, 1).lines].concat();
    trial.holds(&header("a"), &all)
}

fn long_event(trial: &mut Trial<'_>) -> Checked {
    let long = |seq, letter: &str| event(seq, &format!("\"{}\"", letter.repeat(LONG_BYTES)));
    let lines = [
        long(0, "a"),
        batch(1, 1).lines,
        long(2, "b"),
        batch(3, 1).lines,
    ];
    let longest = lines.iter().map(String::len).max().unwrap_or(0) as u64;
    let max = trial.info()?.record_bytes_max;
    if max < longest {
        return Err(Stop::NotApplicable(format!("record-bytes-max is {max}")));
    }
    let [first, second, third, fourth] = lines;
    let token = trial.stored_as(&header("a"), &batch_of(0, 1, first.clone()))?;
    let rest = format!("{second}{third}");
    trial.append("a", &token, &batch_of(1, 2, rest.clone()))?;
    trial.append("a", &token, &batch_of(3, 1, fourth.clone()))?;
    let all = [first, rest, fourth].concat();
    for bytes_max in [1, 64 << 10, 16 << 20] {
        let (content, _) = trial.read("a", bytes_max)?;
        crate::expectation::same_bytes("the log", &content.bytes, all.as_bytes())?;
    }
    Ok(())
}

fn rows(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 2)?;
    let lines = [row(2, 3), event(5, "null"), row(6, 2), row(8, 40)];
    trial.append("a", &token, &batch_of(2, 46, lines.concat()))?;
    let answer = trial.backend()?.append("a", &token, &batch(6, 1));
    refused(
        "append at the number of lines",
        answer,
        ErrorCode::SeqConflict,
    )?;
    trial.append("a", &token, &batch(48, 1))?;
    let all = [batch(0, 2).lines, lines.concat(), batch(48, 1).lines].concat();
    trial.holds(&header("a"), &all)?;
    let (content, _) = trial.read("a", 1)?;
    same("the log in small pages", &content.bytes, &all.into_bytes())
}

fn limit(trial: &mut Trial<'_>) -> Checked {
    let max = trial.info()?.record_bytes_max;
    if max > TRIED_BYTES_MAX {
        return Err(Stop::NotApplicable(format!("record-bytes-max is {max}")));
    }
    let of_bytes = |seq, bytes: u64| {
        let around = event(seq, "\"\"").len() as u64;
        let fill = usize::try_from(bytes.saturating_sub(around)).unwrap_or(0);
        event(seq, &format!("\"{}\"", "A".repeat(fill)))
    };
    let token = trial.stored("a", 1)?;
    let fresh = trial.lease("b")?;
    let before = trial.state("a")?;
    // not the last one: a backend that stores what fits stores the first
    let lines = [batch(1, 1).lines, of_bytes(2, max + 1), batch(3, 1).lines];
    let answer = trial
        .backend()?
        .append("a", &token, &batch_of(1, 3, lines.concat()));
    let error = refused("append", answer, ErrorCode::Limit)?;
    ensure(error.detail.contains("record-bytes-max"), || {
        format!(
            "the detail does not name record-bytes-max: {}",
            error.detail
        )
    })?;
    drop(lines);
    trial.is_as_before("append", "a", &before)?;
    let first = batch_of(0, 1, of_bytes(0, max + 1));
    let answer = trial.backend()?.create(&header("b"), &fresh, &first);
    refused("create", answer, ErrorCode::Limit)?;
    drop(first);
    trial.is_absent("b")?;
    if max <= LONG_BYTES as u64 * 3 {
        trial.append("a", &token, &batch_of(1, 1, of_bytes(1, max)))?;
    }
    Ok(())
}
