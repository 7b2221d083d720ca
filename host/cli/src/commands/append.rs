use annals::{Annals, Batch, OpenMode};
use annals_core::json::Value;
use clap::Args;
use serde_json::json;

use crate::commands::{Run, note_repair, open, store};
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{Format, Output, note};
use crate::place::Place;
use crate::text;

/// Append the events on stdin, all or none, and print their seqs once they are durable
///
/// One event a line: {"type", "data", "surfaceOp"?, "sourceEventSeqs"?, "time"?, "seq"?}. An open turn is continued;
/// when the first event is a turn/start, an interrupted turn is closed first.
#[derive(Args, Debug)]
pub struct Append {
    /// The session
    id: String,
}

impl Run for Append {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = place.open()?;
        let input = input::read_stdin()?;
        // What follows the last event is how the input ends, not an event.
        let lines = input.trim_end_matches(['\n', '\r', ' ', '\t']);
        if lines.is_empty() {
            return self.nothing(&annals);
        }
        let mode = if starts_turn(lines) {
            OpenMode::Resume
        } else {
            OpenMode::Continue
        };
        let (session, repair) = open(&annals, &self.id, mode)?;
        note_repair(&self.id, &repair);
        let batch = session
            .append(&format!("{lines}\n"))
            .map_err(|error| Failure::about(&self.id, error))?;
        store(&session)?;

        self.print(place.global.format, &batch).map_err(|failure| {
            let (count, first_seq) = (text::count(batch.count, "event"), batch.first_seq);
            failure.although(&format!("{count} from seq {first_seq} on were stored"))
        })?;
        Ok(Exit::Done)
    }
}

impl Append {
    fn print(&self, format: Format, batch: &Batch) -> Result<(), Failure> {
        let mut output = Output::new(format);
        let end_seq = batch.first_seq + batch.count;
        match format {
            Format::Text => {
                for seq in batch.first_seq..end_seq {
                    output.line(&seq.to_string())?;
                }
            }
            Format::Json | Format::Jsonl => output.json(&json!({
                "id": self.id,
                "firstSeq": batch.first_seq,
                "lastSeq": end_seq.saturating_sub(1),
                "count": batch.count,
            }))?,
        }
        output.end()
    }

    fn nothing(&self, annals: &Annals) -> Result<Exit, Failure> {
        if !annals.has(&self.id)? {
            return Err(Failure::refused(format!(
                "session {:?} not found; annals list shows what is stored",
                self.id
            )));
        }
        note("no events on stdin; nothing was appended");
        Ok(Exit::Done)
    }
}

/// Whether the first line opens a turn. A line that cannot be read does not; the store says what is wrong with it.
fn starts_turn(lines: &str) -> bool {
    let first = lines.lines().next().unwrap_or_default();
    Value::parse(first).is_ok_and(|event| {
        event
            .get("type")
            .is_some_and(|name| name.is_str("turn/start"))
    })
}

#[cfg(test)]
mod tests {
    use super::starts_turn;

    #[test]
    fn only_the_first_line_decides() {
        assert!(starts_turn("{\"data\":{},\"type\":\"turn\\/start\"}\r\nx"));
        assert!(!starts_turn(
            "{\"type\":\"turn/end\"}\n{\"type\":\"turn/start\"}"
        ));
        assert!(!starts_turn("turn/start"));
    }
}
