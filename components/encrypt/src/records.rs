//! Stored lines: sealed on their way down, opened on their way up.

use annals_core::event::Envelope;
use annals_core::fault::quoted;
use annals_core::header::SAFE_INTEGER_MAX;
use annals_core::record::read_record;
use annals_core::sealed::Sealed;
use annals_sdk::Result;
use annals_sdk::types::{Batch, Error, ErrorCode};

use crate::cipher::{ADDED_BYTES, Bound};
use crate::settings::Unopened;
use crate::{Ready, corrupt, place};

/// Stands for a record that does not open, where those are skipped; no JSON.
const SKIPPED: &str = "a record that does not open";

/// How every sealed line begins, of an event or of a row.
const BEGIN: &[u8] = b"{\"type\":\"annals/sealed";

/// How every sealed line ends.
const END: &[u8] = b"\"}";

/// The longest record, its newline included, that is no longer than `sealed_bytes_max` once it is sealed.
pub(crate) fn plain_bytes_max(sealed_bytes_max: u64) -> u64 {
    // three bytes become four letters, and what is left over begins another four
    let data_bytes_max = sealed_bytes_max.saturating_sub(longest_frame()) / 4 * 3;
    // the newline is not sealed, it is in the frame
    data_bytes_max.saturating_sub(ADDED_BYTES) + 1
}

/// A sealed line without its data, its newline included.
fn longest_frame() -> u64 {
    let mut line = String::new();
    let longest = Sealed {
        first_seq: SAFE_INTEGER_MAX,
        row_count: Some(SAFE_INTEGER_MAX),
        time_ms: SAFE_INTEGER_MAX,
        data: "",
    };
    longest.push_to(&mut line);
    line.len() as u64
}

/// The batch as it is stored: as many lines, which stand for the same events.
pub(crate) fn sealed(ready: &Ready, id: &str, batch: &Batch) -> Result<Batch> {
    let invalid = |what: &str| {
        let message = format!("the batch for session {} {what}", quoted(id));
        Error::new(ErrorCode::Invalid, "batch-invalid", message)
    };
    if !batch.lines.is_empty() && !batch.lines.ends_with('\n') {
        return Err(invalid("does not end in a newline"));
    }
    let mut lines = String::with_capacity(batch.lines.len() / 3 * 4);
    let mut seq = batch.first_seq;
    for line in batch.lines.split_terminator('\n') {
        check_length(ready, id, line)?;
        let (row_count, time_ms) = match read_record(line) {
            Ok(record) if record.first_seq == seq => {
                let row_count = record.is_row.then_some(record.count);
                (row_count, record.last_time_ms)
            }
            Ok(_) => return Err(invalid("does not hold the seqs that it says")),
            // No log is so long: the backend below refuses it, in its own words.
            Err(_) if batch.first_seq > SAFE_INTEGER_MAX => (None, batch.last_time_ms),
            Err(fault) => {
                let cause = fault.message;
                return Err(invalid(&format!("has a line that is no record: {cause}")));
            }
        };
        let first_seq = seq;
        seq = seq.saturating_add(row_count.unwrap_or(1));
        let bound = Bound::Record {
            id,
            first_seq,
            row_count,
            time_ms,
        };
        let data = ready.cipher.seal(bound, line)?;
        let sealed = Sealed {
            first_seq,
            row_count,
            time_ms,
            data: &data,
        };
        sealed.push_to(&mut lines);
    }
    Ok(Batch { lines, ..*batch })
}

fn check_length(ready: &Ready, id: &str, line: &str) -> Result<()> {
    let (bytes, max) = (line.len() as u64 + 1, ready.record_bytes_max);
    if bytes <= max {
        return Ok(());
    }
    let message = format!(
        "a record for session {} has {bytes} bytes, at most {max} can be sealed; split the event",
        quoted(id)
    );
    Err(Error::new(ErrorCode::Limit, "limit-reached", message)
        .fact("limit", "record-bytes-max")
        .fact("max", max)
        .fact("actual", bytes))
}

/// Where in a log lines stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    /// The seq that is due; none where nobody knows, as behind a bad line.
    pub(crate) seq: Option<u64>,
    /// Of the next line, counted from 1; the header is line 1.
    pub(crate) line: Option<u64>,
}

impl At {
    /// Behind the header.
    pub(crate) const START: At = At {
        seq: Some(0),
        line: Some(2),
    };

    /// Behind a first line that is no header, but may have been a record.
    pub(crate) const LOST_START: At = At {
        seq: None,
        line: Some(2),
    };

    /// Nobody knows where.
    pub(crate) const SOMEWHERE: At = At {
        seq: None,
        line: None,
    };

    /// On to the next line, without opening anything.
    pub(crate) fn pass(&mut self, line: &[u8]) {
        let sealed = text_of(line).and_then(Sealed::read);
        self.seq = sealed.map(|sealed| sealed.first_seq.saturating_add(sealed.count()));
        self.line = self.line.map(|line| line + 1);
    }
}

/// Opens lines in their order.
pub(crate) struct Opening<'a> {
    pub(crate) ready: &'a Ready,
    pub(crate) id: &'a str,
    pub(crate) at: At,
    /// Whether each line has to follow on the one before it. In what was cut off several times it does not.
    pub(crate) is_log: bool,
}

impl Opening<'_> {
    /// Opens a whole line, its newline excluded. None: it never was a record, such as a line that a crash tore, so it is
    /// handed on as it is.
    ///
    /// # Errors
    /// `corrupt`: it is a record, and none that was sealed for this place.
    pub(crate) fn line(&mut self, line: &[u8]) -> Result<Option<String>> {
        let opened = match (self.judge(line), self.ready.unopened) {
            (Err(_), Unopened::Skip) => Some(SKIPPED.to_owned()),
            (judged, Unopened::Refuse | Unopened::Skip) => judged?,
        };
        self.at.pass(line);
        Ok(opened)
    }

    fn judge(&self, line: &[u8]) -> Result<Option<String>> {
        match text_of(line).and_then(Sealed::read) {
            Some(sealed) => self.sealed(&sealed).map(Some),
            None if is_whole(line) => Err(self.refused(None)),
            None if is_object(line) => Err(self.not_sealed(line)),
            None => Ok(None),
        }
    }

    fn sealed(&self, sealed: &Sealed<'_>) -> Result<String> {
        let Sealed {
            first_seq,
            row_count,
            time_ms,
            data,
        } = *sealed;
        // one that opens is what it says; where it belongs is for salvage to say
        let is_due = match self.ready.unopened {
            Unopened::Refuse if self.is_log => self.at.seq.is_none_or(|seq| seq == first_seq),
            Unopened::Refuse | Unopened::Skip => true,
        };
        let bound = Bound::Record {
            id: self.id,
            first_seq,
            row_count,
            time_ms,
        };
        let opened = self.ready.cipher.open(bound, data).filter(|_| is_due);
        opened.ok_or_else(|| self.refused(Some(first_seq)))
    }

    fn refused(&self, seq: Option<u64>) -> Error {
        self.ready.unopened(self.id, self.at.line, seq)
    }

    fn not_sealed(&self, line: &[u8]) -> Error {
        let seq = text_of(line).and_then(|line| read_record(line).ok());
        let seq = seq.map(|record| record.first_seq);
        let message = format!(
            "session {}: {} is not sealed, in a log that is: it was put there without encrypt; nothing was changed",
            quoted(self.id),
            place(self.at.line, seq)
        );
        corrupt("record-not-sealed", message, self.id, self.at.line, seq)
    }
}

fn text_of(line: &[u8]) -> Option<&str> {
    std::str::from_utf8(line).ok()
}

/// Whether a line that is not spelled as a sealed one was one as a whole. What a crash leaves of one lacks its end, or
/// holds zeros or the start of another.
fn is_whole(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(BEGIN) else {
        return false;
    };
    line.ends_with(END) && !rest.contains(&0) && !rest.contains(&b'{')
}

/// Whether the store could take the line for an event.
fn is_object(line: &[u8]) -> bool {
    let envelope = text_of(line).map(Envelope::read);
    envelope.is_some_and(|read| read.is_ok_and(|envelope| envelope.value.is_object()))
}
