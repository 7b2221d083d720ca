//! Cutting a log, and what was cut: saved beside it first, in `<name>.<offset>.torn`, or with a number where that name
//! has other bytes.

use std::io::ErrorKind;

use annals_core::fault::quoted;
use annals_core::header::Header;
use annals_core::record::read_record;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Page};

use crate::fault;
use crate::files::{Kind, Mode};
use crate::lines::{self, Walk};
use crate::place::Place;
use crate::read::{PAGE_BYTES_MAX, stale};
use crate::root::Root;

/// How many cuts of different bytes at one offset can be saved. Less than the shortest header line, so that a number in
/// a name is always either an offset or one of these: session `a` cut at 60 and session `a.60` never share a name.
pub const CUTS_MAX: u64 = 49;

/// How much is compared at a time.
const COMPARE_BYTES: usize = 64 << 10;

const CUT_SUFFIX: &str = ".torn";

/// Saved bytes of one cut.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cut {
    // a log only grows again after a cut, so this is also the order of age
    offset: u64,
    number: u64,
    relative: String,
}

impl Root {
    /// Keeps the first `keep_events` events and saves what follows.
    pub fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        self.settle_doubt(id, token)?;
        let place = match self.known_sole(id).cloned() {
            Some(place) => place,
            None => self.place_to_write(id)?,
        };
        let relative = place.log();
        let mut log = self.open_to_write(&relative, Mode::Overwrite)?;
        self.check_lease(id, token)?;
        let keep = self.end_of_events(id, &relative, keep_events)?;
        let end = log
            .bytes()
            .map_err(|error| fault::of_reading(&relative, &error))?;
        self.forget_end(id);
        if keep == end {
            return Ok(());
        }
        self.save(&place, keep, end)?;
        self.check_lease(id, token)?;
        let bytes = log
            .bytes()
            .map_err(|error| fault::of_reading(&relative, &error))?;
        if bytes != end {
            let message = format!(
                "{relative:?} had {end} bytes and has {bytes}: others write into it; try again when they do not"
            );
            return Err(Error::new(ErrorCode::Other, "io-length", message));
        }
        log.set_bytes(keep)
            .map_err(|error| fault::of_files("cut", &relative, &error))?;
        if let Err(error) = self.sync(log.as_mut(), &relative) {
            self.doubt(id);
            return Err(error);
        }
        self.check_lease(id, token)
    }

    /// Reads a page of the saved bytes; the cursor counts through all of them, the oldest first.
    pub fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let place = self.place_of(id)?;
        let budget = lines::usize_of(u64::from(bytes_max).clamp(1, PAGE_BYTES_MAX));
        let mut before = 0;
        let mut raw: Option<(u64, Vec<u8>)> = None;
        let mut is_more = false;
        for cut in self.cuts(&place)? {
            let failed = |error| fault::of_reading(&cut.relative, &error);
            let mut file = self.open_to_read(&cut.relative)?;
            let bytes = file.bytes().map_err(failed)?;
            if raw.is_some() {
                is_more |= bytes > 0;
            } else if cursor < before + bytes {
                let within = cursor - before;
                let mut page = Vec::new();
                let read = lines::read_more(file.as_mut(), within, budget, &mut page);
                let read = read.map_err(failed)? as u64;
                is_more = within + read < bytes;
                raw = Some((cut.offset + within, page));
            }
            before += bytes;
        }
        match raw {
            Some((at, raw)) => {
                let next = cursor + raw.len() as u64;
                Ok(Page {
                    header: None,
                    at_byte: Some(at),
                    lines: String::new(),
                    raw: Some(raw),
                    next: is_more.then_some(next),
                })
            }
            None if cursor == 0 => Ok(Page {
                header: None,
                at_byte: None,
                lines: String::new(),
                raw: None,
                next: None,
            }),
            None => Err(stale(id, cursor)),
        }
    }

    // Where the kept events end, in bytes. What follows them may be anything.
    fn end_of_events(&self, id: &str, relative: &str, keep_events: u64) -> Result<u64> {
        let failed = |error| fault::of_reading(relative, &error);
        let mut log = self.open_to_read(relative)?;
        let mut walk = Walk::new(log.as_mut());
        let header = walk
            .line()
            .map_err(failed)?
            .and_then(lines::text_of)
            .unwrap_or_default();
        Header::parse_line(header)?;
        let mut events = 0;
        while events < keep_events {
            let record = walk
                .line()
                .map_err(failed)?
                .and_then(lines::text_of)
                .and_then(|line| read_record(line).ok())
                .filter(|record| record.first_seq == events);
            let Some(record) = record else {
                let message = format!(
                    "session {} has {events} readable events, {keep_events} cannot be kept",
                    quoted(id)
                );
                return Err(
                    Error::new(ErrorCode::Invalid, "truncate-too-few-events", message)
                        .fact("actual", events)
                        .fact("expected", keep_events),
                );
            };
            events += record.count;
        }
        if events > keep_events {
            let message = format!(
                "keeping {keep_events} events of session {} would split the row that ends with seq {}",
                quoted(id),
                events - 1
            );
            return Err(
                Error::new(ErrorCode::Invalid, "truncate-splits-record", message)
                    .fact("actual", events)
                    .fact("expected", keep_events),
            );
        }
        Ok(walk.at())
    }

    // Written under another name first: a saved cut is whole or not there.
    fn save(&self, place: &Place, keep: u64, end: u64) -> Result<()> {
        let log = place.log();
        let temporary = self.temporary(place);
        let saved = self
            .copy(&log, keep, Some(end), &temporary)
            .and_then(|()| self.publish_cut(place, keep, &temporary));
        self.discard(&temporary);
        saved?;
        self.sync_directory(&place.bucket)
    }

    fn publish_cut(&self, place: &Place, keep: u64, temporary: &str) -> Result<()> {
        for number in 0..=CUTS_MAX {
            let middle = if number == 0 {
                String::new()
            } else {
                format!(".{number}")
            };
            let name = format!("{}/{}.{keep}{middle}{CUT_SUFFIX}", place.bucket, place.name);
            match self.publish(temporary, &name) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fault::of_files("save the cut bytes in", &name, &error)),
            }
            if self.kind(&name)? == Some(Kind::File) && self.is_same(&name, temporary)? {
                return Ok(());
            }
        }
        let message = format!(
            "{CUTS_MAX} different cuts of {:?} at byte {keep} are saved already; move them away",
            place.log()
        );
        Err(Error::new(ErrorCode::Limit, "limit-reached", message).fact("limit", "cuts-max"))
    }

    fn is_same(&self, one: &str, other: &str) -> Result<bool> {
        let mut files = [self.open_to_read(one)?, self.open_to_read(other)?];
        let mut at = 0;
        loop {
            let mut pieces = [Vec::new(), Vec::new()];
            for (file, piece) in files.iter_mut().zip(pieces.iter_mut()) {
                lines::read_more(file.as_mut(), at, COMPARE_BYTES, piece)
                    .map_err(|error| fault::of_reading(one, &error))?;
            }
            let [left, right] = &pieces;
            if left != right {
                return Ok(false);
            }
            if left.is_empty() {
                return Ok(true);
            }
            at += left.len() as u64;
        }
    }

    fn cuts(&self, place: &Place) -> Result<Vec<Cut>> {
        let mut cuts: Vec<Cut> = self
            .names(&place.bucket)?
            .into_iter()
            .filter(|(_, kind)| *kind == Kind::File)
            .filter_map(|(name, _)| {
                let (offset, number) = cut_of(&name, &place.name)?;
                Some(Cut {
                    offset,
                    number,
                    relative: format!("{}/{name}", place.bucket),
                })
            })
            .collect();
        cuts.sort_unstable();
        Ok(cuts)
    }
}

/// Offset and number of the cut that file `name` holds, where it is one of the log `of`.
pub(crate) fn cut_of(name: &str, of: &str) -> Option<(u64, u64)> {
    let middle = name
        .strip_suffix(CUT_SUFFIX)?
        .strip_prefix(of)?
        .strip_prefix('.')?;
    let (offset, number) = match middle.split_once('.') {
        None => (middle.parse().ok()?, 0),
        Some((offset, number)) => (
            offset.parse().ok()?,
            number
                .parse()
                .ok()
                .filter(|number| (1..=CUTS_MAX).contains(number))?,
        ),
    };
    (offset > CUTS_MAX).then_some((offset, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_of_one_session_is_never_one_of_another() {
        assert_eq!(cut_of("a.60.torn", "a"), Some((60, 0)));
        assert_eq!(cut_of("a.60.3.torn", "a"), Some((60, 3)));
        assert_eq!(cut_of("a.60.61.torn", "a"), None);
        assert_eq!(cut_of("a.60.61.torn", "a.60"), Some((61, 0)));
        assert_eq!(cut_of("a.60.49.torn", "a"), Some((60, 49)));
        assert_eq!(cut_of("a.60.49.torn", "a.60"), None);
        assert_eq!(cut_of("a.60.50.torn", "a"), None);
        assert_eq!(cut_of("b.60.torn", "a"), None);
    }
}
