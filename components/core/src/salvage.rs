//! Everything readable out of a damaged log, as a log that opens.
//!
//! Every event keeps its seq and its bytes. What stands in the order of the file is kept in place: of events that
//! contradict each other, as many as possible, and of two with one seq the first. A hole is filled by `salvage/gap`
//! events, one for each missing seq. An event that cannot stand in its place goes to the end as `salvage/set-aside`,
//! its line as a string; a line that is there already is not repeated. Of a line that is no event, every whole event
//! in it is kept: what is fused with a stub, lies behind zeros or between bytes that are no UTF-8, and the leading
//! events of a packed row that was cut short.
//!
//! A seq may be damaged too, and gap events must not be made without bound. A hole is filled if its events could have
//! stood in the unreadable bytes there ([`EVENT_BYTES_MIN`] each); beyond that, for bytes that vanished, all holes
//! together may take as many gap events as the log has readable events, or [`VANISHED_EVENTS`] if these are more. An
//! event further ahead is set aside.
//!
//! Bytes that repairs cut off go on in place where the log ends at or before the place that they were cut from; the
//! log went on without them otherwise, and their events are set aside.
//!
//! The result depends on the bytes alone, and salvaging it again gives the same. Memory: the readable lines and one
//! entry for each. Time: linear, but for the order of contradicting seqs (n log n). Absent: I/O, a clock.

mod chain;
mod header;
mod judge;
mod lines;
mod rebuild;
mod report;
mod shards;
mod torn_row;

use crate::fault::{Fault, Reason};
use crate::header::Header;
use crate::sealed::{self, Sealed};
use crate::session::Session;

pub use report::{FINDINGS_MAX, Finding, HeaderOrigin, Report};

use header::Origin;
use lines::{Item, Lines};

/// The type of the events that fill a hole: `{reason, line, byte, length}` of what was found there, and `cut` where it
/// lay among bytes that a repair had cut off.
pub const GAP: &str = "salvage/gap";

/// The type of the events that hold what cannot stand in its place: `{reason, lineNumber, byte, line}`, `line` being
/// the whole line as a string, and `cut` as in [`GAP`].
pub const SET_ASIDE: &str = "salvage/set-aside";

/// The least that one event takes on the medium: a text and a step in time of a packed row.
pub const EVENT_BYTES_MIN: u64 = r#""",0,"#.len() as u64;

/// How many events may have vanished without a trace from a log with fewer readable ones.
pub const VANISHED_EVENTS: u64 = 1024;

/// Takes a damaged log in, in order: the header, the log, then what was cut from it.
#[derive(Debug)]
pub struct Salvage {
    origin: Origin,
    lines: Lines,
}

/// A log that opens, and what it was made of.
#[derive(Clone, Debug)]
pub struct Salvaged {
    /// The header and every event; see [`Session::log`] for its lines.
    pub session: Session,
    /// What was found and done.
    pub report: Report,
}

impl Salvaged {
    /// Refuses a sealed log with `log-sealed`: its header says that it is one or, where that is lost, a record does.
    pub fn check_unsealed(&self) -> Result<(), Fault> {
        let header = self.session.header();
        let is_lost = self.report.header == HeaderOrigin::Rebuilt;
        let mut records = self.session.log().records_from(0);
        let is_sealed = sealed::is_sealed(header)
            || (is_lost && records.any(|record| Sealed::read(record.text).is_some()));
        match is_sealed {
            true => Err(sealed::refusal(&header.id)),
            false => Ok(()),
        }
    }
}

impl Salvage {
    /// The log that is stored as session `id`, whatever its header says.
    pub fn of_session(id: &str) -> Salvage {
        Salvage {
            origin: Origin::of_session(id),
            lines: Lines::default(),
        }
    }

    /// A log from elsewhere: its header names the session, `id` does where that is lost.
    pub fn of_file(id: &str) -> Salvage {
        Salvage {
            origin: Origin::of_file(id),
            lines: Lines::default(),
        }
    }

    /// A header that was read already, from a first line of `bytes` bytes with its newline.
    pub fn header(&mut self, header: Header, bytes: u64) {
        self.origin.read(header);
        self.lines.start(bytes);
    }

    /// The first line as it stands, with its newline if it has one; empty for an empty log. Events in it are kept.
    ///
    /// Fails with `log-version-unsupported` when it is a header of another format version.
    pub fn first_line(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.origin.first_line(bytes)? {
            self.lines.first(bytes);
        } else {
            self.lines.start(bytes.len() as u64);
        }
        Ok(())
    }

    /// Lines of the log, which may end in the middle of one. `at_byte`: where they begin on the medium; none where
    /// they follow on what came before.
    pub fn log(&mut self, bytes: &[u8], at_byte: Option<u64>) {
        self.lines.take(bytes, at_byte);
    }

    /// Bytes that were cut from the log, after all of the log. `at_byte`: where they were cut from.
    pub fn cut(&mut self, bytes: &[u8], at_byte: Option<u64>) {
        self.lines.take_cut(bytes, at_byte);
    }

    /// The log that opens.
    ///
    /// Fails with `header-version`, when the header that was given is one of another format version, and with
    /// `limit-reached`, when the result is more than a log may hold.
    pub fn finish(mut self) -> Result<Salvaged, Fault> {
        self.lines.end();
        let items = self.lines.items;
        let created_at_ms = first_time_ms(&items);
        let (header, origin, finding) = self.origin.header(created_at_ms);
        header.check()?;
        rebuild::rebuild(header, origin, finding, &items)
    }
}

fn first_time_ms(items: &[Item]) -> u64 {
    let mut times = items.iter().filter_map(|item| match item {
        Item::Record(record) if record.fault.is_none() => Some(record.time_ms),
        Item::Record(_) | Item::Damage(_) => None,
    });
    times.next().unwrap_or(0)
}

/// The label under which what is no event is reported, the same as when a log is opened.
const UNREADABLE: Reason = Reason::LogCorruptUnparsable;
/// The label under which an event in a wrong place is reported.
const MISPLACED: Reason = Reason::LogCorruptSeqGap;
