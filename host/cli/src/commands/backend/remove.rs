use annals_core::fault::quoted;
use clap::Args;
use serde_json::json;

use crate::added;
use crate::commands::Run;
use crate::failure::{Exit, Failure};
use crate::output::{Format, Output};
use crate::place::Place;

/// Forget a backend that was added; its component and its sessions stay
#[derive(Args, Debug)]
pub struct Remove {
    /// The backend
    name: String,
}

impl Run for Remove {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        if !added::remove(&self.name)? {
            return Err(Failure::refused(format!(
                "no backend {} was added; annals backend list shows those that were",
                quoted(&self.name)
            )));
        }
        let mut output = Output::new(place.global.format);
        if output.format != Format::Text {
            output.json(&json!({ "name": self.name }))?;
        }
        output.end()?;
        Ok(Exit::Done)
    }
}
