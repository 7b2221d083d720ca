//! Leases of processes that nobody here can look for: those of another machine are only known by their silence.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use annals::{Litter, LitterKind, Upkeep};
use serde_json::Value;

use super::trouble::Trouble;
use super::{LITTER_MAX, named};
use crate::failure::Failure;
use crate::text;
use crate::time;

/// A holder that lives shows it about once a second, and every four where its backend is slow.
const SILENCE: Duration = Duration::from_secs(7);

/// Longer than a holder has to be silent to be overtaken, where nothing else is set.
const WAIT_MS: u64 = 11_000;

/// Those that showed no sign of life for a while.
pub(super) fn silent(upkeep: &Upkeep, litter: &[Litter]) -> Result<Vec<Trouble>, Failure> {
    let is_elsewhere = |found: &&Litter| {
        let holder = found.holder.as_deref();
        found.kind == LitterKind::Lease && holder.is_some_and(Upkeep::is_elsewhere)
    };
    // counted from the first of these looks: what was found may be old by now
    let seen = |litter: &[Litter]| -> Vec<Litter> {
        litter.iter().filter(is_elsewhere).cloned().collect()
    };
    if seen(litter).is_empty() {
        return Ok(Vec::new());
    }
    let before = upkeep.inspect(LITTER_MAX)?;
    thread::sleep(SILENCE);
    let after = upkeep.inspect(LITTER_MAX)?;
    // the note of a lease says how often it was renewed
    let still: HashSet<_> = after
        .iter()
        .map(|found| (named(found), found.note.as_str()))
        .collect();
    let is_silent = |found: &&Litter| still.contains(&(named(found), found.note.as_str()));
    let is_gone = |found: &Litter| found.holder.as_deref().is_some_and(Upkeep::is_gone);
    let silent = seen(&before);
    let silent = silent
        .iter()
        .filter(is_silent)
        .filter(|found| !is_gone(found));
    Ok(silent.map(trouble).collect())
}

fn trouble(found: &Litter) -> Trouble {
    let holder: Value = found
        .holder
        .as_deref()
        .and_then(|holder| serde_json::from_str(holder).ok())
        .unwrap_or_default();
    let of = |name: &str| holder.get(name).filter(|value| !value.is_null());
    let mut who: Vec<String> = ["host", "pid"]
        .iter()
        .filter_map(|name| Some(format!("{name} {}", of(name)?)))
        .collect();
    if let Some(since_ms) = of("since").and_then(Value::as_u64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        let age = time::span(now_ms.saturating_sub(since_ms));
        who.push(format!("since {}, for {age}", time::utc(since_ms)));
    }
    if who.is_empty() {
        who.push("somebody who does not say where".to_owned());
    }
    let cure = match &found.id {
        Some(id) => format!(
            "if it is gone, annals resume {} --wait {WAIT_MS} takes over once it was silent for lease-ttl-ms",
            text::shell_word(id)
        ),
        None => format!("if it is gone, a writer takes over with --wait {WAIT_MS}"),
    };
    let mut trouble = Trouble::of_litter("lease", found);
    trouble.message = format!(
        "the lease is held by {}, which cannot be looked for here and showed no sign of life for {}; {cure}",
        who.join(", "),
        time::span(u64::try_from(SILENCE.as_millis()).unwrap_or(u64::MAX)),
    );
    trouble
}
