use std::path::PathBuf;

use annals::{Annals, ForkOptions};
use clap::Args;
use serde_json::json;

use crate::boundary;
use crate::commands::{Run, made, store};
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::place::{self, Place};
use crate::text;

/// Store a new session that begins with another one's events, and print its id
#[derive(Args, Debug)]
pub struct Fork {
    /// The session to fork; it is not changed
    id: String,
    /// The seq of the turn/end to fork after; by default the last event, which must be one
    #[arg(long, value_name = "SEQ")]
    at: Option<u64>,
    /// The new session's id; by default a new UUIDv7
    #[arg(long = "id", value_name = "NEW")]
    child: Option<String>,
    /// The new session's working directory, made absolute against the current one; by default that of the other: a
    /// header never changes, so a project that moved goes on in a fork
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

impl Run for Fork {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let cwd = self.cwd.as_deref().map(place::working_directory);
        let options = ForkOptions {
            boundary: self.at,
            child: self.child.clone(),
            cwd: cwd.transpose()?,
        };
        let annals = place.open()?;
        let session = annals
            .fork(&self.id, options)
            .map_err(|error| self.refused(&annals, error))?;
        let (id, count) = (session.id(), session.next_seq()?);
        store(&session)?;
        let output = Output::new(place.global.format);
        let value = json!({ "id": id, "parentSession": self.id, "events": count });
        made(output, id, &value)?;
        Ok(Exit::Done)
    }
}

impl Fork {
    /// A fork that was refused because the last turn is open, which it is while somebody works in it, can begin before
    /// that turn.
    fn refused(&self, annals: &Annals, error: annals::Error) -> Failure {
        let is_open = self.at.is_none() && error.reason == "fork-open-turn";
        let failure = Failure::about(&self.id, error);
        let boundary = boundary::of_stored(annals, &self.id).filter(|_| is_open);
        match boundary.map(|boundary| boundary.last) {
            Some(Some(seq)) => failure.although(&format!("--at {seq} forks before the open turn")),
            Some(None) => {
                let salvage = format!("annals salvage {} --fork NEW", text::shell_word(&self.id));
                failure.although(&format!("no turn has ended: {salvage} copies all there is"))
            }
            None => failure,
        }
    }
}
