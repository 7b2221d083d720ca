use clap::Args;
use serde_json::json;

use crate::commands::Run;
use crate::failure::{Exit, Failure};
use crate::output::{Format, Output};
use crate::place::Place;

/// Remove a session for good: its log, its summary and what repairs cut from it
#[derive(Args, Debug)]
pub struct Delete {
    /// The session
    id: String,
}

impl Run for Delete {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = place.open()?;
        annals
            .delete(&self.id)
            .map_err(|error| Failure::about(&self.id, error))?;
        let mut output = Output::new(place.global.format);
        if output.format != Format::Text {
            output.json(&json!({ "id": self.id, "deleted": true }))?;
        }
        output.end()?;
        Ok(Exit::Done)
    }
}
