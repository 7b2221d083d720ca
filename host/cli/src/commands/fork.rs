use annals::ForkOptions;
use clap::Args;
use serde_json::json;

use crate::commands::{Run, store};
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::place::Place;

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
}

impl Run for Fork {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = place.open()?;
        let options = ForkOptions {
            boundary: self.at,
            child: self.child.clone(),
            ..ForkOptions::default()
        };
        let session = annals
            .fork(&self.id, options)
            .map_err(|error| Failure::about(&self.id, error))?;
        let (id, count) = (session.id(), session.next_seq()?);
        store(&session)?;
        let mut output = Output::new(place.global.format);
        let value = json!({ "id": id, "parentSession": self.id, "events": count });
        output.one(id, &value)?;
        output.end()?;
        Ok(Exit::Done)
    }
}
