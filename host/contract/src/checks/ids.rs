//! Ids and working directories are any text.

use annals_sdk::types::{ErrorCode, LeaseScope};

use crate::Check;
use crate::expectation::{ensure, ok, refused};
use crate::samples::{batch, batch_of, event, header, header_in, summary};
use crate::trial::{Checked, Stop, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "ids/hostile",
        proves: "any text is an id: each session is its own, is listed under its id, and goes alone",
        run: hostile,
    },
    Check {
        name: "ids/long",
        proves: "long ids that differ only at their end are different sessions",
        run: long,
    },
    Check {
        name: "ids/empty",
        proves: "the empty id is refused and stores nothing",
        run: empty,
    },
    Check {
        name: "ids/cwds",
        proves: "any absolute path is a working directory, and comes back as it was given",
        run: cwds,
    },
];

/// Each of these is taken for something else by some program.
const HOSTILE: [&str; 62] = [
    ".",
    "..",
    "...",
    "/",
    "//",
    "a/b",
    "a/../b",
    "../../etc/passwd",
    "/etc/passwd",
    "a/",
    "\\",
    "a\\b",
    "C:\\x",
    "C:",
    "\0",
    "a\0b",
    "\n",
    "a\nb",
    "\r\n",
    "\t",
    " ",
    "  ",
    "a ",
    "a.",
    "a",
    "A",
    "ab",
    "aB",
    "Ab",
    "AB",
    "CON",
    "con",
    "nul",
    "aux.txt",
    "LPT1",
    "~",
    "~0041",
    "%41",
    "%2e%2e%2f",
    "_leases",
    "_no-cwd",
    "x",
    "x.jsonl",
    "x.summary",
    "x.60.torn",
    "x.tmp",
    "x.log",
    "x.cut",
    "*?<>|\"",
    "'; drop table sessions; --",
    "$(reboot)",
    "-rf",
    "é",
    "e\u{301}",
    "ﬀ",
    "ß",
    "İ",
    "\u{202E}cod.exe",
    "😀",
    "👨‍👩‍👧",
    "\u{FEFF}",
    "\u{10FFFF}\u{FFFF}",
];

/// Stores a session for each id, and shows that none is taken for another.
fn live_apart(trial: &mut Trial<'_>, ids: &[String]) -> Checked {
    let mut tokens = Vec::new();
    let own = |at: usize| batch_of(0, 1, event(0, &format!("{{\"of\":{at}}}")));
    for (at, id) in ids.iter().enumerate() {
        let token = trial
            .stored_as(&header(id), &own(at))
            .map_err(|stop| of(id, stop))?;
        let change = summary(Some(&at.to_string()), None);
        ok("update", trial.backend()?.update(id, &change))?;
        tokens.push(token);
    }
    for (at, (id, token)) in ids.iter().zip(&tokens).enumerate() {
        let rest = batch(1, 1);
        trial
            .append(id, token, &rest)
            .map_err(|stop| of(id, stop))?;
        let lines = own(at).lines + &rest.lines;
        trial
            .holds(&header(id), &lines)
            .map_err(|stop| of(id, stop))?;
    }
    let mut listed: Vec<(String, Option<String>)> = trial
        .listing(7)?
        .into_iter()
        .map(|entry| (entry.id, entry.summary.title))
        .collect();
    let mut due: Vec<(String, Option<String>)> = ids
        .iter()
        .enumerate()
        .map(|(at, id)| (id.clone(), Some(at.to_string())))
        .collect();
    listed.sort();
    due.sort();
    for (listed, due) in listed.iter().zip(&due) {
        ensure(listed == due, || {
            format!("listed is {}, due is {}", short(&listed.0), short(&due.0))
        })?;
    }
    ensure(listed.len() == due.len(), || {
        format!("{} sessions are listed, not {}", listed.len(), due.len())
    })?;
    // the first half goes, the second stays
    let (gone, kept) = ids.split_at(ids.len() / 2);
    for (id, token) in gone.iter().zip(&tokens) {
        let answer = trial.backend()?.delete(id, token);
        ok("delete", answer).map_err(|stop| of(id, stop))?;
        trial.is_absent(id).map_err(|stop| of(id, stop))?;
    }
    for id in kept {
        let has = ok("has", trial.backend()?.has(id))?;
        ensure(has, || format!("session {} went with another", short(id)))?;
    }
    let count = trial.listing(1000)?.len();
    ensure(count == kept.len(), || {
        format!("{count} sessions are left, not {}", kept.len())
    })
}

fn of(id: &str, stop: Stop) -> Stop {
    match stop {
        Stop::Failed(why) => Stop::Failed(format!("session {}: {why}", short(id))),
        Stop::NotApplicable(why) => Stop::NotApplicable(why),
    }
}

fn short(id: &str) -> String {
    let chars = id.chars().count();
    match chars {
        0..40 => format!("{id:?}"),
        _ => format!("of {chars} characters"),
    }
}

fn hostile(trial: &mut Trial<'_>) -> Checked {
    live_apart(trial, &HOSTILE.map(str::to_owned))
}

fn long(trial: &mut Trial<'_>) -> Checked {
    let mut ids = Vec::new();
    for (character, count) in [
        ("x", 200),
        ("x", 255),
        ("x", 5000),
        ("😀", 5000),
        ("/", 5000),
        ("é", 300),
    ] {
        let id = character.repeat(count);
        ids.extend([format!("{id}1"), format!("{id}2"), format!("1{id}"), id]);
    }
    ids.push("X".repeat(5000));
    live_apart(trial, &ids)
}

fn empty(trial: &mut Trial<'_>) -> Checked {
    trial.stored("a", 1)?;
    // the lease of something that cannot be stored may be refused or given
    let token = match trial.info()?.lease {
        LeaseScope::Root => trial.lease("")?,
        LeaseScope::Session | LeaseScope::None => {
            let answer = trial.backend()?.acquire(Some(""), "{}", None);
            answer.unwrap_or_default()
        }
    };
    let answer = trial.backend()?.create(&header(""), &token, &batch(0, 1));
    refused("create", answer, ErrorCode::Invalid)?;
    let count = trial.listing(10)?.len();
    ensure(count == 1, || format!("{count} sessions are listed, not 1"))
}

fn cwds(trial: &mut Trial<'_>) -> Checked {
    let long = format!("/{}", "d/".repeat(2500));
    let cwds = [
        "/",
        "//",
        "/.",
        "/..",
        "/../../etc",
        "/a",
        "/a/",
        "/A",
        "/a/../b",
        "/\0",
        "/a\nb",
        "/ ",
        "/é",
        "/e\u{301}",
        "/\u{202E}x",
        "/😀",
        "/C:\\x",
        "/\"quoted\"",
        &long,
    ];
    for (at, cwd) in cwds.iter().enumerate() {
        trial.stored_as(&header_in(&format!("s{at}"), cwd), &batch(0, 1))?;
    }
    for (at, cwd) in cwds.iter().enumerate() {
        let header = header_in(&format!("s{at}"), cwd);
        trial.holds(&header, &batch(0, 1).lines)?;
        let listed = trial.listed(&header.id)?.header;
        ensure(listed.as_ref() == Some(&header), || {
            format!("the cwd {} is listed otherwise", short(cwd))
        })?;
    }
    Ok(())
}
