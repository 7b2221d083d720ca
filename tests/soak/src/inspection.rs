//! At a pause, when nobody writes: every log byte by byte, every session opened, and what lies around.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::checker::{Findings, Log};
use crate::command::{Annals, Ending};
use crate::journal::Claim;

/// The number of a thread that owns no writer.
const OWNER: u64 = u64::MAX;

/// What a pause showed.
#[derive(Debug, Default)]
pub struct Verdict {
    pub findings: Findings,
    /// Sessions that are gone, do not open, or are not clean afterwards.
    pub shut: Vec<String>,
    /// Sessions that a second opening changed, or a first one shortened.
    pub unsettled: Vec<String>,
    /// What lies around that should not, after `doctor --fix`.
    pub litter: Vec<String>,
    /// Temporary files of killed writers, before that.
    pub temporaries: u64,
    /// Of each session, its events and those that nobody was told of.
    pub stored: BTreeMap<String, (u64, u64)>,
}

impl Verdict {
    /// Everything that is wrong, a sentence each.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let findings = &self.findings;
        let kinds = [
            ("lost", &findings.lost),
            ("doubled", &findings.doubled),
            ("gap", &findings.gaps),
            ("unreadable", &findings.unreadable),
            ("uninvited", &findings.uninvited),
            ("does not open", &self.shut),
            ("unsettled", &self.unsettled),
            ("litter", &self.litter),
        ];
        let faults = kinds
            .iter()
            .flat_map(|(kind, some)| some.iter().map(move |text| format!("{kind}: {text}")));
        faults.collect()
    }
}

/// Looks at everything. `known` are the sessions that have to be there, `claims` what their writers were told.
///
/// # Errors
/// A command cannot be started, or the root cannot be read.
pub fn inspect(
    annals: &Annals,
    known: &[String],
    gone: &[String],
    claims: &[Claim],
) -> Result<Verdict> {
    let mut verdict = Verdict::default();
    let bucket = annals.root.join("_no-cwd");
    let names = names_in(&bucket)?;
    verdict.temporaries = names.iter().filter(|name| is_temporary(name)).count() as u64;
    let stored = names.iter().filter_map(|name| name.strip_suffix(".jsonl"));
    let mut ids: BTreeSet<String> = stored.map(str::to_owned).collect();
    for id in gone.iter().filter(|id| ids.contains(*id)) {
        verdict
            .findings
            .uninvited
            .push(format!("session {id} was deleted and is there"));
    }
    ids.extend(known.iter().cloned());
    for id in &ids {
        open(annals, id, claims, &mut verdict)?;
    }

    let verified = annals.run(OWNER, &["verify"], "")?;
    if verified.ending != Ending::Done {
        let text = format!("verify: {}{}", verified.printed, verified.errors);
        verdict.shut.push(text);
    }
    let fixed = annals.run(OWNER, &["doctor", "--fix"], "")?;
    if fixed.ending != Ending::Done {
        let text = format!("doctor --fix: {}{}", fixed.printed, fixed.errors);
        verdict.litter.push(text);
    }
    verdict.litter.extend(litter(&annals.root, &ids)?);
    Ok(verdict)
}

/// One session: as it was left, opened, and opened again.
fn open(annals: &Annals, id: &str, claims: &[Claim], verdict: &mut Verdict) -> Result<()> {
    let Some(left) = annals.log(id) else {
        verdict.shut.push(format!("session {id} is gone"));
        return Ok(());
    };
    let before = Log::read(&left);
    let found = Findings::of(id, &before, claims);
    let is_good = found.lost.len() + found.doubled.len() + found.gaps.len() == 0;
    if !is_good {
        verdict.findings.add(found);
    }
    let mut opened = [Vec::new(), Vec::new()];
    for bytes in &mut opened {
        let ran = annals.run(OWNER, &["resume", id], "")?;
        if ran.ending != Ending::Done {
            verdict.shut.push(format!("session {id}: {}", ran.errors));
            return Ok(());
        }
        *bytes = annals.log(id).unwrap_or_default();
    }
    let [first, second] = opened;
    if first != second {
        verdict
            .unsettled
            .push(format!("session {id} changes when it is opened again"));
    }
    let whole = left
        .get(..left.len() - before.torn.len())
        .unwrap_or_default();
    if !first.starts_with(whole) {
        verdict
            .unsettled
            .push(format!("session {id} lost whole lines to a repair"));
    }
    let after = Log::read(&second);
    if !after.torn.is_empty() {
        verdict.shut.push(format!("session {id} is still torn"));
    }
    let mut findings = Findings::of(id, &after, claims);
    if let Some(parent) = &after.parent {
        let parent = annals.log(parent).unwrap_or_default();
        findings.hold_seed(id, &after, &Log::read(&parent));
    }
    let counts = (findings.stored, findings.unacknowledged);
    verdict.stored.insert(id.to_owned(), counts);
    if is_good {
        verdict.findings.add(findings);
    }
    Ok(())
}

/// Removes a session for good; whatever of it is still there.
///
/// # Errors
/// The command cannot be started, or the root cannot be read.
pub fn retire(annals: &Annals, id: &str) -> Result<Vec<String>> {
    let ran = annals.run(OWNER, &["delete", id], "")?;
    let mut faults = Vec::new();
    if ran.ending != Ending::Done {
        faults.push(format!("delete {id}: {}", ran.errors));
    }
    let prefix = format!("{id}.");
    for directory in ["_no-cwd", "_leases"] {
        let names = names_in(&annals.root.join(directory))?;
        let left = names.iter().filter(|name| name.starts_with(&prefix));
        faults.extend(left.map(|name| format!("{directory}/{name} outlived its session")));
    }
    Ok(faults)
}

/// What nothing needs: temporary files, what belongs to no session, and more than one number of a lease.
fn litter(root: &Path, ids: &BTreeSet<String>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in names_in(&root.join("_no-cwd"))? {
        let id = name.split('.').next().unwrap_or_default();
        if is_temporary(&name) || !ids.contains(id) {
            found.push(name);
        }
    }
    for name in names_in(&root.join("_leases"))? {
        let id = name.strip_suffix(".lease").unwrap_or(&name);
        let numbers = names_in(&root.join("_leases").join(&name))?;
        if numbers.len() > 1 || !ids.contains(id) {
            found.push(format!("_leases/{name} with {numbers:?}"));
        }
    }
    Ok(found)
}

fn is_temporary(name: &str) -> bool {
    [".tmp", ".new"].iter().any(|suffix| name.ends_with(suffix))
}

fn names_in(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}
