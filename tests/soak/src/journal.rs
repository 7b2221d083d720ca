//! What a writer was told, kept outside the disk that fills.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::payload::Payload;

/// What is known of an event in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The command printed its seq.
    Acknowledged { seq: u64 },
    /// Its writer was killed, and it was found in the log after a repair: as good as acknowledged.
    Found,
    /// The command said that it is not stored, or it was never given to one.
    Refused,
    /// Its writer was killed, and nobody could look: it may be there once.
    Unknown,
}

/// One event that somebody tried to append.
#[derive(Debug, Clone)]
pub struct Claim {
    pub session: String,
    pub token: String,
    pub data: String,
    pub state: State,
}

/// The claims of one writer, in memory for the checker and in a file for people.
#[derive(Debug)]
pub struct Journal {
    file: File,
    claims: Vec<Claim>,
}

impl Journal {
    /// Goes on with the file, or begins it.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| path.display().to_string())?;
        Ok(Self {
            file,
            claims: Vec::new(),
        })
    }

    /// Writes down what became of an event; nothing becomes of it afterwards.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn settle(&mut self, session: &str, payload: Payload, state: State) -> Result<()> {
        let (word, seq) = match state {
            State::Acknowledged { seq } => ("acknowledged", Some(seq)),
            State::Found => ("found", None),
            State::Refused => ("refused", None),
            State::Unknown => ("unknown", None),
        };
        let line = json!({
            "session": session, "token": payload.token, "state": word, "seq": seq,
            "dataBytes": payload.data.len(),
        });
        writeln!(self.file, "{line}").context("the journal cannot be written")?;
        self.claims.push(Claim {
            session: session.to_owned(),
            token: payload.token,
            data: payload.data,
            state,
        });
        Ok(())
    }

    /// Everything that was settled.
    #[must_use]
    pub fn into_claims(self) -> Vec<Claim> {
        self.claims
    }
}
