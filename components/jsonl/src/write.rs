//! Storing: a new log appears whole or not at all, a batch is at the end whole or not at all.

use annals_core::fault::{Fault, quoted};
use annals_core::header::Header;
use annals_core::record::{Record, read_record};
use annals_sdk::Result;
use annals_sdk::types::{Batch, Error, ErrorCode, SessionHeader};

use crate::RECORD_BYTES_MAX;
use crate::fault;
use crate::files::{Handle, Kind, Mode};
use crate::lines::{self, HEADER_BYTES_MAX, LastLine};
use crate::paths;
use crate::place::Place;
use crate::root::{End, Root};

/// How many buckets are remembered as durable.
const BUCKETS_MAX: usize = 4096;

/// Up to this many bytes, header and first batch are one write.
const ONE_WRITE_BYTES: usize = 1 << 20;

impl Root {
    /// Stores header and first batch as a new log.
    pub fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        let header = Header::from(header.clone());
        header.check()?;
        let id = header.id.as_str();
        let name = paths::encode_id(id).map_err(fault::of_empty_id)?;
        let line = format!("{}\n", header.line());
        let length = line.len() as u64;
        if length > HEADER_BYTES_MAX {
            return Err(fault::of_limit(
                "header-bytes-max",
                "a header",
                length,
                HEADER_BYTES_MAX,
            ));
        }
        check_batch(id, first, 0, RECORD_BYTES_MAX)?;
        self.check_lease(id, token)?;
        self.settle_doubt(id, token)?;
        if self.find(id)?.is_some() {
            return Err(Error::already_exists(id));
        }
        let bucket = paths::bucket(header.cwd.as_deref());
        self.ensure_bucket(&bucket)?;
        let place = Place { bucket, name };
        if self.has_evicted(id) {
            self.sweep(&place)?;
        }
        let temporary = self.temporary(&place);
        let published = self
            .write_new(&temporary, &line, &first.lines)
            .and_then(|bytes| {
                self.check_lease(id, token)?;
                Ok((self.publish_log(&temporary, place, id, token)?, bytes))
            });
        self.discard(&temporary);
        let (place, bytes) = published?;
        if let Err(error) = self.settle_names(&place) {
            self.doubt(id);
            // neither header nor batch: the name may or may not survive, so it must go, unless another writer has it now
            self.check_lease(id, token)?;
            self.discard(&place.log());
            return Err(error);
        }
        self.check_lease(id, token)?;
        let next_seq = first.count;
        self.remember(id, place, Some(End { bytes, next_seq }));
        // it was looked for under this lease
        self.note_sole(id, true);
        Ok(())
    }

    /// Stores a batch at the end of a log.
    pub fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        self.settle_doubt(id, token)?;
        // the log first, then the token: who takes over meanwhile puts another file in this one's place
        let (place, mut log) = self.open_to_append(id)?;
        let relative = place.log();
        self.check_lease(id, token)?;
        let before = log
            .bytes()
            .map_err(|error| fault::of_reading(&relative, &error))?;
        let end = match self.known_end(id) {
            Some(end) if end.bytes == before => end,
            Some(_) | None => self.end_of(id, &relative, before)?,
        };
        check_batch(id, events, end.next_seq, RECORD_BYTES_MAX)?;
        // what fails from here on is looked at on the medium by the next append
        self.forget_end(id);
        let bytes = before + events.lines.len() as u64;
        if !events.lines.is_empty() {
            if let Err(error) =
                self.write_end(log.as_mut(), &relative, events.lines.as_bytes(), bytes)
            {
                // what failed once is not trusted again
                drop(log);
                return Err(self.roll_back(id, token, &relative, before, &events.lines, error));
            }
            self.check_lease(id, token)?;
        }
        let next_seq = end.next_seq + events.count;
        self.remember(id, place, Some(End { bytes, next_seq }));
        Ok(())
    }

    fn open_to_append(&mut self, id: &str) -> Result<(Place, Box<dyn Handle>)> {
        if let Some(place) = self.known_sole(id).cloned()
            && self.kind(&place.log())? == Some(Kind::File)
        {
            match self.files.open(&self.path(&place.log()), Mode::Append) {
                Ok(log) => return Ok((place, log)),
                // found again or found missing
                Err(_) => self.forget(id),
            }
        }
        let place = self.place_to_write(id)?;
        let log = self.open_to_write(&place.log(), Mode::Append)?;
        Ok((place, log))
    }

    fn ensure_bucket(&mut self, bucket: &str) -> Result<()> {
        match self.kind(bucket)? {
            Some(Kind::Directory) => Ok(()),
            Some(Kind::File | Kind::Link | Kind::Other) => {
                let message = format!("{bucket:?} is no directory; move it away");
                Err(Error::new(
                    ErrorCode::Other,
                    "bucket-not-a-directory",
                    message,
                ))
            }
            None => {
                // somebody may have removed one that was durable
                self.settled.remove(bucket);
                self.ensure_root()?;
                self.make_directory(bucket)
            }
        }
    }

    // The length of the file.
    fn write_new(&self, relative: &str, header: &str, lines: &str) -> Result<u64> {
        let mut file = self.open_to_write(relative, Mode::New)?;
        let pieces = if header.len() + lines.len() <= ONE_WRITE_BYTES {
            [&format!("{header}{lines}"), ""]
        } else {
            [header, lines]
        };
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            file.write_all(piece.as_bytes())
                .map_err(|error| fault::of_writing(relative, piece.len(), &error))?;
        }
        self.sync(file.as_mut(), relative)?;
        Ok((header.len() + lines.len()) as u64)
    }

    /// Makes a log's name durable, and those of the directories that it is in. A bucket that is there already may be new
    /// all the same: whoever made it may not have synced the root yet.
    pub(crate) fn settle_names(&mut self, place: &Place) -> Result<()> {
        self.settle_above()?;
        if self.settled.is_empty() {
            self.settle_foreign_above();
        }
        self.sync_directory(&place.bucket)?;
        if self.settled.contains(&place.bucket) {
            return Ok(());
        }
        self.sync_directory("")?;
        if self.settled.len() < BUCKETS_MAX {
            self.settled.insert(place.bucket.clone());
        }
        Ok(())
    }

    fn write_end(
        &self,
        log: &mut dyn Handle,
        relative: &str,
        batch: &[u8],
        end: u64,
    ) -> Result<()> {
        let failed = |error| fault::of_writing(relative, batch.len(), &error);
        log.write_all(batch).map_err(failed)?;
        let bytes = log.bytes().map_err(failed)?;
        if bytes != end {
            let message = format!("{relative:?} has {bytes} bytes where {end} are due");
            return Err(Error::new(ErrorCode::Other, "io-length", message));
        }
        self.sync(log, relative)
    }

    // After a failed write or sync the kernel may show what the medium does not have: the batch must go, through a handle
    // that did not fail. Bytes that are not of the batch are somebody else's: then nothing goes, and the next append
    // looks at what is there.
    fn roll_back(
        &mut self,
        id: &str,
        token: &str,
        relative: &str,
        before: u64,
        batch: &str,
        error: Error,
    ) -> Error {
        // opened first, as to append: the log of whoever takes over meanwhile is another file
        let opened = self.open_to_write(relative, Mode::Overwrite);
        if let Err(busy) = self.check_lease(id, token) {
            return busy;
        }
        let is_ours = self.ends_with_part_of(relative, before, batch.as_bytes());
        let also = match (opened, is_ours) {
            (Ok(mut log), Ok(true)) => match log.set_bytes(before).and_then(|()| log.sync()) {
                // who took over before that has a copy, with the batch
                Ok(()) => return self.check_lease(id, token).err().unwrap_or(error),
                Err(also) => format!(
                    "taking the batch back failed too: {}",
                    fault::words_of(&also)
                ),
            },
            (Ok(_), Ok(false)) => {
                "the batch was not taken back, others write into the log".to_owned()
            }
            (Err(also), _) | (_, Err(also)) => {
                format!("the batch was not taken back: {}", also.message)
            }
        };
        self.doubt(id);
        Error {
            message: format!(
                "{}; {also}; some of it may be stored, so look at the end of the session before it is appended again",
                error.message
            ),
            ..error
        }
    }

    fn ends_with_part_of(&self, relative: &str, before: u64, batch: &[u8]) -> Result<bool> {
        let failed = |error| fault::of_reading(relative, &error);
        let mut log = self.open_to_read(relative)?;
        let written = log.bytes().map_err(failed)?.checked_sub(before);
        let Some(part) = written.and_then(|written| batch.get(..lines::usize_of(written))) else {
            return Ok(false);
        };
        let mut at = before;
        let mut found = Vec::new();
        for piece in part.chunks(ONE_WRITE_BYTES) {
            found.clear();
            lines::read_more(log.as_mut(), at, piece.len(), &mut found).map_err(failed)?;
            // zeros stand for what the kernel has lost
            let mut pairs = found.iter().zip(piece);
            if found.len() != piece.len() || !pairs.all(|(is, due)| is == due || *is == 0) {
                return Ok(false);
            }
            at += piece.len() as u64;
        }
        Ok(true)
    }

    fn end_of(&self, id: &str, relative: &str, bytes: u64) -> Result<End> {
        let mut log = self.open_to_read(relative)?;
        let last = lines::last_line(log.as_mut(), bytes, RECORD_BYTES_MAX)
            .map_err(|error| fault::of_reading(relative, &error))?;
        let damaged = |reason: &str, what: &str| {
            // what has no header cannot be resumed
            let cure = if bytes == 0 {
                "delete the session"
            } else {
                "resume the session to cut it"
            };
            let message = format!("the log of session {} {what}; {cure}", quoted(id));
            Error::new(ErrorCode::Corrupt, reason, message).fact("path", relative)
        };
        match last {
            LastLine::None => Err(damaged("log-empty", "is empty")),
            LastLine::Torn => Err(damaged("log-torn", "does not end in a newline")),
            LastLine::Longer => Err(damaged("log-corrupt-unparsable", "ends in an endless line")),
            LastLine::Whole { start, line } => {
                let text = lines::text_of(&line).ok_or_else(|| {
                    damaged("log-corrupt-unparsable", "ends in a line that is no UTF-8")
                })?;
                if start == 0 {
                    Header::parse_line(text)?;
                    return Ok(End { bytes, next_seq: 0 });
                }
                let record = read_record(text).map_err(|_| {
                    damaged("log-corrupt-unparsable", "ends in a line that is no record")
                })?;
                Ok(End {
                    bytes,
                    next_seq: record.first_seq + record.count,
                })
            }
        }
    }
}

/// Checks what costs little: where the batch begins and ends, and how long its records are.
pub(crate) fn check_batch(id: &str, batch: &Batch, next_seq: u64, bytes_max: u64) -> Result<()> {
    if batch.first_seq != next_seq {
        return Err(Error::seq_conflict(id, next_seq, batch.first_seq));
    }
    let invalid = |what: &str| {
        let message = format!("the batch for session {} {what}", quoted(id));
        Error::new(ErrorCode::Invalid, "batch-invalid", message)
    };
    if batch.lines.is_empty() {
        return if batch.count == 0 {
            Ok(())
        } else {
            Err(invalid("has no lines"))
        };
    }
    let mut longest = 0;
    let mut start = 0;
    for newline in memchr::memchr_iter(b'\n', batch.lines.as_bytes()) {
        longest = longest.max(newline + 1 - start);
        start = newline + 1;
    }
    if start != batch.lines.len() {
        return Err(invalid("does not end in a newline"));
    }
    if longest as u64 > bytes_max {
        return Err(fault::of_limit(
            "record-bytes-max",
            "a record",
            longest as u64,
            bytes_max,
        ));
    }
    let mut lines = batch.lines.split_terminator('\n');
    let unreadable =
        |fault: Fault| invalid(&format!("has a line that is no record: {}", fault.message));
    let first = read_end(lines.next()).map_err(unreadable)?;
    let last = match lines.next_back() {
        None => first,
        line => read_end(line).map_err(unreadable)?,
    };
    let end = (first.0, last.1);
    if end == (batch.first_seq, batch.first_seq + batch.count) {
        Ok(())
    } else {
        Err(invalid("does not hold the seqs that it says"))
    }
}

fn read_end(line: Option<&str>) -> std::result::Result<(u64, u64), Fault> {
    let Record {
        first_seq, count, ..
    } = read_record(line.unwrap_or_default())?;
    Ok((first_seq, first_seq + count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_limit() {
        let lines = "{\"type\":\"x\",\"seq\":0,\"time\":0,\"data\":null}\n".to_owned();
        let bytes = lines.len() as u64;
        let batch = Batch {
            first_seq: 0,
            count: 1,
            last_time_ms: 0,
            lines,
        };
        assert!(check_batch("s", &batch, 0, bytes).is_ok());
        let error = check_batch("s", &batch, 0, bytes - 1).unwrap_err();
        assert_eq!(error.code, ErrorCode::Limit);
        assert!(
            error.detail.contains("record-bytes-max"),
            "{}",
            error.detail
        );
    }
}
