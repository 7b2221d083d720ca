//! Reads a log byte by byte and holds it against what writers were told.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::journal::{Claim, State};

/// A log as its bytes are.
#[derive(Debug, Default)]
pub struct Log<'a> {
    /// How many events at the beginning are another session's, from the header.
    pub seed_length: u64,
    /// The session that they come from.
    pub parent: Option<String>,
    pub events: Vec<Event<'a>>,
    /// Lines that are no event: where, and why.
    pub unreadable: Vec<String>,
    /// Bytes after the last newline.
    pub torn: &'a [u8],
}

/// One whole line that holds an event.
#[derive(Debug)]
pub struct Event<'a> {
    pub seq: u64,
    /// None for an event that nobody asked for, such as the end of an interrupted turn.
    pub token: Option<String>,
    pub line: &'a str,
}

impl<'a> Log<'a> {
    /// Takes any bytes.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        let mut log = Self::default();
        let mut at = 0;
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let Some(whole) = line.strip_suffix(b"\n") else {
                log.torn = line;
                break;
            };
            let read = match index {
                0 => log.read_header(whole),
                _ => read_event(whole).map(|event| log.events.push(event)),
            };
            if let Err(reason) = read {
                let number = index + 1;
                log.unreadable
                    .push(format!("line {number}, byte {at}: {reason}"));
            }
            at += line.len();
        }
        if at == 0 {
            log.unreadable.push("there is no header".to_owned());
        }
        log
    }

    fn read_header(&mut self, line: &[u8]) -> Result<(), String> {
        let header: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if header.get("type").and_then(Value::as_str) != Some("session") {
            return Err("no header".to_owned());
        }
        let seed_length = header.get("seedLength").and_then(Value::as_u64);
        self.seed_length = seed_length.unwrap_or(0);
        let parent = header.get("parentSession").and_then(Value::as_str);
        self.parent = parent.map(str::to_owned);
        Ok(())
    }
}

fn read_event(line: &[u8]) -> Result<Event<'_>, String> {
    let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let event: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let seq = event.get("seq").and_then(Value::as_u64);
    let token = event.get("data").and_then(|data| data.get("token"));
    Ok(Event {
        seq: seq.ok_or("no seq")?,
        token: token.and_then(Value::as_str).map(str::to_owned),
        line,
    })
}

/// What is wrong with a log, each with a sentence, and how much is right.
#[derive(Debug, Default)]
pub struct Findings {
    /// Events with a token, those of another session not counted.
    pub stored: u64,
    /// Those of them that nobody was told of: their writer was killed in time.
    pub unacknowledged: u64,
    /// Acknowledged, and not there, or not as it was given, or not at its seq.
    pub lost: Vec<String>,
    /// A token that is there more than once.
    pub doubled: Vec<String>,
    /// A seq that is not the next one.
    pub gaps: Vec<String>,
    /// A line that is no event.
    pub unreadable: Vec<String>,
    /// There, although the command said that it is not, or in a log that it was never given to.
    pub uninvited: Vec<String>,
}

impl Findings {
    /// Holds a log against every claim on its session.
    #[must_use]
    pub fn of(session: &str, log: &Log<'_>, claims: &[Claim]) -> Self {
        let mut findings = Self::default();
        let about = |text: String| format!("session {session}: {text}");
        findings
            .unreadable
            .extend(log.unreadable.iter().cloned().map(about));
        let mut due = 0;
        let mut places: BTreeMap<&str, Vec<&Event<'_>>> = BTreeMap::new();
        for (index, event) in log.events.iter().enumerate() {
            if event.seq != due {
                let text = format!("seq {} where {due} is due", event.seq);
                findings.gaps.push(about(text));
            }
            due = event.seq.wrapping_add(1);
            if let Some(token) = &event.token
                && index as u64 >= log.seed_length
            {
                places.entry(token).or_default().push(event);
            }
        }
        for (token, events) in &places {
            findings.stored += 1;
            if events.len() > 1 {
                let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
                findings
                    .doubled
                    .push(about(format!("{token} is at seqs {seqs:?}")));
            }
        }
        findings.hold(session, &places, claims);
        findings
    }

    fn hold(&mut self, session: &str, places: &BTreeMap<&str, Vec<&Event<'_>>>, claims: &[Claim]) {
        let own = claims.iter().filter(|claim| claim.session == session);
        let claimed: HashMap<&str, &Claim> =
            own.map(|claim| (claim.token.as_str(), claim)).collect();
        for (token, claim) in &claimed {
            let found = places.get(token).and_then(|events| events.first());
            let text = match (claim.state, found) {
                (State::Acknowledged { seq }, Some(event)) if event.seq != seq => {
                    Some(format!("{token} is at seq {}, not {seq}", event.seq))
                }
                (State::Acknowledged { seq }, None) => {
                    Some(format!("{token}, acknowledged as seq {seq}, is not there"))
                }
                (State::Found, None) => Some(format!("{token} was there and is not any more")),
                (_, Some(event)) if !is_as_given(event.line, &claim.data) => {
                    Some(format!("{token} is not as it was given"))
                }
                _ => None,
            };
            self.lost
                .extend(text.map(|text| format!("session {session}: {text}")));
            match (claim.state, found) {
                (State::Refused, Some(event)) => self.uninvited.push(format!(
                    "session {session}: {token} was refused and is there, at seq {}",
                    event.seq
                )),
                (State::Found | State::Unknown, Some(_)) => self.unacknowledged += 1,
                _ => {}
            }
        }
        for token in places.keys().filter(|token| !claimed.contains_key(**token)) {
            let text = format!("session {session}: {token} was never appended to it");
            self.uninvited.push(text);
        }
    }

    /// A fork begins with the events of the other session, byte for byte.
    pub fn hold_seed(&mut self, session: &str, child: &Log<'_>, parent: &Log<'_>) {
        let length = usize::try_from(child.seed_length).unwrap_or(usize::MAX);
        let lines = |log: &Log<'_>| -> Vec<String> {
            let some = log.events.iter().take(length);
            some.map(|event| event.line.to_owned()).collect()
        };
        let seed = lines(child);
        if seed.len() < length || seed != lines(parent) {
            let text =
                format!("session {session}: does not begin with the {length} events of its parent");
            self.lost.push(text);
        }
    }

    /// Adds what another log showed.
    pub fn add(&mut self, other: Self) {
        self.stored += other.stored;
        self.unacknowledged += other.unacknowledged;
        self.lost.extend(other.lost);
        self.doubled.extend(other.doubled);
        self.gaps.extend(other.gaps);
        self.unreadable.extend(other.unreadable);
        self.uninvited.extend(other.uninvited);
    }
}

fn is_as_given(line: &str, data: &str) -> bool {
    line.contains(&format!("\"data\":{data}"))
}
