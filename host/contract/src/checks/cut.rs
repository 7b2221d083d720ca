//! `truncate`, and what it saved.

use annals_sdk::types::ErrorCode;

use crate::Check;
use crate::expectation::{ensure, ok, refused, same_bytes};
use crate::samples::{batch, batch_of, event, header, row, time_ms};
use crate::trial::{Checked, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "truncate/keeps",
        proves: "the first events stay, the rest is saved, and the log goes on after them",
        run: keeps,
    },
    Check {
        name: "truncate/all",
        proves: "a log cut to 0 events is its header, and goes on at seq 0",
        run: all,
    },
    Check {
        name: "truncate/nothing",
        proves: "nothing to drop is ok and saves nothing",
        run: nothing,
    },
    Check {
        name: "truncate/invalid",
        proves: "keeping more events than there are, or a part of a row, is invalid and changes nothing",
        run: invalid,
    },
    Check {
        name: "truncate/missing",
        proves: "truncate of a session that is not stored is not-found",
        run: missing,
    },
    Check {
        name: "truncate/repeated",
        proves: "what each cut dropped is kept, the oldest first, also when the log grew between",
        run: repeated,
    },
    Check {
        name: "truncate/deeper",
        proves: "cuts one below the other are all kept whole, by age or by place",
        run: deeper,
    },
    Check {
        name: "truncate/cut-pages",
        proves: "saved bytes come in pages of any size, and a made-up cursor is invalid",
        run: cut_pages,
    },
];

fn keeps(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 10)?;
    trial.truncate("a", &token, 4)?;
    trial.holds(&header("a"), &batch(0, 4).lines)?;
    same_bytes(
        "what was saved",
        &trial.cut("a")?,
        batch(4, 6).lines.as_bytes(),
    )?;
    let updated = trial.listed("a")?.updated_at_ms;
    ensure(updated.is_none_or(|updated| updated == time_ms(3)), || {
        format!("updated-at is {updated:?}, not {}", time_ms(3))
    })?;
    let answer = trial.backend()?.append("a", &token, &batch(10, 1));
    refused("append at the old end", answer, ErrorCode::SeqConflict)?;
    trial.append("a", &token, &batch(4, 1))?;
    trial.holds(&header("a"), &batch(0, 5).lines)
}

fn all(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 3)?;
    trial.truncate("a", &token, 0)?;
    trial.holds(&header("a"), "")?;
    same_bytes(
        "what was saved",
        &trial.cut("a")?,
        batch(0, 3).lines.as_bytes(),
    )?;
    trial.append("a", &token, &batch(0, 2))?;
    trial.holds(&header("a"), &batch(0, 2).lines)
}

fn nothing(trial: &mut Trial<'_>) -> Checked {
    for (id, count) in [("a", 3), ("empty", 0)] {
        let token = trial.stored(id, count)?;
        trial.truncate(id, &token, count)?;
        trial.holds(&header(id), &batch(0, count).lines)?;
        same_bytes("what was saved", &trial.cut(id)?, b"")?;
        trial.append(id, &token, &batch(count, 1))?;
    }
    Ok(())
}

fn invalid(trial: &mut Trial<'_>) -> Checked {
    let lines = [batch(0, 2).lines, row(2, 3), batch(5, 1).lines];
    let token = trial.stored_as(&header("a"), &batch_of(0, 6, lines.concat()))?;
    let before = trial.state("a")?;
    for keep_events in [3, 4, 7, 8, u64::MAX] {
        let call = format!("truncate to {keep_events} events");
        let answer = trial.backend()?.truncate("a", &token, keep_events);
        refused(&call, answer, ErrorCode::Invalid)?;
        trial.is_as_before(&call, "a", &before)?;
    }
    let [first, row, last] = lines;
    trial.truncate("a", &token, 5)?;
    trial.holds(&header("a"), &format!("{first}{row}"))?;
    same_bytes("what was saved", &trial.cut("a")?, last.as_bytes())
}

fn missing(trial: &mut Trial<'_>) -> Checked {
    let token = trial.lease("a")?;
    let answer = trial.backend()?.truncate("a", &token, 0);
    refused("truncate", answer, ErrorCode::NotFound)?;
    trial.is_absent("a")
}

/// Events that are told from those of another round.
fn round(first_seq: u64, count: u64, round: u64) -> annals_sdk::types::Batch {
    let line = |seq| event(seq, &format!("{{\"round\":{round}}}"));
    let lines = (first_seq..first_seq + count).map(line).collect();
    batch_of(first_seq, count, lines)
}

fn repeated(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 2)?;
    let mut saved = String::new();
    for at in 0..3 {
        // the second one again at the place of the first
        let keep_events = 2 + at / 2;
        let old = round(keep_events, 2, at);
        trial.append("a", &token, &old)?;
        trial.truncate("a", &token, keep_events)?;
        saved.push_str(&old.lines);
        same_bytes("what was saved", &trial.cut("a")?, saved.as_bytes())?;
        if at == 1 {
            trial.append("a", &token, &batch(2, 1))?;
        }
    }
    trial.holds(&header("a"), &batch(0, 3).lines)
}

fn deeper(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 9)?;
    trial.truncate("a", &token, 6)?;
    trial.truncate("a", &token, 3)?;
    trial.append("a", &token, &round(3, 2, 1))?;
    trial.truncate("a", &token, 1)?;
    let by_age = [
        batch(6, 3).lines,
        batch(3, 3).lines,
        batch(1, 2).lines + &round(3, 2, 1).lines,
    ];
    let [first, second, third] = by_age.clone();
    // as files whose names say where the bytes were
    let by_place = [third, second, first].concat();
    let saved = trial.cut("a")?;
    if saved != by_place.as_bytes() {
        same_bytes("what was saved", &saved, by_age.concat().as_bytes())?;
    }
    trial.holds(&header("a"), &batch(0, 1).lines)
}

fn cut_pages(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 8)?;
    trial.truncate("a", &token, 3)?;
    let saved = batch(3, 5).lines;
    for bytes_max in [0, 1, 50, 97, 1000, u32::MAX] {
        let cut = trial.read_cut("a", bytes_max)?;
        let what = format!("what was saved, in pages of {bytes_max} bytes");
        same_bytes(&what, &cut, saved.as_bytes())?;
    }
    let first = ok("load-cut", trial.backend()?.load_cut("a", 0, 50))?;
    let bytes = first.raw.map_or(0, |raw| raw.len());
    ensure(bytes < saved.len(), || {
        format!("load-cut with bytes-max 50 gave {bytes} bytes")
    })?;
    let answer = trial.backend()?.load_cut("a", u64::MAX, 50);
    refused("load-cut from a made-up cursor", answer, ErrorCode::Invalid).map(drop)
}
