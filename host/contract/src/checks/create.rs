//! `create`: header and first batch as one.

use annals_sdk::types::{ErrorCode, SessionHeader, SessionStatus};

use crate::Check;
use crate::expectation::{ensure, ok, refused, same};
use crate::samples::{batch, batch_of, header, header_in, row, time_ms};
use crate::trial::{Checked, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "create/both",
        proves: "header and first batch are stored together, and has, load and list show them",
        run: both,
    },
    Check {
        name: "create/header-alone",
        proves: "an empty batch stores the header alone, and the log goes on at seq 0",
        run: header_alone,
    },
    Check {
        name: "create/neither",
        proves: "a batch that does not begin at 0 is a seq-conflict and stores nothing",
        run: neither,
    },
    Check {
        name: "create/existing",
        proves: "already-exists whatever the cwd, and never over an existing session",
        run: existing,
    },
    Check {
        name: "create/headers",
        proves: "every member of a header comes back as it was given, unknown ones as found",
        run: headers,
    },
    Check {
        name: "create/rows",
        proves: "a first batch of packed rows counts as the events that it stands for",
        run: rows,
    },
];

fn both(trial: &mut Trial<'_>) -> Checked {
    trial.is_absent("a")?;
    trial.stored("a", 3)?;
    let has = ok("has", trial.backend()?.has("a"))?;
    ensure(has, || "has says that it is not stored".to_owned())?;
    trial.holds(&header("a"), &batch(0, 3).lines)?;
    let entry = trial.listed("a")?;
    same("the header listed", &entry.header, &Some(header("a")))?;
    same("the status", &entry.status, &SessionStatus::Ok)
}

fn header_alone(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 0)?;
    trial.holds(&header("a"), "")?;
    let entry = trial.listed("a")?;
    same("the status", &entry.status, &SessionStatus::Ok)?;
    same("updated-at without an event", &entry.updated_at_ms, &None)?;
    trial.append("a", &token, &batch(0, 2))?;
    trial.holds(&header("a"), &batch(0, 2).lines)
}

fn neither(trial: &mut Trial<'_>) -> Checked {
    let token = trial.lease("a")?;
    for first_seq in [1, 7, 1 << 53] {
        let answer = trial
            .backend()?
            .create(&header("a"), &token, &batch(first_seq, 2));
        refused("create", answer, ErrorCode::SeqConflict)?;
        trial.is_absent("a")?;
    }
    trial.create(&header("a"), &token, &batch(0, 1))?;
    trial.holds(&header("a"), &batch(0, 1).lines)
}

fn existing(trial: &mut Trial<'_>) -> Checked {
    let first = header_in("a", "/one");
    let token = trial.stored_as(&first, &batch(0, 2))?;
    let empty = trial.stored("empty", 0)?;
    let before = [trial.state("a")?, trial.state("empty")?];
    let again = [
        header_in("a", "/one"),
        header_in("a", "/other"),
        header("a"),
    ];
    for header in &again {
        for count in [0, 3] {
            let answer = trial.backend()?.create(header, &token, &batch(0, count));
            refused("create", answer, ErrorCode::AlreadyExists)?;
        }
    }
    let answer = trial
        .backend()?
        .create(&header_in("empty", "/x"), &empty, &batch(0, 1));
    refused("create over a header", answer, ErrorCode::AlreadyExists)?;
    for (id, before) in ["a", "empty"].iter().zip(&before) {
        trial.is_as_before("create", id, before)?;
    }
    Ok(())
}

fn headers(trial: &mut Trial<'_>) -> Checked {
    let most = SessionHeader {
        created_at_ms: (1 << 53) - 1,
        cwd: Some("/work/äöü \"x\" \\".to_owned()),
        parent_session: Some("../pa\u{2028}rent\n".to_owned()),
        seed_length: Some((1 << 53) - 1),
        delegation_depth: Some(u32::MAX),
        extra: Some(r#"{"z":1.50e3,"a":{"y":[ 1 , 2.0 ],"x":"é\ud83d"},"ü":null}"#.to_owned()),
        ..header("most")
    };
    let least = SessionHeader {
        created_at_ms: 0,
        seed_length: Some(0),
        delegation_depth: Some(0),
        ..header("least")
    };
    for header in [most, least] {
        trial.stored_as(&header, &batch(0, 1))?;
        trial.holds(&header, &batch(0, 1).lines)?;
        let listed = trial.listed(&header.id)?.header;
        same("the header listed", &listed, &Some(header))?;
    }
    Ok(())
}

fn rows(trial: &mut Trial<'_>) -> Checked {
    let lines = row(0, 5);
    let token = trial.stored_as(&header("a"), &batch_of(0, 5, lines.clone()))?;
    trial.holds(&header("a"), &lines)?;
    let answer = trial.backend()?.append("a", &token, &batch(1, 1));
    refused("append inside the row", answer, ErrorCode::SeqConflict)?;
    trial.append("a", &token, &batch(5, 1))?;
    let updated = trial.listed("a")?.updated_at_ms;
    let is_right = updated.is_none_or(|updated| updated == time_ms(5));
    ensure(is_right, || {
        format!("updated-at is {updated:?}, not {}", time_ms(5))
    })
}
