//! Packed rows: one stored line for a run of streamed deltas of the same block.
//!
//! A row keeps what its events share once, and of each event its text and its step in time. It stands for exactly the
//! bytes of its events in their usual spelling; a run spelled in any other way is not packed.

mod canonical;
mod delta;
mod kind;
mod row;
mod spans;

pub use kind::RowKind;
pub use row::{Row, is_row};
pub(crate) use spans::RowSpans;

pub(crate) use delta::{DELTA_HEAD, delta_draft_rest, read_delta_in, skip_delta};

use crate::fault::{Fault, Reason};
use crate::json::Value;
use crate::record::{Line, read_line};
use delta::Delta;

/// The shortest run that becomes a row.
pub const RUN_EVENTS_MIN: usize = 3;

/// The longest run that becomes one row; a longer one becomes several. Whoever reads a page out of a row reads the row.
pub const RUN_EVENTS_MAX: usize = 1 << 14;

/// Packs the runs of `lines` (JSON Lines) into rows; every other line stays as it is. Each line of the result ends
/// with a newline. Expanding the result gives the same bytes.
///
/// `log-corrupt-unparsable`: a line is no JSON; fact `line` counts from 1 within `lines`.
pub fn pack(lines: &str) -> Result<String, Fault> {
    let mut out = String::with_capacity(lines.len());
    let mut run: Vec<Delta<'_>> = Vec::new();
    for (position, line) in lines.split_terminator('\n').enumerate() {
        let Some(delta) = Delta::read(line) else {
            check_line(line, position)?;
            write_run(&run, &mut out);
            run.clear();
            push_line(line, &mut out);
            continue;
        };
        let is_next = run.last().is_none_or(|last| delta.follows(last));
        if !is_next || run.len() == RUN_EVENTS_MAX {
            write_run(&run, &mut out);
            run.clear();
        }
        run.push(delta);
    }
    write_run(&run, &mut out);
    Ok(out)
}

/// Expands the rows of `lines` (JSON Lines) into event lines; every other line stays as it is.
///
/// `log-corrupt-unparsable`: a line is no JSON or a malformed row; fact `line` counts from 1 within `lines`.
pub fn unpack(lines: &str) -> Result<String, Fault> {
    let mut out = String::with_capacity(lines.len());
    for (position, line) in lines.split_terminator('\n').enumerate() {
        match read_line(line).map_err(|fault| fault.number("line", position as u64 + 1))? {
            Line::Row(row) => row.expand(&mut out),
            Line::Event(_) => push_line(line, &mut out),
        }
    }
    Ok(out)
}

/// Appends the event lines of a row to `out` and says how many they are.
///
/// The faults are those of [`Row::read`]; `out` is as before then. `row-envelope`, too, when the value is no row.
pub fn expand_row(value: Value<'_>, out: &mut String) -> Result<u64, Fault> {
    let row = Row::read(value)?;
    row.expand(out);
    Ok(row.count)
}

fn check_line(line: &str, position: usize) -> Result<(), Fault> {
    match crate::event::Envelope::read(line) {
        Ok(_) => Ok(()),
        Err(fault) => {
            let message = format!("the line is {fault}");
            Err(Fault::new(Reason::LogCorruptUnparsable, message)
                .number("line", position as u64 + 1))
        }
    }
}

fn write_run(run: &[Delta<'_>], out: &mut String) {
    match run {
        [first, ..] if run.len() >= RUN_EVENTS_MIN => delta::write_row(first, run, out),
        _ => run.iter().for_each(|delta| push_line(delta.line, out)),
    }
}

fn push_line(line: &str, out: &mut String) {
    out.push_str(line);
    out.push('\n');
}
