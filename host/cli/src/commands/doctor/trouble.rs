//! What is wrong, as it is shown.

use annals::Litter;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output::{Format, Output};
use crate::text;

/// What is wrong, and what became of it.
pub(super) struct Trouble {
    pub(super) kind: &'static str,
    pub(super) id: Option<String>,
    /// Where, for what is no session.
    pub(super) place: Option<String>,
    pub(super) message: String,
    pub(super) state: &'static str,
}

pub(super) const FOUND: &str = "found";
pub(super) const FIXED: &str = "fixed";
/// It could not be fixed, or only a person can decide what is to be done.
pub(super) const LEFT: &str = "left";

impl Trouble {
    pub(super) fn of_session(kind: &'static str, id: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            id: Some(id.to_owned()),
            place: None,
            message: message.into(),
            state: FOUND,
        }
    }

    pub(super) fn of_litter(kind: &'static str, found: &Litter) -> Self {
        Self {
            kind,
            id: found.id.clone(),
            place: Some(found.place.clone()),
            message: found.note.clone(),
            state: FOUND,
        }
    }

    pub(super) fn settle(&mut self, fixed: Result<(), annals::Error>) {
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

/// All of it, or that nothing is wrong.
pub(super) fn print(
    format: Format,
    troubles: &[Trouble],
    session_count: usize,
) -> Result<(), Failure> {
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
