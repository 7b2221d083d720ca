mod elsewhere;
mod trouble;

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use annals::{
    Annals, ErrorCode, Litter, LitterKind, OpenMode, SessionEntry, SessionStatus, SessionSummary,
    Upkeep,
};
use clap::Args;

use crate::commands::{Run, verify};
use crate::failure::{Exit, Failure};
use crate::output::note;
use crate::place::Place;
use crate::survey;
use crate::text;
use trouble::{FIXED, FOUND, LEFT, Trouble, print};

/// How many files and leases are looked at.
const LITTER_MAX: u32 = 10_000;

/// A temporary file that is still there after so long is nobody's: writing takes a lease, or milliseconds.
const SETTLED: Duration = Duration::from_secs(1);

/// Look at a whole root: damage, open turns, permissions, and what writers that died left behind
///
/// Never writes without --fix. What somebody writes just now is left alone. The exit code is 0 when nothing is wrong or
/// everything was fixed, else 3.
#[derive(Args, Debug)]
pub struct Doctor {
    /// Put right what loses nothing: close open turns and cut torn ends as resume does, give back leases of processes
    /// that are gone, remove their temporary files and sidecars without a log, keep the root to its owner
    #[arg(long)]
    fix: bool,
}

impl Run for Doctor {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let mut troubles = Vec::new();
        // first, so that opening has nothing to warn of
        troubles.extend(self.permissions(place)?);
        let annals = place.open()?;
        let upkeep = place.upkeep()?;
        let litter = settled_litter(&upkeep)?;
        let in_use: HashSet<&str> = litter
            .iter()
            .filter(|found| found.kind == LitterKind::Lease && is_alive(found))
            .filter_map(|found| found.id.as_deref())
            .collect();
        // what is wrong with these is a find of its own
        let noted: HashSet<&str> = litter
            .iter()
            .filter(|found| {
                matches!(
                    found.kind,
                    LitterKind::Duplicate | LitterKind::DamagedSummary
                )
            })
            .filter_map(|found| found.id.as_deref())
            .collect();
        // a session behind one cannot be closed
        let is_lease = |found: &&Litter| found.kind == LitterKind::DamagedLease;
        for found in litter.iter().filter(is_lease) {
            troubles.extend(self.litter(&annals, &upkeep, found)?);
        }
        let entries = annals.sessions()?;
        for entry in &entries {
            let id = entry.id.as_str();
            if !in_use.contains(id) {
                let is_noted = noted.contains(id);
                troubles.extend(self.session(&annals, entry, is_noted)?);
                if entry.summary.first_prompt.is_none() && !is_noted {
                    troubles.extend(self.first_prompt(&annals, entry)?);
                }
            }
        }
        // what people are to look through is nobody's at work
        let is_idle = |found: &Litter| !is_alive(found) || found.kind == LitterKind::Kept;
        for found in litter
            .iter()
            .filter(|found| !is_lease(found) && is_idle(found))
        {
            troubles.extend(self.litter(&annals, &upkeep, found)?);
        }
        let silent = elsewhere::silent(&upkeep, &litter)?;
        troubles.extend(silent.into_iter().map(|trouble| self.for_people(trouble)));
        print(place.global.format, &troubles, entries.len())?;
        let left = troubles.iter().filter(|trouble| trouble.state != FIXED);
        Ok(match left.count() {
            0 => Exit::Done,
            _ => Exit::Integrity,
        })
    }
}

impl Doctor {
    /// A root that others may look into.
    fn permissions(&self, place: &Place) -> Result<Option<Trouble>, Failure> {
        let Some((root, mode)) = place.open_to_others()? else {
            return Ok(None);
        };
        let mut trouble = Trouble {
            kind: "permissions",
            id: None,
            place: Some(root.display().to_string()),
            message: format!("the root is open to others (mode {mode:03o})"),
            state: FOUND,
        };
        if self.fix {
            match place.close_to_others() {
                Ok(()) => trouble.state = FIXED,
                Err(Failure::Said(_, message)) => {
                    trouble.state = LEFT;
                    trouble.message.push_str(&format!("; {message}"));
                }
                Err(gone) => return Err(gone),
            }
        }
        Ok(Some(trouble))
    }

    /// One session, read whole.
    fn session(
        &self,
        annals: &Annals,
        entry: &SessionEntry,
        is_noted: bool,
    ) -> Result<Option<Trouble>, Failure> {
        let id = entry.id.as_str();
        let verdict = match verify::judge(annals, id) {
            // deleted since it was listed
            Err(Failure::Said(..)) if annals.has(id) == Ok(false) && entry.header.is_some() => {
                return Ok(None);
            }
            Err(Failure::Said(_, message)) => {
                let message = entry.note.clone().unwrap_or(message);
                return Ok(Some(self.for_people(Trouble::of_session(
                    "unreadable",
                    id,
                    message,
                ))));
            }
            judged => judged?,
        };
        let message = verdict.message.clone().unwrap_or_default();
        let mut trouble = if verdict.status == "unsupported" {
            let trouble = Trouble::of_session("unsupported", id, message);
            return Ok(Some(self.for_people(trouble)));
        } else if verdict.reason() == Some("not-a-file") {
            let trouble = Trouble::of_session("not-a-file", id, message);
            return Ok(Some(self.for_people(trouble)));
        } else if verdict.events.is_none() {
            let cure = format!("annals salvage {} recovers the rest", text::shell_word(id));
            let trouble = Trouble::of_session("damaged", id, format!("{message}; {cure}"));
            return Ok(Some(self.for_people(trouble)));
        } else if verdict.readable > 0 {
            let trouble =
                Trouble::of_session("torn-end", id, unsaved(&message, id, verdict.readable));
            return Ok(Some(self.for_people(trouble)));
        } else if verdict.exit != Exit::Done {
            Trouble::of_session("torn-end", id, message)
        } else if verdict.open_turn {
            Trouble::of_session(
                "open-turn",
                id,
                "its last turn is open, and nobody writes it",
            )
        } else {
            // what only the listing looks at
            let is_damaged = entry.status != SessionStatus::Ok && !is_noted;
            let note = match is_damaged {
                true => verify::confirmed(annals, id, verdict.events)?,
                false => None,
            };
            let trouble = note.map(|note| Trouble::of_session("damaged", id, note));
            return Ok(trouble.map(|trouble| self.for_people(trouble)));
        };
        if self.fix {
            let fixed = reopen(annals, id, OpenMode::Resume);
            if fixed
                .as_ref()
                .is_err_and(|error| error.code == ErrorCode::Busy)
            {
                // somebody came meanwhile, or the backend does not say who writes
                return Ok(None);
            }
            trouble.settle(fixed);
        }
        Ok(Some(trouble))
    }

    /// A writer that dies between storing the first prompt and noting it leaves a summary without it.
    fn first_prompt(
        &self,
        annals: &Annals,
        entry: &SessionEntry,
    ) -> Result<Option<Trouble>, Failure> {
        if entry.status != SessionStatus::Ok {
            return Ok(None);
        }
        let id = entry.id.as_str();
        // what cannot be read is said elsewhere
        let Ok(Some(prompt)) = survey::first_prompt(annals, id) else {
            return Ok(None);
        };
        let message = "its first prompt is in its log, and not in its summary";
        let mut trouble = Trouble::of_session("first-prompt", id, message);
        if self.fix {
            trouble.settle(annals.update(id, of_prompt(Some(prompt))));
        }
        Ok(Some(trouble))
    }

    /// Something that nobody alive uses.
    fn litter(
        &self,
        annals: &Annals,
        upkeep: &Upkeep,
        found: &Litter,
    ) -> Result<Option<Trouble>, Failure> {
        let (kind, is_removed) = match found.kind {
            LitterKind::Temporary => ("temporary", true),
            LitterKind::Lease => ("lease", false),
            LitterKind::Orphan => ("orphan", true),
            LitterKind::DamagedLease => ("damaged-lease", true),
            LitterKind::DamagedSummary => return self.summary(annals, found).map(Some),
            // nothing is wrong with it
            LitterKind::Kept => {
                note(&format!(
                    "{:?} stays: {}; look through it and remove it",
                    found.place, found.note
                ));
                return Ok(None);
            }
            LitterKind::OrphanedCut => {
                let trouble = Trouble::of_litter("orphaned-cut", found);
                return Ok(Some(self.for_people(trouble)));
            }
            LitterKind::Duplicate => {
                let trouble = Trouble::of_litter("duplicate", found);
                return Ok(Some(self.for_people(trouble)));
            }
        };
        let mut trouble = Trouble::of_litter(kind, found);
        if !is_removed {
            trouble.message.push_str(" by a process that is gone");
        }
        if self.fix {
            let stored = match &found.id {
                Some(id) if !is_removed => Some(id).filter(|id| annals.has(id) == Ok(true)),
                Some(_) | None => None,
            };
            trouble.settle(match stored {
                Some(id) => give_back(annals, id),
                None => upkeep.remove(found),
            });
        }
        Ok(Some(trouble))
    }

    /// A summary is made anew of what the log has of it; the damaged one stays beside it.
    fn summary(&self, annals: &Annals, found: &Litter) -> Result<Trouble, Failure> {
        let mut trouble = Trouble::of_litter("damaged-summary", found);
        if self.fix
            && let Some(id) = &found.id
        {
            let prompt = survey::first_prompt(annals, id).unwrap_or_default();
            trouble.settle(annals.update(id, of_prompt(prompt)));
        }
        Ok(trouble)
    }

    /// What --fix leaves alone.
    fn for_people(&self, trouble: Trouble) -> Trouble {
        let state = if self.fix { LEFT } else { FOUND };
        Trouble { state, ..trouble }
    }
}

/// What stands behind the first bad line is not cut off before it is saved.
fn unsaved(message: &str, id: &str, readable: u64) -> String {
    let events = text::count(readable, "readable event");
    let id = text::shell_word(id);
    format!(
        "{message}; {events} in it would be cut off: first annals salvage {id} to keep what is there, then annals resume {id}"
    )
}

fn of_prompt(first_prompt: Option<String>) -> SessionSummary {
    SessionSummary {
        title: None,
        first_prompt,
    }
}

/// Whether a holder is at work, or may be.
fn is_alive(found: &Litter) -> bool {
    found
        .holder
        .as_deref()
        .is_some_and(|holder| !Upkeep::is_gone(holder))
}

/// What is there, without what writers that are only quick have in hand.
fn settled_litter(upkeep: &Upkeep) -> Result<Vec<Litter>, Failure> {
    let mut litter = upkeep.inspect(LITTER_MAX)?;
    let is_fleeting = |found: &Litter| {
        let is_made = matches!(found.kind, LitterKind::Temporary | LitterKind::DamagedLease);
        is_made && !is_alive(found)
    };
    if litter.iter().any(is_fleeting) {
        thread::sleep(SETTLED);
        let again = upkeep.inspect(LITTER_MAX)?;
        let still: HashSet<(&str, Option<&str>)> = again.iter().map(named).collect();
        litter.retain(|found| !is_fleeting(found) || still.contains(&named(found)));
    }
    Ok(litter)
}

fn named(found: &Litter) -> (&str, Option<&str>) {
    (&found.place, found.token.as_deref())
}

/// What opening repairs is repaired, and the lease is free.
fn reopen(annals: &Annals, id: &str, mode: OpenMode) -> Result<(), annals::Error> {
    let (session, _) = annals.open(id, mode)?;
    session.close()
}

/// Taking a lease from a holder that is gone and giving it back. A damaged log refuses to open only afterwards.
fn give_back(annals: &Annals, id: &str) -> Result<(), annals::Error> {
    match reopen(annals, id, OpenMode::Continue) {
        Err(error)
            if matches!(
                error.code,
                ErrorCode::Corrupt | ErrorCode::UnsupportedVersion
            ) && error.reason != "log-duplicate" =>
        {
            Ok(())
        }
        reopened => reopened,
    }
}
