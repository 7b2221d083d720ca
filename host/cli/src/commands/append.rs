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
/// when the first event is a turn/start, an interrupted turn is closed first. A byte order mark and blank lines are left
/// out.
#[derive(Args, Debug)]
pub struct Append {
    /// The session
    id: String,
    /// Append each line when it comes, until stdin ends; the first that is refused ends it, those before it are stored.
    /// Prints seqs, or with `--format json` a value, for all that came at a time
    #[arg(long)]
    follow: bool,
}

impl Run for Append {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = place.open()?;
        let format = place.global.format;
        if self.follow {
            return self.follow(format, &annals);
        }
        let input = signals::idle(input::read_stdin)?;
        let (lines, numbers) = filled(&input);
        if lines.is_empty() {
            return self.nothing(format, &annals);
        }
        let session = self.open(&annals, &lines)?;
        let batch = session.append(&lines).map_err(|error| {
            let refused = self.refused(error, |line| numbers.get(line).copied());
            refused.although("nothing was appended")
        })?;
        store(&session)?;
        self.print(format, batch.first_seq, batch.count)?;
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

    /// Follows stdin to its end. What went wrong says how much of it is stored.
    fn follow(&self, format: Format, annals: &Annals) -> Result<Exit, Failure> {
        let mut lines = Lines::of_stdin()?;
        let mut stored = Stored::default();
        let followed = self.store_all(format, annals, &mut lines, &mut stored);
        let ended = followed.and_then(|has_any| lines.end().map(|()| has_any));
        match ended {
            Ok(true) => Ok(Exit::Done),
            Ok(false) => self.nothing(format, annals),
            Err(failure) => Err(failure.although(&stored.words())),
        }
    }

    /// What is there of stdin is one flush. The session is open, and its lease held, from the first line on. Says whether
    /// there was a line.
    fn store_all(
        &self,
        format: Format,
        annals: &Annals,
        lines: &mut Lines,
        stored: &mut Stored,
    ) -> Result<bool, Failure> {
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
            let next_seq = session.next_seq()?;
            session
                .flush()
                .map_err(|error| Failure::about(&self.id, error))?;
            if appended.count > 0 {
                stored.count += appended.count;
                stored.last_seq = next_seq - 1;
                self.print_seqs(format, next_seq - appended.count, appended.count)?;
            }
            if let Some(refused) = appended.refused {
                leave(session);
                return Err(refused);
            }
        }
        open.iter().for_each(leave);
        Ok(open.is_some())
    }

    /// Line by line, up to the first that is refused.
    fn append_some(&self, session: &Session, lines: &[(u64, String)]) -> Appended {
        let mut count = 0;
        for (number, line) in lines {
            match session.append(line) {
                Ok(batch) => count += batch.count,
                Err(error) => {
                    let refused = Some(self.refused(error, |_| Some(*number)));
                    return Appended { count, refused };
                }
            }
        }
        let refused = None;
        Appended { count, refused }
    }

    /// The store counts the lines that it was given, people those of their input: `number_of` has the number there of the
    /// line at that position, counted from 0, among those given.
    fn refused(&self, error: annals::Error, number_of: impl Fn(usize) -> Option<u64>) -> Failure {
        let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap_or_default();
        let given = detail.get("line").and_then(serde_json::Value::as_u64);
        let position = given.and_then(|line| usize::try_from(line.checked_sub(1)?).ok());
        let (Some(given), Some(number)) = (given, position.and_then(number_of)) else {
            return Failure::about(&self.id, error);
        };
        let own = format!("line {given}");
        let message = match error.message.strip_prefix(&own) {
            Some(rest) => format!("stdin, line {number}{rest}"),
            None => format!("stdin, line {number}: {}", error.message),
        };
        Failure::about(&self.id, annals::Error { message, ..error })
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

    fn nothing(&self, format: Format, annals: &Annals) -> Result<Exit, Failure> {
        if !annals.has(&self.id)? {
            return Err(Failure::refused(format!(
                "session {:?} not found; annals list shows what is stored",
                self.id
            )));
        }
        let mut output = Output::new(format);
        if format != Format::Text {
            output.json(&json!({
                "id": self.id,
                "firstSeq": null,
                "lastSeq": null,
                "count": 0,
            }))?;
        }
        output.end()?;
        note("no events on stdin; nothing was appended");
        Ok(Exit::Done)
    }
}

/// How many events of some lines are in the session, and what ended that.
struct Appended {
    count: u64,
    refused: Option<Failure>,
}

/// What was stored so far.
#[derive(Default)]
struct Stored {
    count: u64,
    last_seq: u64,
}

impl Stored {
    fn words(&self) -> String {
        let Self { count, last_seq } = *self;
        match count {
            0 => "nothing is stored".to_owned(),
            1 => format!("1 event, seq {last_seq}, is stored"),
            _ => format!("{count} events up to seq {last_seq} are stored"),
        }
    }
}

/// The lines that are not blank, each ended by a newline, and their numbers, counted from 1. Text tools leave blank lines,
/// with a carriage return or without.
fn filled(input: &str) -> (String, Vec<u64>) {
    let mut lines = String::with_capacity(input.len() + 1);
    let mut numbers = Vec::new();
    for (number, line) in (1..).zip(input.lines()) {
        let line = line.trim_end_matches(['\r', ' ', '\t']);
        if !line.is_empty() {
            lines.push_str(line);
            lines.push('\n');
            numbers.push(number);
        }
    }
    (lines, numbers)
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
    use super::{filled, starts_turn};

    #[test]
    fn only_the_first_line_decides() {
        assert!(starts_turn("{\"data\":{},\"type\":\"turn\\/start\"}\r\nx"));
        assert!(!starts_turn(
            "{\"type\":\"turn/end\"}\n{\"type\":\"turn/start\"}"
        ));
        assert!(!starts_turn("turn/start"));
    }

    #[test]
    fn blank_lines_are_left_out_and_counted() {
        let table: [(&str, &str, &[u64]); 6] = [
            ("", "", &[]),
            ("\r\n \t\n", "", &[]),
            ("a\nb", "a\nb\n", &[1, 2]),
            ("a\r\nb\r\n\r\n", "a\nb\n", &[1, 2]),
            ("\r\na\n\n b \n", "a\n b\n", &[2, 4]),
            ("a\n \r\n\nb\n{", "a\nb\n{\n", &[1, 4, 5]),
        ];
        for (input, lines, numbers) in table {
            assert_eq!(
                filled(input),
                (lines.to_owned(), numbers.to_vec()),
                "{input:?}"
            );
        }
    }
}
