use std::collections::HashMap;

use annals::{Annals, ErrorCode, OpenMode, SessionStatus};
use annals_core::fault::quoted;
use annals_core::salvage::Report;
use clap::Args;
use serde_json::{Map, Value};

use crate::commands::Run;
use crate::failure::{self, Exit, Failure};
use crate::output::{Format, Output, note};
use crate::place::Place;
use crate::survey;
use crate::text;

/// How much of a log is read at once, in bytes.
const PAGE_BYTES: u32 = 1 << 20;
/// How often a session that grows meanwhile is looked at again.
const CONFIRMING_TRIES_MAX: u32 = 8;

/// Read sessions whole and check every rule; exit code 3 when one is damaged
///
/// Never writes. A turn that is open is no damage, a torn last line is. Of a damaged log everything that is wrong is
/// said, each with its line, byte and reason.
#[derive(Args, Debug)]
pub struct Verify {
    /// The session; by default all of them
    id: Option<String>,
    /// Also check that the events fit together: turns and steps numbered and enclosed, results after their calls
    ///
    /// A log that breaks this is `invalid`, exit code 3 too: it can be read, and a strict store does not write it.
    #[arg(long)]
    strict: bool,
}

impl Run for Verify {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = match self.strict {
            true => place.open_strict()?,
            false => place.open()?,
        };
        let entries = annals.sessions()?;
        let ids = match &self.id {
            Some(id) => vec![id.clone()],
            None => entries.iter().map(|entry| entry.id.clone()).collect(),
        };
        // what the log of a session does not show
        let noted = entries
            .iter()
            .filter(|entry| entry.status == SessionStatus::Damaged);
        let notes: HashMap<&str, &str> = noted
            .filter_map(|entry| Some((entry.id.as_str(), entry.note.as_deref()?)))
            .collect();
        let mut output = Output::new(place.global.format);
        let mut verdicts = Vec::new();
        let (mut exit, mut bad) = (Exit::Done, 0);
        for id in &ids {
            let note = notes.get(id.as_str()).copied();
            let verdict = match judge(&annals, id) {
                Err(Failure::Said(exit, _)) if self.id.is_none() && annals.has(id) == Ok(false) => {
                    match note {
                        // a whole directory that cannot be looked into
                        Some(note) => {
                            Verdict::unread(id, exit.max(Exit::Integrity), note.to_owned())
                        }
                        // deleted since it was listed
                        None => continue,
                    }
                }
                // One that cannot be read keeps nobody from the others.
                Err(Failure::Said(exit, message)) if self.id.is_none() => {
                    Verdict::unread(id, exit, message)
                }
                judged => judged?.with_note(&annals, note)?,
            };
            exit = exit.max(verdict.exit);
            bad += u64::from(verdict.exit != Exit::Done);
            match output.format {
                Format::Text => verdict.print(&mut output)?,
                Format::Json => verdicts.push(verdict.json()),
                Format::Jsonl => output.json(&verdict.json())?,
            }
        }
        if output.format == Format::Json {
            output.json(&verdicts.into())?;
        }
        output.end()?;
        match &self.id {
            Some(id) if bad > 0 => note(&format!("session {} did not pass", quoted(id))),
            None if bad > 0 => {
                let all = text::count(ids.len() as u64, "session");
                note(&format!("{bad} of {all} did not pass"));
            }
            _ => {}
        }
        Ok(exit)
    }
}

/// What reading a session whole has shown.
pub(super) struct Verdict {
    id: String,
    pub(super) exit: Exit,
    pub(super) status: &'static str,
    /// None where it cannot be opened.
    pub(super) events: Option<u64>,
    pub(super) open_turn: bool,
    pub(super) message: Option<String>,
    /// How many readable events are in a bad end.
    pub(super) readable: u64,
    /// Facts of the first damage: line, byte, reason.
    facts: Map<String, Value>,
    /// All of it.
    damage: Option<Report>,
}

impl Verdict {
    fn unread(id: &str, exit: Exit, message: String) -> Self {
        Self {
            id: id.to_owned(),
            exit,
            status: "unreadable",
            events: None,
            open_turn: false,
            message: Some(message),
            readable: 0,
            facts: Map::new(),
            damage: None,
        }
    }

    /// Of a log in which nothing is wrong the listing may know more.
    fn with_note(mut self, annals: &Annals, note: Option<&str>) -> Result<Self, Failure> {
        if note.is_some()
            && self.exit == Exit::Done
            && let Some(note) = confirmed(annals, &self.id, self.events)?
        {
            self.exit = Exit::Integrity;
            self.status = "damaged";
            self.message = Some(note);
        }
        Ok(self)
    }

    /// Why it is no log.
    pub(super) fn reason(&self) -> Option<&str> {
        self.facts.get("reason")?.as_str()
    }

    /// Of a log that a strict store refuses to write. What does not fit comes before a bad end.
    fn not_fitting(mut self, refusal: annals::Error) -> Self {
        if self.exit == Exit::Done {
            self.status = "invalid";
        }
        self.exit = Exit::Integrity;
        let end = self.message.take();
        let end = end.map_or(String::new(), |message| format!("; {message}"));
        self.message = Some(format!("{}{end}", refusal.message));
        let detail: Value = serde_json::from_str(&refusal.detail).unwrap_or_default();
        self.facts = Map::new();
        for name in ["line", "seq"] {
            if let Some(fact) = detail.get(name) {
                self.facts.insert(name.into(), fact.clone());
            }
        }
        self.facts.insert("reason".into(), refusal.reason.into());
        self
    }

    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(&self.line())?;
        // one finding is in the line already
        let Some(damage) = self.damage.as_ref().filter(|all| all.finding_count > 1) else {
            return Ok(());
        };
        for finding in &damage.findings {
            output.line(&format!("    {}", survey::line(finding)))?;
        }
        let unsaid = damage.finding_count - damage.findings.len() as u64;
        if unsaid > 0 {
            output.line(&format!("    and {unsaid} more"))?;
        }
        Ok(())
    }

    fn line(&self) -> String {
        let mut line = format!("{:<11}  {}", self.status, self.id);
        if let Some(events) = self.events {
            line.push_str(&format!("  {}", text::count(events, "event")));
        }
        if self.open_turn {
            line.push_str(", last turn open");
        }
        let message = self.message.as_deref().unwrap_or_default();
        if !message.is_empty() {
            line.push_str(&format!("  {message}"));
        }
        for (name, fact) in &self.facts {
            let fact = format!("{name} {}", plain(fact));
            if !message.contains(&fact) {
                line.push_str(&format!("; {fact}"));
            }
        }
        line
    }

    fn json(&self) -> Value {
        let mut members = Map::new();
        members.insert("id".into(), self.id.clone().into());
        members.insert("status".into(), self.status.into());
        if let Some(events) = self.events {
            members.insert("events".into(), events.into());
            members.insert("openTurn".into(), self.open_turn.into());
        }
        if let Some(message) = &self.message {
            members.insert("message".into(), message.clone().into());
        }
        members.extend(self.facts.clone());
        if let Some(damage) = &self.damage {
            members.insert("damage".into(), survey::findings_json(damage));
            members.insert("damageCount".into(), damage.finding_count.into());
        }
        members.into()
    }
}

fn plain(fact: &Value) -> String {
    match fact {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What the listing notes of a session in which reading finds nothing wrong. It may have looked in the middle of a write:
/// it counts when it notes the same while the session does not grow.
pub(super) fn confirmed(
    annals: &Annals,
    id: &str,
    mut events: Option<u64>,
) -> Result<Option<String>, Failure> {
    for _ in 0..CONFIRMING_TRIES_MAX {
        let listed = annals.sessions()?;
        let entry = listed.into_iter().find(|entry| entry.id == id);
        let noted = entry.filter(|entry| entry.status == SessionStatus::Damaged);
        let Some(note) = noted.and_then(|entry| entry.note) else {
            return Ok(None);
        };
        let now = judge(annals, id)?;
        if now.exit == Exit::Done && now.events == events {
            return Ok(Some(note));
        }
        events = now.events;
    }
    Ok(None)
}

/// Reads the session whole.
pub(super) fn judge(annals: &Annals, id: &str) -> Result<Verdict, Failure> {
    let (session, repair) = match annals.open(id, OpenMode::Inspect) {
        Ok(opened) => opened,
        Err(error) => return damaged(annals, id, error),
    };
    let events = session.next_seq()?;
    session.close()?;
    let mut verdict = Verdict {
        id: id.to_owned(),
        exit: Exit::Done,
        status: "ok",
        events: Some(events),
        open_turn: repair.closers > 0,
        message: None,
        readable: 0,
        facts: Map::new(),
        damage: None,
    };
    if repair.cut_bytes > 0 {
        verdict.exit = Exit::Integrity;
        verdict.status = "damaged";
        // The first note says from where on, and why.
        verdict.message = repair.notes.into_iter().next();
        let end = bad_end(annals, id, repair.cut_bytes)?;
        verdict.facts = end.facts;
        verdict.damage = survey::survey(annals, id).ok();
        verdict.readable = repair.cut_events;
        // what is fused with other bytes is only seen by salvage; of a line that was cut short it may read a part, too
        if let Some(damage) = verdict.damage.as_ref().filter(|_| end.has_whole_line) {
            let readable = (damage.in_place + damage.set_aside).saturating_sub(events);
            verdict.readable = verdict.readable.max(readable);
        }
    }
    match repair.refusal {
        Some(refusal) => Ok(verdict.not_fitting(refusal)),
        None => Ok(verdict),
    }
}

/// Damage is a result here, every other failure is one.
fn damaged(annals: &Annals, id: &str, error: annals::Error) -> Result<Verdict, Failure> {
    let status = match error.code {
        ErrorCode::Corrupt => "damaged",
        ErrorCode::UnsupportedVersion => "unsupported",
        _ => return Err(Failure::about(id, error)),
    };
    let detail: Value = serde_json::from_str(&error.detail).unwrap_or_default();
    let mut facts = Map::new();
    for name in ["line", "byte"] {
        if let Some(fact) = detail.get(name) {
            facts.insert(name.into(), fact.clone());
        }
    }
    facts.insert("reason".into(), error.reason.into());
    let damage = match error.code {
        // the first damage is known; all of it is more than a log may hold where this fails
        ErrorCode::Corrupt => survey::survey(annals, id).ok(),
        // its rules are not ours
        _ => None,
    };
    Ok(Verdict {
        id: id.to_owned(),
        exit: failure::exit_of(error.code),
        status,
        events: None,
        open_turn: false,
        message: Some(error.message),
        readable: 0,
        facts,
        damage,
    })
}

/// A bad end.
#[derive(Default)]
struct BadEnd {
    /// The line, counted from 1, and the byte at which it begins; nothing where the medium counts no bytes.
    facts: Map<String, Value>,
    has_whole_line: bool,
}

/// The bad end of `end_bytes`.
fn bad_end(annals: &Annals, id: &str, end_bytes: u64) -> Result<BadEnd, Failure> {
    let mut log_bytes = 0;
    each_piece(annals, id, |at, bytes| {
        log_bytes = at + bytes.len() as u64;
    })?;
    let mut end = BadEnd::default();
    if let Some(byte) = log_bytes.checked_sub(end_bytes) {
        // The header is line 1, and no piece has it.
        let mut line = 2;
        each_piece(annals, id, |at, bytes| {
            let before = usize::try_from(byte.saturating_sub(at)).unwrap_or(usize::MAX);
            line += bytes.iter().take(before).filter(|b| **b == b'\n').count();
            end.has_whole_line |= bytes.iter().skip(before).any(|b| *b == b'\n');
        })?;
        end.facts.insert("line".into(), line.into());
        end.facts.insert("byte".into(), byte.into());
    }
    Ok(end)
}

/// Calls with the stored bytes after the header, in order, and with where they begin.
fn each_piece(annals: &Annals, id: &str, mut see: impl FnMut(u64, &[u8])) -> Result<(), Failure> {
    let mut next = Some(0);
    while let Some(cursor) = next {
        let page = annals.read(id, cursor, PAGE_BYTES)?;
        if let Some(at) = page.at_byte {
            see(at, page.raw.as_deref().unwrap_or(page.lines.as_bytes()));
        }
        next = page.next;
    }
    Ok(())
}
