use annals::{Annals, Page};
use annals_core::{chunk_rows, json as lossless, record};
use clap::Args;
use serde_json::json;

use crate::commands::Run;
use crate::failure::{Exit, Failure};
use crate::header;
use crate::output::{Format, Output, note};
use crate::place::Place;
use crate::text;
use crate::time;

/// How much of a log is read at once, in bytes.
const PAGE_BYTES: u32 = 1 << 20;
/// How much of an event's data is shown in the table, in characters.
const DATA_CHARS_MAX: usize = 80;

/// Print a stored log as it is, also a damaged one
///
/// Never writes, and judges nothing. As text: a table, where + marks events that the model sees and * those that
/// replace earlier ones. With --format jsonl: the stored lines after the header, byte for byte.
#[derive(Args, Debug)]
pub struct Show {
    /// The session
    id: String,
    /// One event a line: packed rows of chunks are expanded
    #[arg(long)]
    expand: bool,
}

impl Run for Show {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = place.open()?;
        let first = annals
            .read(&self.id, 0, PAGE_BYTES)
            .map_err(|error| Failure::about(&self.id, error))?;
        let exit = match &first.header {
            Some(_) => Exit::Done,
            None => self.no_header(&first),
        };
        let mut output = Output::new(place.global.format);
        match output.format {
            Format::Text => self.show(&annals, first, &mut output, &mut Table)?,
            Format::Json => self.show(&annals, first, &mut output, &mut Object { events: 0 })?,
            Format::Jsonl => self.show(&annals, first, &mut output, &mut Stored)?,
        }
        output.end()?;
        Ok(exit)
    }
}

impl Show {
    fn no_header(&self, first: &Page) -> Exit {
        let id = &self.id;
        let what = if first.raw.is_some() {
            "line 1 is no header, or one of another format version"
        } else {
            "its log is empty, without even a header"
        };
        note(&format!("session {id:?}: {what}; annals verify says more"));
        Exit::Integrity
    }

    fn show(
        &self,
        annals: &Annals,
        first: Page,
        output: &mut Output,
        shape: &mut impl Shape,
    ) -> Result<(), Failure> {
        shape.begin(&first, output)?;
        let mut next = first.next;
        self.page(&first, first.header.is_none(), output, shape)?;
        while let Some(cursor) = next {
            let page = annals.read(&self.id, cursor, PAGE_BYTES)?;
            next = page.next;
            self.page(&page, false, output, shape)?;
        }
        shape.end(output)
    }

    /// `raw_is_header`: the bytes that are no line stand where the header should, not among the events.
    fn page(
        &self,
        page: &Page,
        raw_is_header: bool,
        output: &mut Output,
        shape: &mut impl Shape,
    ) -> Result<(), Failure> {
        for line in page.lines.split_inclusive('\n') {
            match chunk_rows::unpack(line) {
                Ok(events) if self.expand => {
                    for event in events.split_inclusive('\n') {
                        shape.line(event, output)?;
                    }
                }
                _ => shape.line(line, output)?,
            }
        }
        match &page.raw {
            Some(bytes) if !raw_is_header => {
                shape.raw(bytes, output)?;
                self.note_raw(bytes.len(), page.at_byte);
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    fn note_raw(&self, length: usize, at_byte: Option<u64>) {
        let id = &self.id;
        let place = at_byte.map_or_else(String::new, |byte| format!(" from byte {byte} on"));
        note(&format!(
            "session {id:?}: {length} bytes{place} are no whole line of UTF-8; annals verify says more"
        ));
    }
}

/// How a log is written.
trait Shape {
    fn begin(&mut self, first: &Page, output: &mut Output) -> Result<(), Failure>;
    /// One stored line or, expanded, one event line, with its newline.
    fn line(&mut self, line: &str, output: &mut Output) -> Result<(), Failure>;
    /// Bytes that are no line.
    fn raw(&mut self, bytes: &[u8], output: &mut Output) -> Result<(), Failure>;
    fn end(&mut self, output: &mut Output) -> Result<(), Failure>;
}

/// The bytes after the header as they are.
struct Stored;

impl Shape for Stored {
    fn begin(&mut self, _: &Page, _: &mut Output) -> Result<(), Failure> {
        Ok(())
    }

    fn line(&mut self, line: &str, output: &mut Output) -> Result<(), Failure> {
        output.bytes(line.as_bytes())
    }

    fn raw(&mut self, bytes: &[u8], output: &mut Output) -> Result<(), Failure> {
        output.bytes(bytes)
    }

    fn end(&mut self, _: &mut Output) -> Result<(), Failure> {
        Ok(())
    }
}

/// `{"header", "events"}`; what is no JSON stands among the events as `{"unreadable": text}`.
struct Object {
    events: u64,
}

impl Object {
    fn event(&mut self, text: &str, output: &mut Output) -> Result<(), Failure> {
        output.bytes(if self.events == 0 { b"\n" } else { b",\n" })?;
        self.events += 1;
        output.bytes(text.as_bytes())
    }
}

impl Shape for Object {
    fn begin(&mut self, first: &Page, output: &mut Output) -> Result<(), Failure> {
        let header = first.header.as_ref().map(header::json);
        output.bytes(format!("{{\"header\":{},\"events\":[", json!(header)).as_bytes())
    }

    fn line(&mut self, line: &str, output: &mut Output) -> Result<(), Failure> {
        let line = line.trim_end_matches(['\n', '\r']);
        if lossless::check(line).is_ok() {
            self.event(line, output)
        } else {
            self.raw(line.as_bytes(), output)
        }
    }

    fn raw(&mut self, bytes: &[u8], output: &mut Output) -> Result<(), Failure> {
        let text = String::from_utf8_lossy(bytes);
        self.event(&json!({ "unreadable": text }).to_string(), output)
    }

    fn end(&mut self, output: &mut Output) -> Result<(), Failure> {
        output.bytes(b"]}\n")
    }
}

/// One line for each record, cut to what fits.
struct Table;

impl Shape for Table {
    fn begin(&mut self, first: &Page, output: &mut Output) -> Result<(), Failure> {
        let Some(header) = &first.header else {
            return Ok(());
        };
        let created = time::utc(header.created_at_ms);
        output.line(&format!("session {}, created {created}", header.id))?;
        if let Some(cwd) = &header.cwd {
            output.line(&format!("cwd {cwd}"))?;
        }
        if let Some(parent) = &header.parent_session {
            let seed = header.seed_length.unwrap_or(0);
            output.line(&format!("forked from {parent}, its first {seed} events"))?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str, output: &mut Output) -> Result<(), Failure> {
        output.line(&row(line).unwrap_or_else(|| unreadable(line)))
    }

    fn raw(&mut self, bytes: &[u8], output: &mut Output) -> Result<(), Failure> {
        output.line(&unreadable(&String::from_utf8_lossy(bytes)))
    }

    fn end(&mut self, _: &mut Output) -> Result<(), Failure> {
        Ok(())
    }
}

/// One record for people; none when the line is no record.
fn row(line: &str) -> Option<String> {
    let record = record::read_record(line.trim_end_matches('\n')).ok()?;
    let value = lossless::Value::parse(line).ok()?;
    let seqs = match record.count {
        0 | 1 => record.first_seq.to_string(),
        count => format!("{}..{}", record.first_seq, record.first_seq + count - 1),
    };
    let name = value.get("type")?.as_text()?.decode()?;
    let mark = match value.get("surfaceOp") {
        None => " ",
        Some(op) if op.is_str("append") => "+",
        Some(_) => "*",
    };
    let data = value.get("data").map_or("", |data| data.text());
    let data = text::excerpt(data, DATA_CHARS_MAX);
    let time = time::utc(record.last_time_ms);
    Some(format!("{seqs:>7}  {time}  {mark} {name:<20}  {data}"))
}

fn unreadable(text: &str) -> String {
    let text = text::excerpt(text.trim_end_matches('\n'), DATA_CHARS_MAX);
    format!("{:>7}  unreadable: {text}", "?")
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_row_shows_what_an_event_is() {
        let line =
            r#"{"type":"user/message","seq":3,"time":0,"data":{"a":1},"surfaceOp":"append"}"#;
        let shown = "      3  1970-01-01T00:00:00Z  + user/message          {\"a\":1}";
        assert_eq!(row(line).as_deref(), Some(shown));
        assert_eq!(row("{}"), None);
    }
}
