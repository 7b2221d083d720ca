use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use annals::{
    Annals, ErrorCode, Litter, LitterKind, OpenMode, SessionEntry, SessionStatus, Upkeep,
};
use clap::Args;
use serde_json::{Map, Value};

use crate::commands::{Run, verify};
use crate::failure::{Exit, Failure};
use crate::output::{Format, Output};
use crate::place::Place;
use crate::text;

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
        let entries = annals.sessions()?;
        for entry in &entries {
            if !in_use.contains(entry.id.as_str()) {
                troubles.extend(self.session(&annals, entry)?);
            }
        }
        for found in litter.iter().filter(|found| !is_alive(found)) {
            troubles.extend(self.litter(&annals, &upkeep, found)?);
        }
        print(place.global.format, &troubles, entries.len())?;
        let left = troubles.iter().filter(|trouble| trouble.state != FIXED);
        Ok(match left.count() {
            0 => Exit::Done,
            _ => Exit::Integrity,
        })
    }
}

/// What is wrong, and what became of it.
struct Trouble {
    kind: &'static str,
    id: Option<String>,
    /// Where, for what is no session.
    place: Option<String>,
    message: String,
    state: &'static str,
}

const FOUND: &str = "found";
const FIXED: &str = "fixed";
/// It could not be fixed, or only a person can decide what is to be done.
const LEFT: &str = "left";

impl Trouble {
    fn of_session(kind: &'static str, id: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            id: Some(id.to_owned()),
            place: None,
            message: message.into(),
            state: FOUND,
        }
    }

    fn of_litter(kind: &'static str, found: &Litter) -> Self {
        Self {
            kind,
            id: found.id.clone(),
            place: Some(found.place.clone()),
            message: found.note.clone(),
            state: FOUND,
        }
    }

    fn settle(&mut self, fixed: Result<(), annals::Error>) {
        match fixed {
            Ok(()) => self.state = FIXED,
            Err(error) => {
                self.state = LEFT;
                self.message.push_str(&format!("; {}", error.message));
            }
        }
    }

    fn row(&self) -> [String; 4] {
        let subject = self.id.as_deref().or(self.place.as_deref()).unwrap_or("-");
        let place = self.place.as_deref().filter(|_| self.id.is_some());
        let place = place.map_or_else(String::new, |place| format!("{place}: "));
        [
            self.state.to_owned(),
            self.kind.to_owned(),
            text::escape(subject).into_owned(),
            text::escape(&format!("{place}{}", self.message)).into_owned(),
        ]
    }

    fn json(&self) -> Value {
        let mut members = Map::new();
        members.insert("kind".into(), self.kind.into());
        members.insert("state".into(), self.state.into());
        for (name, text) in [("id", &self.id), ("place", &self.place)] {
            if let Some(text) = text {
                members.insert(name.into(), text.clone().into());
            }
        }
        members.insert("message".into(), self.message.clone().into());
        members.into()
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
    fn session(&self, annals: &Annals, entry: &SessionEntry) -> Result<Option<Trouble>, Failure> {
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
        } else if verdict.events.is_none() {
            let cure = format!("annals salvage {} recovers the rest", text::shell_word(id));
            let trouble = Trouble::of_session("damaged", id, format!("{message}; {cure}"));
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
            let note = entry
                .note
                .clone()
                .filter(|_| entry.status != SessionStatus::Ok);
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

    /// What --fix leaves alone.
    fn for_people(&self, trouble: Trouble) -> Trouble {
        let state = if self.fix { LEFT } else { FOUND };
        Trouble { state, ..trouble }
    }
}

/// Whether a holder is at work, or may be.
fn is_alive(found: &Litter) -> bool {
    found
        .holder
        .as_deref()
        .is_some_and(|holder| !Upkeep::is_gone(holder))
}

/// What is there, without the temporary files of writers that are only quick.
fn settled_litter(upkeep: &Upkeep) -> Result<Vec<Litter>, Failure> {
    let mut litter = upkeep.inspect(LITTER_MAX)?;
    let is_fleeting = |found: &Litter| found.kind == LitterKind::Temporary && !is_alive(found);
    if litter.iter().any(is_fleeting) {
        thread::sleep(SETTLED);
        let again = upkeep.inspect(LITTER_MAX)?;
        let places: HashSet<&str> = again.iter().map(|found| found.place.as_str()).collect();
        litter.retain(|found| !is_fleeting(found) || places.contains(found.place.as_str()));
    }
    Ok(litter)
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
            ) =>
        {
            Ok(())
        }
        reopened => reopened,
    }
}

fn print(format: Format, troubles: &[Trouble], session_count: usize) -> Result<(), Failure> {
    let mut output = Output::new(format);
    match format {
        Format::Text if troubles.is_empty() => {
            let sessions = text::count(session_count as u64, "session");
            output.line(&format!("nothing is wrong with {sessions}"))?;
        }
        Format::Text => {
            let titles = ["STATE", "KIND", "WHERE", "WHAT"].map(String::from);
            let rows: Vec<[String; 4]> = std::iter::once(titles)
                .chain(troubles.iter().map(Trouble::row))
                .collect();
            output.bytes(text::table(&rows).as_bytes())?;
        }
        Format::Json => output.json(&troubles.iter().map(Trouble::json).collect())?,
        Format::Jsonl => {
            for trouble in troubles {
                output.json(&trouble.json())?;
            }
        }
    }
    output.end()
}
