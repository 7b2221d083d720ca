use annals::OpenMode;
use clap::Args;

use crate::commands::{Run, open};
use crate::failure::{Exit, Failure};
use crate::output::{Format, Output, note};
use crate::place::Place;
use crate::text;

/// How much history is asked for at once, in bytes.
const PAGE_BYTES: u32 = 1 << 20;

/// Print the history that the model sees, one JSON message a line
///
/// Never writes. A turn that is still open, or was interrupted, is shown as far as it got.
#[derive(Args, Debug)]
pub struct Messages {
    /// The session
    id: String,
}

impl Run for Messages {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = place.open()?;
        let (session, repair) = open(&annals, &self.id, OpenMode::Inspect)?;
        let mut output = Output::new(place.global.format);
        let mut list = List::new(output.format);
        let mut start = 0;
        loop {
            let page = session
                .messages(start, PAGE_BYTES)
                .map_err(|error| Failure::about(&self.id, error))?;
            let count = page.lines.lines().count();
            for line in page.lines.lines() {
                list.item(&mut output, line)?;
            }
            start = start.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
            if start >= page.total || count == 0 {
                break;
            }
        }
        list.end(&mut output)?;
        output.end()?;
        session.close()?;

        let skipping = place.skipping();
        if repair.cut_bytes > 0 {
            let cut = text::count(repair.cut_bytes, "byte");
            self.note(match &skipping {
                Some(key) => format!(
                    "left out everything from the first record on that does not open or is no whole one: it was sealed with another key, moved or altered, or torn; put the right key into {key}, or read what opens behind it with annals salvage"
                ),
                None => format!("left out a bad end of {cut}; annals resume cuts it off"),
            });
        }
        if repair.closers > 0 {
            let cure = if skipping.is_some() {
                ""
            } else {
                "; annals resume closes it"
            };
            self.note(format!(
                "its last turn is open, this is the history as it stands{cure}"
            ));
        }
        Ok(Exit::Done)
    }
}

impl Messages {
    fn note(&self, what: String) {
        note(&format!("session {:?}: {what}", self.id));
    }
}

/// JSON texts as lines, or as the elements of one array.
struct List {
    array: bool,
    empty: bool,
}

impl List {
    fn new(format: Format) -> Self {
        let array = format == Format::Json;
        Self { array, empty: true }
    }

    fn item(&mut self, output: &mut Output, text: &str) -> Result<(), Failure> {
        if self.array {
            output.bytes(if self.empty { b"[" } else { b"," })?;
        }
        self.empty = false;
        output.bytes(text.as_bytes())?;
        output.bytes(b"\n")
    }

    fn end(self, output: &mut Output) -> Result<(), Failure> {
        match (self.array, self.empty) {
            (false, _) => Ok(()),
            (true, true) => output.bytes(b"[]\n"),
            (true, false) => output.bytes(b"]\n"),
        }
    }
}
