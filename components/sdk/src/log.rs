//! A log kept as one run of bytes: a header line, then one record a line, each ended by a newline.
//!
//! For backends that have all of a log in hand, as a file that they read or as text in memory. Cursors are offsets in
//! bytes. Nothing here reads or writes a medium.

use annals_core::fault::{Class, quoted};
use annals_core::header::Header;
use annals_core::record::{Record, read_record};

use crate::Result;
use crate::names;
use crate::types::{
    Batch, Error, ErrorCode, Page, SessionEntry, SessionHeader, SessionStatus, SessionSummary,
};

/// The bytes of a new log.
///
/// # Errors
/// `invalid`: the header breaks a rule; as [`Batch::check`], for a batch that begins at 0.
pub fn begin(header: &SessionHeader, first: &Batch, record_bytes_max: u64) -> Result<String> {
    let id = header.id.as_str();
    if id.is_empty() {
        return Err(Error::empty_id());
    }
    let header = Header::from(header.clone());
    header.check()?;
    first.check(id, 0, record_bytes_max)?;
    Ok(format!("{}\n{}", header.line(), first.lines))
}

/// The next seq of a log, read from its last line.
///
/// # Errors
/// `corrupt`: the end is no whole record, or there is no header.
pub fn next_seq(id: &str, log: &[u8]) -> Result<u64> {
    let damaged = |reason: &str, what: &str| {
        let message = format!(
            "the log of session {} {what}; truncate it first",
            quoted(id)
        );
        Error::new(ErrorCode::Corrupt, reason, message).fact("id", id)
    };
    let body = match log.split_last() {
        None => return Err(damaged("log-empty", "is empty")),
        Some((b'\n', body)) => body,
        Some(_) => return Err(damaged("log-torn", "does not end in a newline")),
    };
    let start = last_newline(body).map_or(0, |at| at + 1);
    let line = std::str::from_utf8(body.get(start..).unwrap_or_default());
    let line =
        line.map_err(|_| damaged("log-corrupt-unparsable", "ends in a line that is no UTF-8"))?;
    if start == 0 {
        Header::parse_line(line)?;
        return Ok(0);
    }
    let record = read_record(line)
        .map_err(|_| damaged("log-corrupt-unparsable", "ends in a line that is no record"))?;
    Ok(record.first_seq + record.count)
}

/// A page of a log, as `load` answers it.
///
/// # Errors
/// `invalid`: no record begins at `cursor`.
pub fn page(id: &str, log: &[u8], cursor: u64, bytes_max: u32) -> Result<Page> {
    if cursor > 0 {
        let start = line_start(log, cursor).ok_or_else(|| Error::bad_cursor(id))?;
        return Ok(records(log, start, bytes_max));
    }
    let end = first_newline(log).map_or(log.len(), |at| at + 1);
    match header_of(log) {
        Some(header) => Ok(Page {
            header: Some(header.into()),
            ..records(log, end, bytes_max)
        }),
        // not a header: the store says what it is
        None => Ok(other_bytes(log, 0, end)),
    }
}

/// The records of a page that begins at byte `start`, where a record begins: whole lines together, whatever is no
/// whole line of UTF-8 alone, one record at least if there is one. For a log without a header line too.
pub fn records(log: &[u8], start: usize, bytes_max: u32) -> Page {
    let rest = log.get(start..).unwrap_or_default();
    let within = rest.get(..bytes_max as usize).unwrap_or(rest);
    let whole = last_newline(within).or_else(|| first_newline(rest));
    let Some(whole) = whole else {
        return other_bytes(log, start, log.len());
    };
    let lines = rest.get(..=whole).unwrap_or_default();
    let valid = match std::str::from_utf8(lines) {
        Ok(lines) => return whole_lines(log, start, lines),
        Err(error) => lines.get(..error.valid_up_to()).unwrap_or_default(),
    };
    let before = last_newline(valid).and_then(|at| std::str::from_utf8(valid.get(..=at)?).ok());
    match before {
        Some(before) => whole_lines(log, start, before),
        None => {
            let length = first_newline(lines).map_or(lines.len(), |at| at + 1);
            other_bytes(log, start, start + length)
        }
    }
}

/// A page of what `truncate` saved, as `load_cut` answers it.
///
/// # Errors
/// `invalid`: there are fewer bytes.
pub fn cut_page(id: &str, cut: &[u8], cursor: u64, bytes_max: u32) -> Result<Page> {
    let start = usize::try_from(cursor).ok();
    let start = start.filter(|start| *start == 0 || *start < cut.len());
    let start = start.ok_or_else(|| Error::bad_cursor(id))?;
    let end = start.saturating_add(bytes_max.max(1) as usize);
    Ok(Page {
        // not where they were in the log
        at_byte: None,
        ..other_bytes(cut, start, end.min(cut.len()))
    })
}

/// The bytes of a log that hold its header and its first events, and those that follow, which may be anything.
///
/// # Errors
/// `invalid`: fewer events can be read, or a row would be split; `corrupt`: there is no header.
pub fn split<'l>(id: &str, log: &'l [u8], keep_events: u64) -> Result<(&'l [u8], &'l [u8])> {
    let start = first_newline(log).map_or(log.len(), |at| at + 1);
    let header = log.get(..start).unwrap_or_default();
    Header::parse_line(
        std::str::from_utf8(header)
            .unwrap_or_default()
            .trim_end_matches('\n'),
    )?;
    let (kept, _) = keep(id, log.get(start..).unwrap_or_default(), keep_events)?;
    Ok(log.split_at_checked(start + kept).unwrap_or((log, &[])))
}

/// How many bytes the first events of a log without its header line have, and the last record among them.
///
/// # Errors
/// `invalid`: fewer events can be read, or a row would be split.
pub fn keep(id: &str, records: &[u8], keep_events: u64) -> Result<(usize, Option<Record>)> {
    let (mut events, mut bytes, mut last) = (0, 0, None);
    for line in records.split_inclusive(|byte| *byte == b'\n') {
        if events >= keep_events {
            break;
        }
        // nothing behind a line that cannot be read can be kept
        let text = line
            .strip_suffix(b"\n")
            .and_then(|line| std::str::from_utf8(line).ok());
        let record = text.and_then(|line| read_record(line).ok());
        let Some(record) = record.filter(|record| record.first_seq == events) else {
            break;
        };
        events += record.count;
        bytes += line.len();
        last = Some(record);
    }
    if events == keep_events {
        return Ok((bytes, last));
    }
    let message = format!(
        "session {} has no record that ends at {keep_events} events",
        quoted(id)
    );
    let error = Error::new(ErrorCode::Invalid, "truncate-not-a-border", message);
    Err(error
        .fact("id", id)
        .fact("actual", events)
        .fact("expected", keep_events))
}

/// One line of a listing: what header and end of a log show. `name` is the file name that [`names::of_id`] gave; it
/// stands for the id where the header cannot be read or is of another session.
pub fn entry(name: &str, log: &[u8], summary: SessionSummary) -> SessionEntry {
    let in_place = || names::id_of(name).unwrap_or_else(|| name.to_owned());
    let header = header_of(log);
    let is_in_place = |header: &Header| names::of_id(&header.id).as_deref() == Ok(name);
    let id = match header.as_ref().filter(|header| is_in_place(header)) {
        Some(header) => header.id.clone(),
        None => in_place(),
    };
    let last = last_record(log);
    let (status, note) = match (&header, next_seq(&id, log)) {
        (None, _) => unreadable(log),
        (Some(header), _) if header.id != id => (
            SessionStatus::Damaged,
            Some(format!(
                "the header names another session, {}",
                quoted(&header.id)
            )),
        ),
        (Some(_), Err(error)) => (SessionStatus::Damaged, Some(error.message)),
        (Some(_), Ok(_)) => (SessionStatus::Ok, None),
    };
    SessionEntry {
        id,
        header: header.map(Into::into),
        summary,
        updated_at_ms: last.map(|record| record.last_time_ms),
        status,
        note,
    }
}

fn unreadable(log: &[u8]) -> (SessionStatus, Option<String>) {
    let line = log.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else {
        return (
            SessionStatus::Damaged,
            Some("the header line is no UTF-8".to_owned()),
        );
    };
    match Header::parse_line(line) {
        Err(fault) if fault.class() == Class::UnsupportedVersion => {
            (SessionStatus::Unsupported, Some(fault.message))
        }
        Err(fault) => (SessionStatus::Damaged, Some(fault.message)),
        Ok(_) => (
            SessionStatus::Damaged,
            Some("the header line has no end".to_owned()),
        ),
    }
}

fn header_of(log: &[u8]) -> Option<Header> {
    let line = log.get(..first_newline(log)?)?;
    Header::parse_line(std::str::from_utf8(line).ok()?).ok()
}

fn last_record(log: &[u8]) -> Option<Record> {
    let body = log.strip_suffix(b"\n")?;
    let line = body.get(last_newline(body)? + 1..)?;
    read_record(std::str::from_utf8(line).ok()?).ok()
}

fn line_start(log: &[u8], cursor: u64) -> Option<usize> {
    let start = usize::try_from(cursor)
        .ok()
        .filter(|start| *start < log.len())?;
    (log.get(start.checked_sub(1)?) == Some(&b'\n')).then_some(start)
}

fn whole_lines(log: &[u8], start: usize, lines: &str) -> Page {
    Page {
        header: None,
        at_byte: Some(start as u64),
        lines: lines.to_owned(),
        raw: None,
        next: next(log, start + lines.len()),
    }
}

fn other_bytes(log: &[u8], start: usize, end: usize) -> Page {
    let raw = log.get(start..end).unwrap_or_default();
    Page {
        header: None,
        at_byte: Some(start as u64),
        lines: String::new(),
        raw: (!raw.is_empty()).then(|| raw.to_vec()),
        next: next(log, end),
    }
}

fn next(log: &[u8], end: usize) -> Option<u64> {
    (end < log.len()).then_some(end as u64)
}

fn first_newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

fn last_newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n')
}
