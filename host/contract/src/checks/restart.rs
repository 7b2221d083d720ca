//! What is stored survives a new instance over the same medium.

use annals_sdk::types::ErrorCode;

use crate::Check;
use crate::expectation::{ok, refused, same, same_bytes};
use crate::samples::{batch, batch_of, header, header_in, row, summary};
use crate::trial::{Checked, Content, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "restart/sessions",
        proves: "logs, cut bytes, summaries and the listing are the same after a restart",
        run: sessions,
    },
    Check {
        name: "restart/between",
        proves: "a restart between any two calls changes nothing",
        run: between,
    },
    Check {
        name: "restart/seq",
        proves: "the next seq is the medium's: gaps, repetitions and a second create are refused",
        run: seq,
    },
    Check {
        name: "restart/cursors",
        proves: "cursors of logs and listings go on exactly after a restart",
        run: cursors,
    },
    Check {
        name: "restart/delete",
        proves: "what was deleted stays away",
        run: delete,
    },
];

fn sessions(trial: &mut Trial<'_>) -> Checked {
    let ids = ["a", "empty", "../x", "😀"];
    let mut before = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let token = trial.stored_as(&header_in(id, "/work"), &batch(0, 5 * at as u64))?;
        trial.truncate(id, &token, 3 * at as u64)?;
        let change = summary(Some(id), None);
        ok("update", trial.backend()?.update(id, &change))?;
        before.push((id, trial.state(id)?));
    }
    let listed = trial.listing(3)?;
    trial.restart("")?;
    for (id, before) in &before {
        trial.is_as_before("a restart", id, before)?;
    }
    same("the listing", &trial.listing(3)?, &listed)
}

fn between(trial: &mut Trial<'_>) -> Checked {
    let mut token = trial.stored("a", 2)?;
    token = trial.restart(&token)?;
    trial.append("a", &token, &batch(2, 2))?;
    token = trial.restart(&token)?;
    trial.append("a", &token, &batch_of(4, 3, row(4, 3)))?;
    token = trial.restart(&token)?;
    trial.append("a", &token, &batch(7, 3))?;
    token = trial.restart(&token)?;
    ok(
        "update",
        trial.backend()?.update("a", &summary(Some("t"), None)),
    )?;
    token = trial.restart(&token)?;
    trial.truncate("a", &token, 8)?;
    token = trial.restart(&token)?;
    trial.append("a", &token, &batch(8, 1))?;
    trial.restart(&token)?;
    let lines = [batch(0, 4).lines, row(4, 3), batch(7, 2).lines];
    trial.holds(&header("a"), &lines.concat())?;
    same_bytes(
        "what was saved",
        &trial.cut("a")?,
        batch(8, 2).lines.as_bytes(),
    )?;
    same(
        "the summary",
        &trial.listed("a")?.summary,
        &summary(Some("t"), None),
    )
}

fn seq(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored_as(
        &header("a"),
        &batch_of(0, 4, batch(0, 1).lines + &row(1, 3)),
    )?;
    let token = trial.restart(&token)?;
    for first_seq in [0, 1, 2, 3, 5] {
        let answer = trial.backend()?.append("a", &token, &batch(first_seq, 1));
        refused("append", answer, ErrorCode::SeqConflict)?;
    }
    let answer = trial
        .backend()?
        .create(&header_in("a", "/else"), &token, &batch(0, 1));
    refused("create", answer, ErrorCode::AlreadyExists)?;
    trial.append("a", &token, &batch(4, 1))
}

fn cursors(trial: &mut Trial<'_>) -> Checked {
    trial.stored("a", 6)?;
    trial.stored("b", 1)?;
    trial.stored("c", 1)?;
    let (_, given) = trial.read("a", 1)?;
    let (mut entries, next) = trial.piece(None, 2)?;
    trial.restart("")?;
    let all = batch(0, 6).lines;
    for (at, cursor) in given.iter().enumerate() {
        let mut content = Content::default();
        trial.read_from("a", *cursor, 1, &mut content)?;
        let skipped = batch(0, at as u64 + 1).lines.len();
        let due = all.get(skipped..).unwrap_or_default();
        same_bytes("the log from a cursor on", &content.bytes, due.as_bytes())?;
    }
    trial.list_from(next, 2, &mut entries)?;
    let mut ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    ids.sort_unstable();
    same("the listing", &ids, &vec!["a", "b", "c"])
}

fn delete(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 3)?;
    trial.truncate("a", &token, 1)?;
    ok("delete", trial.backend()?.delete("a", &token))?;
    trial.restart(&token)?;
    trial.is_absent("a")?;
    trial.stored("a", 2)?;
    trial.holds(&header("a"), &batch(0, 2).lines)?;
    same_bytes("what was saved", &trial.cut("a")?, b"")
}
