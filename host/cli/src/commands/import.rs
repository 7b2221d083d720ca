use std::borrow::Cow;
use std::path::{Path, PathBuf};

use annals::{Annals, CreateOptions, Session};
use annals_core::fault::{Fault, Reason};
use annals_core::header::Header;
use annals_core::record;
use annals_core::salvage::{HeaderOrigin, Report, Salvage};
use clap::Args;
use serde_json::{Value, json};

use crate::commands::{Run, made, store};
use crate::failure::{self, Exit, Failure};
use crate::input;
use crate::output::{Format, Output, note};
use crate::place::Place;
use crate::signals;
use crate::survey;

/// Store session logs as new sessions, their events kept byte for byte, and print their ids
///
/// A log is checked as it is when a session is opened, but never repaired: one with a torn last line is refused, an
/// open turn is kept as it is, and so is the header with its id. A byte order mark and blank lines at the end are left
/// out. Files are imported in order, up to the first that is refused.
///
/// With --salvage, bad lines are reported and what is readable is stored, as `annals salvage` recovers it.
#[derive(Args, Debug)]
pub struct Import {
    /// Go on after bad lines, and report them
    #[arg(long)]
    salvage: bool,
    /// Session logs: a header line, then one event or packed row a line; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Run for Import {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        // Of several files too, JSON is one value: it grows as they are stored, and ends when no more are.
        let is_list = place.global.format == Format::Json && self.files.len() > 1;
        let mut printed = 0;
        let imported = self.import(place, |id, value| {
            let mut output = Output::new(place.global.format);
            if is_list {
                output.bytes(if printed == 0 { b"[" } else { b"," })?;
            }
            printed += 1;
            made(output, id, value)
        });
        if is_list && printed > 0 {
            let mut output = Output::new(place.global.format);
            output.bytes(b"]\n").and_then(|()| output.end())?;
        }
        imported.map(|()| Exit::Done)
    }
}

impl Import {
    /// Stores file by file and says of each that it is stored.
    fn import(
        &self,
        place: &Place,
        mut say: impl FnMut(&str, &Value) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut store = None;
        for path in &self.files {
            let bytes = signals::idle(|| input::read_file(path))?;
            let (log, report) = if self.salvage {
                let (log, report) = Log::salvage(path, &bytes)?;
                (log, Some(report))
            } else {
                (Log::read(path, &bytes)?, None)
            };
            // Opened late, so that a first file that is no log changes nothing on disk.
            let annals = match &store {
                Some(annals) => annals,
                None => store.insert(place.open_new(|memory| log.enter(memory).map(drop))?),
            };
            let (id, count) = log.store(annals)?;
            let mut value = json!({ "id": id, "file": path.to_string_lossy(), "events": count });
            if let (Some(report), Value::Object(members)) = (&report, &mut value) {
                members.extend(survey::report_json(report));
                note_findings(&log.name, report);
            }
            say(&id, &value)?;
        }
        Ok(())
    }
}

/// A file that has a header and whole lines after it.
struct Log<'a> {
    /// What messages call the file.
    name: String,
    header: Header,
    /// Event lines and packed rows, not looked at yet.
    events: Cow<'a, str>,
}

impl<'a> Log<'a> {
    /// Only what makes the file a session log is checked here: a header line, and whole lines of UTF-8.
    fn read(path: &Path, bytes: &'a [u8]) -> Result<Self, Failure> {
        let name = input::name_of(path);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = input::line_at(bytes, error.valid_up_to());
            let message = "not UTF-8: no session log, or a damaged one";
            Failure::refused(located(&name, line as u64, message))
        })?;
        // What editors and other systems leave around a log is no part of it.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (text, is_torn) = without_blank_end(text);
        let (first, events) = text.split_once('\n').unwrap_or((text, ""));
        let header = Header::parse_line(first).map_err(|fault| no_header(&name, &fault))?;
        if is_torn {
            let line = input::line_at(text.as_bytes(), text.len());
            let message =
                "torn, without a newline at its end; complete it or remove it, then import again";
            return Err(Failure::refused(located(&name, line as u64, message)));
        }
        Ok(Self {
            name,
            header,
            events: Cow::Borrowed(events),
        })
    }

    /// Everything readable, and what is not. Where the header is lost, the file's name is the id.
    fn salvage(path: &Path, bytes: &'a [u8]) -> Result<(Self, Report), Failure> {
        let name = input::name_of(path);
        let bytes = input::without_mark(bytes, true);
        let filled = bytes.trim_ascii_end().len();
        let blank = bytes.get(filled..).unwrap_or_default();
        let end = blank.iter().position(|byte| *byte == b'\n');
        let bytes = bytes
            .get(..end.map_or(bytes.len(), |end| filled + end + 1))
            .unwrap_or(bytes);
        let first = bytes.split_inclusive(|byte| *byte == b'\n').next();
        let (first, rest) = bytes.split_at(first.map_or(0, <[u8]>::len));

        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let mut salvage = Salvage::of_file(&stem.to_string_lossy());
        let read = salvage.first_line(first).and_then(|()| {
            salvage.log(rest, Some(first.len() as u64));
            salvage.finish()
        });
        let salvaged = read.map_err(|fault| no_header(&name, &fault))?;
        salvaged
            .check_unsealed()
            .map_err(|fault| Failure::refused(format!("cannot import {name}: {fault}")))?;
        let report = &salvaged.report;
        if report.header == HeaderOrigin::Rebuilt && report.in_place + report.set_aside == 0 {
            let message =
                format!("cannot import {name}: neither a header nor an event can be read in it");
            return Err(Failure::refused(message));
        }
        let log = Self {
            name,
            header: salvaged.session.header().clone(),
            events: Cow::Owned(salvaged.session.stored_from(0).lines.into_owned()),
        };
        Ok((log, salvaged.report))
    }

    /// Stores the log; its id and the number of its events.
    fn store(&self, annals: &Annals) -> Result<(String, u64), Failure> {
        let session = self.enter(annals)?;
        let (id, count) = (session.id().to_owned(), session.next_seq()?);
        store(&session)?;
        Ok((id, count))
    }

    /// The log as a live session: every check, and nothing stored.
    fn enter(&self, annals: &Annals) -> Result<Session, Failure> {
        let header = self.header.clone();
        let options = CreateOptions {
            id: Some(header.id),
            cwd: header.cwd,
            parent_session: header.parent_session,
            seed_length: header.seed_length,
            delegation_depth: header.delegation_depth,
            created_at_ms: Some(header.created_at_ms),
            seed: Some(self.events.clone().into_owned()),
            extra: header.extra,
        };
        let refusal = |error| refusal(&self.name, &self.events, &error);
        annals.create(options).map_err(refusal)
    }
}

/// The text through the newline of its last line that is not blank, and whether that newline is missing.
fn without_blank_end(text: &str) -> (&str, bool) {
    let filled = text.trim_end_matches(['\n', '\r', ' ', '\t']).len();
    let blank = text.get(filled..).unwrap_or_default();
    match blank.find('\n') {
        Some(newline) => (text.get(..=filled + newline).unwrap_or(text), false),
        None => (text, true),
    }
}

/// Says what was left out or set aside.
fn note_findings(name: &str, report: &Report) {
    for finding in &report.findings {
        note(&format!("{name}: {}", survey::line(finding)));
    }
    let unsaid = report.finding_count - report.findings.len() as u64;
    if unsaid > 0 {
        note(&format!("{name}: and {unsaid} more"));
    }
    if report.finding_count > 0 {
        note(&format!("{name}: {}", survey::summary(report)));
    }
}

fn no_header(name: &str, fault: &Fault) -> Failure {
    let cure = match fault.reason {
        Reason::LogEmpty | Reason::LogHeaderNotJson | Reason::LogHeaderInvalid => {
            "; a session log begins with a header line"
        }
        _ => "",
    };
    let label = fault.reason.label();
    let message = format!("cannot import {name}: {} ({label}){cure}", fault.message);
    Failure::Said(failure::exit_of_input(fault), message)
}

/// Why the store refused a log, with the line in the file where it names an event or a line.
fn refusal(name: &str, events: &str, error: &annals::Error) -> Failure {
    let detail: Value = serde_json::from_str(&error.detail).unwrap_or_default();
    let number = |name| detail.get(name).and_then(Value::as_u64);
    let index = number("index").map(|index| line_of(events, index));
    // Lines count from 1, and the file has its header before the others.
    let line = index.or(number("line")).map(|line| line + 1);
    let message = match line {
        Some(line) => located(name, line, &format!("{} ({})", error.message, error.reason)),
        None => format!("cannot import {name}: {}", error.message),
    };
    Failure::Said(failure::exit_of(error.code), message)
}

/// The line, counted from 1, that holds the event of that index; a line that cannot be read stands for one event.
fn line_of(events: &str, index: u64) -> u64 {
    let (mut line_number, mut count) = (0, 0);
    for line in events.split_terminator('\n') {
        line_number += 1;
        count += record::read_record(line).map_or(1, |record| record.count);
        if count > index {
            break;
        }
    }
    line_number
}

fn located(name: &str, line: u64, message: &str) -> String {
    let cure = "--salvage goes on after what is bad";
    format!("cannot import {name}: line {line}: {message}; {cure}")
}
