//! `list` and `has`.

use std::collections::BTreeSet;

use annals_sdk::types::{ErrorCode, SessionStatus};

use crate::Check;
use crate::expectation::{ensure, ok, refused, same};
use crate::samples::{batch, header, header_in, summary, time_ms};
use crate::trial::{Checked, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "list/empty",
        proves: "an empty medium has an empty listing",
        run: empty,
    },
    Check {
        name: "list/each-once",
        proves: "pieces of any size hold every session exactly once, in one order",
        run: each_once,
    },
    Check {
        name: "list/bounded",
        proves: "a piece has at most count-max entries, and 0 means 1",
        run: bounded,
    },
    Check {
        name: "list/entries",
        proves: "an entry shows header, summary, status and the last event's time",
        run: entries,
    },
    Check {
        name: "list/changing",
        proves: "a session that is there throughout is listed once while others come and go",
        run: changing,
    },
    Check {
        name: "list/cursor",
        proves: "a cursor that no listing gave is invalid",
        run: cursor,
    },
    Check {
        name: "list/has",
        proves: "has tells what is stored from what is not",
        run: has,
    },
];

const CWDS: [Option<&str>; 4] = [None, Some("/"), Some("/work/one"), Some("/work/two")];

fn filled(trial: &mut Trial<'_>, count: u64) -> Checked<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    for (at, cwd) in (0..count).zip(CWDS.iter().cycle()) {
        let id = format!("session-{}", at * 7 % count);
        let header = match cwd {
            Some(cwd) => header_in(&id, cwd),
            None => header(&id),
        };
        trial.stored_as(&header, &batch(0, at % 3))?;
        ids.insert(id);
    }
    Ok(ids)
}

fn empty(trial: &mut Trial<'_>) -> Checked {
    let entries = trial.listing(10)?;
    ensure(entries.is_empty(), || {
        format!("{} sessions are listed", entries.len())
    })
}

fn each_once(trial: &mut Trial<'_>) -> Checked {
    let mut ids = filled(trial, 23)?;
    // sorts differently with a suffix such as ".log" than without: '-' comes before '.'
    trial.stored("session", 0)?;
    ids.insert("session".to_owned());
    let mut first: Option<Vec<String>> = None;
    for count_max in [1000, 1, 2, 5, 22, 23, 24, 25, u32::MAX] {
        let entries = trial.listing(count_max)?;
        let order: Vec<String> = entries.into_iter().map(|entry| entry.id).collect();
        let found: BTreeSet<String> = order.iter().cloned().collect();
        let what = format!("the listing in pieces of {count_max}");
        same(&what, &found, &ids)?;
        ensure(order.len() == ids.len(), || {
            format!("{what} has {} entries, not {}", order.len(), ids.len())
        })?;
        let due = first.get_or_insert_with(|| order.clone());
        ensure(order == *due, || format!("{what} has another order"))?;
    }
    Ok(())
}

fn bounded(trial: &mut Trial<'_>) -> Checked {
    filled(trial, 5)?;
    for (count_max, due) in [(0, 1), (1, 1), (2, 2)] {
        // that there are not more is checked of every piece
        let (piece, next) = trial.piece(None, count_max)?;
        ensure(!piece.is_empty() && piece.len() <= due, || {
            format!("list of at most {count_max} gave {} entries", piece.len())
        })?;
        ensure(next.is_some(), || "the listing ends too early".to_owned())?;
    }
    Ok(())
}

fn entries(trial: &mut Trial<'_>) -> Checked {
    let header = header_in("a", "/work");
    let token = trial.stored_as(&header, &batch(0, 2))?;
    trial.stored("b", 0)?;
    let change = summary(Some("title"), Some("prompt"));
    ok("update", trial.backend()?.update("a", &change))?;
    trial.append("a", &token, &batch(2, 3))?;
    let entry = trial.listed("a")?;
    same("the header", &entry.header, &Some(header))?;
    same("the summary", &entry.summary, &change)?;
    same("the status", &entry.status, &SessionStatus::Ok)?;
    same("the note", &entry.note, &None)?;
    let updated = entry.updated_at_ms;
    ensure(updated.is_none_or(|updated| updated == time_ms(4)), || {
        format!("updated-at is {updated:?}, not {}", time_ms(4))
    })?;
    let other = trial.listed("b")?;
    same("the other's summary", &other.summary, &summary(None, None))
}

fn changing(trial: &mut Trial<'_>) -> Checked {
    let mut stays = filled(trial, 12)?;
    let (mut entries, next) = trial.piece(None, 4)?;
    // one that was listed goes, one that was not goes, others come
    let listed = entries.first().map(|entry| entry.id.clone());
    let is_listed = |id: &&String| entries.iter().any(|entry| entry.id == **id);
    let unlisted = stays.iter().find(|id| !is_listed(id)).cloned();
    for id in [listed, unlisted].into_iter().flatten() {
        let token = evicting(trial, &id)?;
        ok("delete", trial.backend()?.delete(&id, &token))?;
        stays.remove(&id);
    }
    for id in ["session-00", "session-zz", "a"] {
        trial.stored(id, 1)?;
    }
    trial.list_from(next, 4, &mut entries)?;
    for id in &stays {
        let count = entries.iter().filter(|entry| entry.id == *id).count();
        ensure(count == 1, || {
            format!("session {id:?} is listed {count} times")
        })?;
    }
    Ok(())
}

/// The token of a session whose token was not kept.
fn evicting(trial: &mut Trial<'_>, id: &str) -> Checked<String> {
    use annals_sdk::types::{Eviction, EvictionReason, LeaseScope};
    if trial.info()?.lease != LeaseScope::Session {
        return trial.lease(id);
    }
    let backend = trial.backend()?;
    let answer = backend.acquire(Some(id), "{}", None);
    let error = refused("a second acquire", answer, ErrorCode::Busy)?;
    let facts = crate::expectation::facts("acquire", &error)?;
    let token = facts.get("token").and_then(|token| token.as_str());
    let evict = Eviction {
        token: token.unwrap_or_default().to_owned(),
        why: EvictionReason::Gone,
    };
    ok("acquire", backend.acquire(Some(id), "{}", Some(&evict)))
}

fn cursor(trial: &mut Trial<'_>) -> Checked {
    filled(trial, 3)?;
    for made_up in ["", "no listing gave this", "\0"] {
        let call = format!("list from the cursor {made_up:?}");
        let answer = trial.backend()?.list(Some(made_up), 2);
        refused(&call, answer, ErrorCode::Invalid)?;
    }
    Ok(())
}

fn has(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 1)?;
    trial.stored("empty", 0)?;
    for (id, due) in [("a", true), ("empty", true), ("b", false), ("a ", false)] {
        let found = ok("has", trial.backend()?.has(id))?;
        same(&format!("has of {id:?}"), &found, &due)?;
    }
    ok("delete", trial.backend()?.delete("a", &token))?;
    let found = ok("has", trial.backend()?.has("a"))?;
    same("has after delete", &found, &false)
}
