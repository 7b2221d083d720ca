//! Holds what media have against what was said.

use std::collections::{BTreeMap, HashSet};

use crate::journal::{Sessions, Told};
use crate::medium::Medium;

/// What a medium has to have of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Everything.
    Whole,
    /// The beginning, at least so many events.
    Prefix(u64),
}

/// What is wrong, each with a sentence, and how much is right.
#[derive(Debug, Default)]
pub struct Findings {
    /// Logs that were held against what was said.
    pub logs: u64,
    /// Events of them that are right.
    pub found: u64,
    /// Acknowledged, and not there.
    pub lost: Vec<String>,
    /// There twice.
    pub doubled: Vec<String>,
    /// There with other bytes, at another place, or never said to anybody.
    pub wrong: Vec<String>,
}

impl Findings {
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.doubled.is_empty() && self.wrong.is_empty()
    }

    /// Panics with what is wrong.
    pub fn check(&self) {
        let all = [&self.lost, &self.doubled, &self.wrong];
        let some: Vec<&String> = all.into_iter().flat_map(|of| of.iter().take(5)).collect();
        assert!(self.is_clean(), "{some:#?}");
    }

    pub fn add(&mut self, other: Self) {
        self.logs += other.logs;
        self.found += other.found;
        self.lost.extend(other.lost);
        self.doubled.extend(other.doubled);
        self.wrong.extend(other.wrong);
    }
}

/// Whether callers and the observer were told the same.
pub fn hold_journal(sessions: &Sessions) -> Findings {
    let mut findings = Findings::default();
    for (id, told) in sessions {
        let contradictions = told.contradictions.iter();
        findings
            .wrong
            .extend(contradictions.map(|text| format!("session {id}: {text}")));
        for (seq, line) in &told.acknowledged {
            if told.lines.get(*seq as usize) != Some(line) {
                let text = format!("session {id}: the observer was not told of seq {seq}");
                findings.lost.push(text);
            }
        }
        note_doubled(&mut findings, id, &told.lines);
    }
    findings
}

/// Holds a medium against what was said; `due` says how much of a session has to be there, none that it is not looked at.
pub fn hold_medium(
    medium: &Medium,
    sessions: &Sessions,
    due: impl Fn(&str) -> Option<Due>,
) -> Findings {
    let mut findings = Findings::default();
    let unreadable = medium.unreadable.iter();
    findings
        .wrong
        .extend(unreadable.map(|text| format!("{}: {text}", medium.name)));
    for (id, stored) in &medium.logs {
        let Some(due) = due(id) else { continue };
        match sessions.get(id) {
            Some(told) => hold(&mut findings, &medium.name, id, (stored, told), due),
            None => {
                let text = format!("{}: nobody made session {id}", medium.name);
                findings.wrong.push(text);
            }
        }
    }
    for (id, told) in sessions {
        let is_due = match due(id) {
            Some(Due::Whole) => true,
            Some(Due::Prefix(events)) => events > 0,
            None => false,
        };
        if is_due && !told.lines.is_empty() && !medium.logs.contains_key(id) {
            let text = format!("{}: session {id} is not there", medium.name);
            findings.lost.push(text);
        }
    }
    findings
}

fn hold(
    findings: &mut Findings,
    medium: &str,
    id: &str,
    (stored, told): (&[String], &Told),
    due: Due,
) {
    findings.logs += 1;
    let up_to = match due {
        Due::Whole => told.lines.len() as u64,
        // what stands behind a missing event is not yet due
        Due::Prefix(events) => events.max(stored.len() as u64),
    };
    // the usual case, and the journal was searched for doubles before
    if told.lines.starts_with(stored) && stored.len() as u64 >= up_to {
        findings.found += stored.len() as u64;
        return;
    }
    let about = format!("{medium}: session {id}");
    note_doubled(findings, &about, stored);
    for (seq, line) in stored.iter().enumerate() {
        match told.lines.get(seq) {
            Some(said) if said == line => findings.found += 1,
            Some(said) => {
                let text = format!("{about}: seq {seq} is {line:.120} and not {said:.120}");
                findings.wrong.push(text);
            }
            None => {
                let text = format!("{about}: seq {seq} was never appended: {line:.120}");
                findings.wrong.push(text);
            }
        }
    }
    let there: HashSet<&String> = stored.iter().collect();
    let due = told.lines.iter().take(up_to as usize).enumerate();
    let lost = due.filter(|(_, line)| !there.contains(line));
    findings
        .lost
        .extend(lost.map(|(seq, _)| format!("{about}: seq {seq} is not there")));
}

fn note_doubled(findings: &mut Findings, about: &str, lines: &[String]) {
    let mut seqs: BTreeMap<&str, usize> = BTreeMap::new();
    for (seq, line) in lines.iter().enumerate() {
        let Some(token) = token(line) else { continue };
        if let Some(first) = seqs.insert(token, seq) {
            let text = format!("{about}: {token} is at seqs {first} and {seq}");
            findings.doubled.push(text);
        }
    }
}

/// What an event was marked with, `#n#`.
fn token(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once('#')?;
    let (token, _) = rest.split_once('#')?;
    Some(token)
}
