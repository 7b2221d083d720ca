use annals::SessionSummary;
use clap::Args;
use serde_json::json;

use crate::commands::Run;
use crate::failure::{Exit, Failure};
use crate::output::{Format, Output};
use crate::place::Place;

/// Change a session's title; its log is not touched
#[derive(Args, Debug)]
pub struct Update {
    /// The session
    id: String,
    /// The new title; an empty one clears it
    #[arg(long, value_name = "TEXT")]
    title: String,
}

impl Run for Update {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = place.open()?;
        let summary = SessionSummary {
            title: Some(self.title.clone()),
            first_prompt: None,
        };
        annals
            .update(&self.id, summary)
            .map_err(|error| Failure::about(&self.id, error))?;
        let mut output = Output::new(place.global.format);
        if output.format != Format::Text {
            output.json(&json!({ "id": self.id, "title": self.title }))?;
        }
        output.end()?;
        Ok(Exit::Done)
    }
}
