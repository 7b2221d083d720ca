use annals::{Annals, OpenMode, Session};
use annals_core::json::Value;
use clap::Args;
use serde_json::json;

use crate::commands::{Run, leave, note_repair, open, store};
use crate::failure::{Exit, Failure};
use crate::input;
use crate::lines::Lines;
use crate::output::{Format, Output, note};
use crate::place::Place;
use crate::signals;
use crate::text;

/// Append the events on stdin, all or none, and print their seqs once they are durable
///
/// One event a line: {"type", "data", "surfaceOp"?, "sourceEventSeqs"?, "time"?, "seq"?}. An open turn is continued;
/// when the first event is a turn/start, an interrupted turn is closed first.
#[derive(Args, Debug)]
pub struct Append {
    /// The session
    id: String,
    /// Append each line when it comes, until stdin ends; the first that is refused ends it, those before it are stored
    #[arg(long)]
    follow: bool,
}

impl Run for Append {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = place.open()?;
        if self.follow {
            return self.follow(place.global.format, &annals);
        }
        let input = signals::idle(input::read_stdin)?;
        // What follows the last event is how the input ends, not an event.
        let lines = input.trim_end_matches(['\n', '\r', ' ', '\t']);
        if lines.is_empty() {
            return self.nothing(&annals);
        }
        let session = self.open(&annals, lines)?;
        let batch = session
            .append(&format!("{lines}\n"))
            .map_err(|error| Failure::about(&self.id, error))?;
        store(&session)?;
        self.print(place.global.format, batch.first_seq, batch.count)?;
        Ok(Exit::Done)
    }
}

impl Append {
    /// The session, to go on with what begins with `first`.
    fn open(&self, annals: &Annals, first: &str) -> Result<Session, Failure> {
        let mode = if starts_turn(first) {
            OpenMode::Resume
        } else {
            OpenMode::Continue
        };
        let (session, repair) = open(annals, &self.id, mode)?;
        note_repair(&self.id, &repair);
        Ok(session)
    }

    /// What is there of stdin is one flush. The session is open, and its lease held, from the first line on.
    fn follow(&self, format: Format, annals: &Annals) -> Result<Exit, Failure> {
        let mut lines = Lines::of_stdin()?;
        let mut open: Option<Session> = None;
        while let Some(some) = signals::idle(|| lines.next()) {
            let session = match &open {
                Some(session) => session,
                None => {
                    let first = some.first().map_or("", |(_, line)| line.as_str());
                    open.insert(self.open(annals, first)?)
                }
            };
            let appended = self.append_some(session, &some);
            let first_seq = session.next_seq()? - appended.count;
            session
                .flush()
                .map_err(|error| Failure::about(&self.id, error))?;
            if appended.count > 0 {
                self.print(format, first_seq, appended.count)?;
            }
            if let Some(refused) = appended.refused {
                leave(session);
                return Err(refused);
            }
        }
        if let Some(session) = &open {
            leave(session);
        }
        lines.end()?;
        match open {
            Some(_) => Ok(Exit::Done),
            None => self.nothing(annals),
        }
    }

    /// Line by line, up to the first that is refused.
    fn append_some(&self, session: &Session, lines: &[(u64, String)]) -> Appended {
        let mut count = 0;
        for (number, line) in lines {
            match session.append(line) {
                Ok(batch) => count += batch.count,
                Err(error) => {
                    let refused = Failure::about(&self.id, error).at_line(*number);
                    return Appended {
                        count,
                        refused: Some(refused),
                    };
                }
            }
        }
        Appended {
            count,
            refused: None,
        }
    }

    /// Prints the seqs of events that are stored.
    fn print(&self, format: Format, first_seq: u64, count: u64) -> Result<(), Failure> {
        self.print_seqs(format, first_seq, count)
            .map_err(|failure| {
                let events = text::count(count, "event");
                failure.although(&format!("{events} from seq {first_seq} on were stored"))
            })
    }

    fn print_seqs(&self, format: Format, first_seq: u64, count: u64) -> Result<(), Failure> {
        let mut output = Output::new(format);
        let end_seq = first_seq + count;
        match format {
            Format::Text => {
                for seq in first_seq..end_seq {
                    output.line(&seq.to_string())?;
                }
            }
            Format::Json | Format::Jsonl => output.json(&json!({
                "id": self.id,
                "firstSeq": first_seq,
                "lastSeq": end_seq.saturating_sub(1),
                "count": count,
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

/// How many events of some lines are in the session, and what ended that.
struct Appended {
    count: u64,
    refused: Option<Failure>,
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
