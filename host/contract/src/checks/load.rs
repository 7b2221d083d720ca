//! `load`: bounded pages and the cursors between them.

use annals_sdk::types::ErrorCode;

use crate::Check;
use crate::expectation::{ensure, ok, refused, same_bytes};
use crate::samples::{batch, batch_of, event, header, row};
use crate::trial::{Checked, Content, Stop, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "load/pages",
        proves: "pages of any size hold whole records only, follow each other and lead to the end",
        run: pages,
    },
    Check {
        name: "load/long-records",
        proves: "a record longer than bytes-max comes alone and whole",
        run: long_records,
    },
    Check {
        name: "load/cursors",
        proves: "a cursor that no page gave is invalid",
        run: cursors,
    },
    Check {
        name: "load/growing",
        proves: "a cursor goes on exactly, also when the log grew since",
        run: growing,
    },
    Check {
        name: "load/shrunk",
        proves: "a cursor into what was cut off or deleted since is invalid",
        run: shrunk,
    },
    Check {
        name: "load/missing",
        proves: "load and load-cut of a session that is not stored are not-found",
        run: missing,
    },
];

fn pages(trial: &mut Trial<'_>) -> Checked {
    let lines = [batch(0, 9).lines, row(9, 30), batch(39, 2).lines].concat();
    trial.stored_as(&header("a"), &batch_of(0, 41, lines.clone()))?;
    let line = u32::try_from(event(0, "{\"n\":0}").len()).unwrap_or(1);
    let mut sizes = vec![0, 1, line - 1, line, line + 1, 2 * line, 3 * line + 1];
    sizes.extend([64 << 10, 16 << 20, u32::MAX]);
    for bytes_max in sizes {
        let (content, cursors) = trial.read("a", bytes_max)?;
        let what = format!("the log in pages of {bytes_max} bytes");
        same_bytes(&what, &content.bytes, lines.as_bytes())?;
        ensure(content.header.is_some(), || "no header came".to_owned())?;
        ensure(content.raws.is_empty(), || {
            "whole lines came as raw".to_owned()
        })?;
        // 10 lines of one size, of which that many fit into a page
        let fewest = if bytes_max < line { 11 } else { 0 };
        ensure(cursors.len() >= fewest, || {
            format!("{what}: {} cursors where 11 are due", cursors.len())
        })?;
    }
    Ok(())
}

fn long_records(trial: &mut Trial<'_>) -> Checked {
    let long = trial.data_bytes(200_000)?;
    let bytes = |seq: u64| if seq.is_multiple_of(2) { 5 } else { long };
    let line = |seq| event(seq, &format!("\"{}\"", "l".repeat(bytes(seq))));
    let lines: String = (0..9).map(line).collect();
    trial.stored_as(&header("a"), &batch_of(0, 9, lines.clone()))?;
    for bytes_max in [1, 100, 4096, 100_000, 200_000, 200_200, 400_000] {
        let (content, _) = trial.read("a", bytes_max)?;
        same_bytes("the log", &content.bytes, lines.as_bytes())?;
    }
    Ok(())
}

fn cursors(trial: &mut Trial<'_>) -> Checked {
    trial.stored("a", 6)?;
    // a record each: every cursor that there is
    let (_, given) = trial.read("a", 1)?;
    let mut made_up = vec![u64::MAX, u64::MAX - 1, 1 << 32, 1 << 53];
    for cursor in &given {
        made_up.extend([cursor + 1, cursor - 1, cursor + 7]);
    }
    made_up.extend(1..8);
    for cursor in made_up {
        if cursor == 0 || given.contains(&cursor) {
            continue;
        }
        let call = format!("load from the made-up cursor {cursor}");
        let answer = trial.backend()?.load("a", cursor, 100);
        refused(&call, answer, ErrorCode::Invalid)?;
    }
    Ok(())
}

fn growing(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 4)?;
    let (_, given) = trial.read("a", 1)?;
    trial.append("a", &token, &batch(4, 3))?;
    let all = batch(0, 7).lines;
    for (at, cursor) in given.iter().enumerate() {
        let mut content = Content::default();
        trial.read_from("a", *cursor, 200, &mut content)?;
        let skipped = batch(0, at as u64 + 1).lines.len();
        let due = all.get(skipped..).unwrap_or_default();
        let what = format!("the log from cursor {cursor} on");
        same_bytes(&what, &content.bytes, due.as_bytes())?;
    }
    Ok(())
}

fn shrunk(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 6)?;
    let (_, given) = trial.read("a", 1)?;
    let last = given.last().copied();
    let last = last.ok_or_else(|| Stop::Failed("no page gave a cursor".to_owned()))?;
    trial.truncate("a", &token, 2)?;
    let answer = trial.backend()?.load("a", last, 100);
    refused("load after truncate", answer, ErrorCode::Invalid)?;
    ok("delete", trial.backend()?.delete("a", &token))?;
    let answer = trial.backend()?.load("a", last, 100);
    refused("load after delete", answer, ErrorCode::NotFound)?;
    trial.stored("a", 1)?;
    let answer = trial.backend()?.load("a", last, 100);
    refused("load of the next session", answer, ErrorCode::Invalid).map(drop)
}

fn missing(trial: &mut Trial<'_>) -> Checked {
    trial.stored("b", 2)?;
    trial.is_absent("a")?;
    for cursor in [0, 1, u64::MAX] {
        let answer = trial.backend()?.load("a", cursor, 1);
        refused("load", answer, ErrorCode::NotFound)?;
        let answer = trial.backend()?.load_cut("a", cursor, 1);
        refused("load-cut", answer, ErrorCode::NotFound)?;
    }
    Ok(())
}
