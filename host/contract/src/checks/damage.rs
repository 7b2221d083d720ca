//! Damage on the medium, where that is a directory: planted in the file that holds what was stored.

use annals_sdk::types::{ErrorCode, SessionHeader, SessionStatus};

use crate::Check;
use crate::expectation::{ensure, ok, refused, same, same_bytes};
use crate::samples::{batch, batch_of, event, header};
use crate::trial::{Checked, Content, Stop, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "damage/torn-end",
        proves: "a torn end comes alone as raw, appends are corrupt until truncate saved and cut it",
        run: torn_end,
    },
    Check {
        name: "damage/not-utf8",
        proves: "a line that is no UTF-8 comes alone as raw, in its place, and every other line as it is",
        run: not_utf8,
    },
    Check {
        name: "damage/header",
        proves: "a session whose header cannot be read is stored and listed, and hides no other",
        run: damaged_header,
    },
    Check {
        name: "damage/version",
        proves: "a header of another version comes as raw, before anything else is looked at",
        run: other_version,
    },
    Check {
        name: "damage/empty-file",
        proves: "a session that lost all its bytes is stored, is never created over, and hides no other",
        run: empty_file,
    },
];

/// Found in the medium's files again.
const MARK: &str = "marked-for-damage";

fn marked(seq: u64) -> String {
    event(seq, &format!("\"{MARK}\""))
}

fn write(found: &crate::medium::Found, bytes: &[u8]) -> Checked {
    let failed = |error| Stop::Failed(format!("the medium cannot be damaged: {error}"));
    found.write(bytes).map_err(failed)
}

fn torn_end(trial: &mut Trial<'_>) -> Checked {
    let lines = batch(0, 2).lines + &marked(2);
    let torn: [&[u8]; 3] = [
        b"{\"type\":\"contract/torn\",\"seq\":3,\"ti",
        b"{\"type\":\"\xc3",
        b"\0\0\0\0\0",
    ];
    for torn in torn {
        let token = trial.stored_as(&header("a"), &batch_of(0, 3, lines.clone()))?;
        let found = trial.find_on_medium(MARK)?;
        if !found.bytes.ends_with(marked(2).as_bytes()) {
            let why = "the file of a log does not end with its last event";
            return Err(Stop::NotApplicable(why.to_owned()));
        }
        write(&found, &[found.bytes.as_slice(), torn].concat())?;
        let token = trial.reopen(&token)?;
        for bytes_max in [1, 1 << 20] {
            let (content, _) = trial.read("a", bytes_max)?;
            let due = [lines.as_bytes(), torn].concat();
            same_bytes("the log", &content.bytes, &due)?;
            same("what is raw", &content.raws, &vec![torn.to_vec()])?;
        }
        same(
            "the status",
            &trial.listed("a")?.status,
            &SessionStatus::Damaged,
        )?;
        let answer = trial.backend()?.append("a", &token, &batch(3, 1));
        refused("append", answer, ErrorCode::Corrupt)?;
        trial.truncate("a", &token, 3)?;
        same_bytes("what was saved", &trial.cut("a")?, torn)?;
        trial.append("a", &token, &batch(3, 1))?;
        trial.holds(&header("a"), &(lines.clone() + &batch(3, 1).lines))?;
        ok("delete", trial.backend()?.delete("a", &token))?;
    }
    Ok(())
}

fn not_utf8(trial: &mut Trial<'_>) -> Checked {
    let lines = [batch(0, 2).lines, marked(2), batch(3, 2).lines];
    let token = trial.stored_as(&header("a"), &batch_of(0, 5, lines.concat()))?;
    trial.stored("b", 1)?;
    let found = trial.find_on_medium(MARK)?;
    write(&found, &found.replaced(MARK.len(), 0xFF))?;
    let token = trial.reopen(&token)?;
    let [before, damaged, after] = &lines;
    let mut bad = damaged.clone().into_bytes();
    let at = damaged.find(MARK).unwrap_or(0);
    bad.iter_mut()
        .skip(at)
        .take(MARK.len())
        .for_each(|byte| *byte = 0xFF);
    let due = [before.as_bytes(), &bad, after.as_bytes()].concat();
    for bytes_max in [1, 300, 1 << 20] {
        let (content, _) = trial.read("a", bytes_max)?;
        same_bytes("the log", &content.bytes, &due)?;
        same("what is raw", &content.raws, &vec![bad.clone()])?;
    }
    let has = ok("has", trial.backend()?.has("a"))?;
    ensure(has, || "has says that it is not stored".to_owned())?;
    trial.listed("a")?;
    trial.listed("b")?;
    for keep_events in [3, 5] {
        let answer = trial.backend()?.truncate("a", &token, keep_events);
        refused("truncate behind the damage", answer, ErrorCode::Invalid)?;
    }
    trial.truncate("a", &token, 2)?;
    same_bytes(
        "what was saved",
        &trial.cut("a")?,
        &[&bad, after.as_bytes()].concat(),
    )?;
    trial.append("a", &token, &batch(2, 1))?;
    trial.holds(&header("a"), &batch(0, 3).lines)
}

fn is_unread(trial: &mut Trial<'_>, due: &[SessionStatus]) -> Checked {
    let has = ok("has", trial.backend()?.has("a"))?;
    ensure(has, || "has says that it is not stored".to_owned())?;
    same(
        "the status of the other",
        &trial.listed("b")?.status,
        &SessionStatus::Ok,
    )?;
    let entries = trial.listing(10)?;
    let entry = entries.iter().find(|entry| entry.id != "b");
    let is_marked = entry.is_some_and(|entry| due.contains(&entry.status));
    ensure(entries.len() == 2 && is_marked, || {
        format!("the listing does not show it as {due:?}: {entries:?}")
    })?;
    let mut content = Content::default();
    trial.read_from("a", 0, 1 << 20, &mut content)?;
    ensure(content.header.is_none() && !content.raws.is_empty(), || {
        "the first page does not show the bytes of the header as raw".to_owned()
    })
}

fn other_version(trial: &mut Trial<'_>) -> Checked {
    let marked = SessionHeader {
        extra: Some(format!("{{\"note\":\"{MARK}\"}}")),
        ..header("a")
    };
    let token = trial.stored_as(&marked, &batch(0, 2))?;
    trial.stored("b", 1)?;
    let found = trial.find_on_medium(MARK)?;
    let text = String::from_utf8_lossy(&found.bytes).into_owned();
    // as header lines spell it
    let newer = text.replacen("\"version\":0", "\"version\":9", 1);
    if newer == text {
        let why = "headers are not kept as lines of JSON";
        return Err(Stop::NotApplicable(why.to_owned()));
    }
    write(&found, newer.as_bytes())?;
    let token = trial.reopen(&token)?;
    is_unread(trial, &[SessionStatus::Unsupported])?;
    is_kept(trial, &token)
}

fn damaged_header(trial: &mut Trial<'_>) -> Checked {
    let marked = SessionHeader {
        extra: Some(format!("{{\"note\":\"{MARK}\"}}")),
        ..header("a")
    };
    let token = trial.stored_as(&marked, &batch(0, 2))?;
    trial.stored("b", 1)?;
    let found = trial.find_on_medium(MARK)?;
    write(&found, &found.replaced(MARK.len(), 0xFF))?;
    let token = trial.reopen(&token)?;
    is_unread(trial, &[SessionStatus::Damaged])?;
    is_kept(trial, &token)
}

fn empty_file(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored_as(&header("a"), &batch_of(0, 1, marked(0)))?;
    trial.stored("b", 1)?;
    let found = trial.find_on_medium(MARK)?;
    if found.bytes.len() > 4 << 10 {
        let why = "the file holds more than the log";
        return Err(Stop::NotApplicable(why.to_owned()));
    }
    write(&found, b"")?;
    let token = trial.reopen(&token)?;
    let has = ok("has", trial.backend()?.has("a"))?;
    ensure(has, || "has says that it is not stored".to_owned())?;
    let entry = trial.listed("a")?;
    same("the status", &entry.status, &SessionStatus::Damaged)?;
    trial.listed("b")?;
    let content = trial.content("a")?;
    ensure(content.header.is_none() && content.bytes.is_empty(), || {
        "a log is shown where there is none".to_owned()
    })?;
    is_kept(trial, &token)
}

/// Nothing is stored over it or after it, but it can be deleted.
fn is_kept(trial: &mut Trial<'_>, token: &str) -> Checked {
    let answer = trial.backend()?.create(&header("a"), token, &batch(0, 1));
    refused("create", answer, ErrorCode::AlreadyExists)?;
    ok("delete", trial.backend()?.delete("a", token))?;
    trial.is_absent("a")
}
