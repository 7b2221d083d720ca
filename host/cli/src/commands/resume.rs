use annals::OpenMode;
use clap::Args;
use serde_json::json;

use crate::commands::{Run, leave, open, repairs};
use crate::failure::{Exit, Failure};
use crate::output::{Format, Output};
use crate::place::Place;
use crate::text;

/// Repair what an interruption left, durably, and print what was done
///
/// A bad end is cut off and saved beside the log; an open turn is closed, with an error result for every tool call
/// that has none.
#[derive(Args, Debug)]
pub struct Resume {
    /// The session
    id: String,
}

impl Run for Resume {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = place.open()?;
        let (session, repair) = open(&annals, &self.id, OpenMode::Resume)?;
        let count = session.next_seq()?;
        leave(&session);

        let mut output = Output::new(place.global.format);
        match output.format {
            Format::Text => {
                let done = repairs(&repair);
                if done.is_empty() {
                    let events = text::count(count, "event");
                    output.line(&format!("nothing to repair in {events}"))?;
                }
                for line in &done {
                    output.line(line)?;
                }
            }
            Format::Json | Format::Jsonl => output.json(&json!({
                "id": self.id,
                "events": count,
                "cutBytes": repair.cut_bytes,
                "cutEvents": repair.cut_events,
                "closers": repair.closers,
                "notes": repair.notes,
            }))?,
        }
        output.end()?;
        Ok(Exit::Done)
    }
}
