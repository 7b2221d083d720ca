//! Logs, cut bytes and listings read to their end, each page held against the rules of a page.

use annals_sdk::types::{Page, SessionEntry, SessionHeader};

use crate::expectation::{ensure, ok, same_bytes};
use crate::trial::{Checked, Stop, Trial};

/// More than any check stores: a cursor that leads further never ends.
const READ_BYTES_MAX: usize = 128 << 20;
const PAGES_MAX: usize = 20_000;

/// A page that most logs of the checks fit in.
pub(crate) const PAGE_BYTES: u32 = 1 << 20;

/// A log read whole.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Content {
    pub(crate) header: Option<SessionHeader>,
    /// What follows the header; from the first byte on where that is none.
    pub(crate) bytes: Vec<u8>,
    /// What came as `raw`, a page each.
    pub(crate) raws: Vec<Vec<u8>>,
}

impl Trial<'_> {
    /// The log, in large pages.
    pub(crate) fn content(&mut self, id: &str) -> Checked<Content> {
        Ok(self.read(id, PAGE_BYTES)?.0)
    }

    /// The log, and the cursors that its pages gave.
    pub(crate) fn read(&mut self, id: &str, bytes_max: u32) -> Checked<(Content, Vec<u64>)> {
        let mut content = Content::default();
        let cursors = self.read_from(id, 0, bytes_max, &mut content)?;
        Ok((content, cursors))
    }

    /// Reads on from a cursor, to the end.
    pub(crate) fn read_from(
        &mut self,
        id: &str,
        from: u64,
        bytes_max: u32,
        content: &mut Content,
    ) -> Checked<Vec<u64>> {
        let mut cursors = Vec::new();
        let mut cursor = from;
        let mut due_byte = None;
        loop {
            let call = format!("load from cursor {cursor} with bytes-max {bytes_max}");
            let page = ok(&call, self.backend()?.load(id, cursor, bytes_max))?;
            check_page(&call, cursor, bytes_max, &page)?;
            ensure(cursor == 0 || page.header.is_none(), || {
                format!("{call} gave a header, which only the first page has")
            })?;
            ensure(
                cursor != 0 || page.header.is_some() || page.lines.is_empty(),
                || format!("{call} gave lines without a header"),
            )?;
            if let (Some(due), Some(at)) = (due_byte, page.at_byte) {
                ensure(at == due, || {
                    format!(
                        "{call} says that it begins at byte {at}, the page before ended at {due}"
                    )
                })?;
            }
            let raw_bytes = page.raw.as_ref().map_or(0, Vec::len);
            let bytes = (page.lines.len() + raw_bytes) as u64;
            due_byte = page.at_byte.map(|at| at + bytes);
            if cursor == 0 {
                content.header = page.header;
            }
            content.bytes.extend_from_slice(page.lines.as_bytes());
            if let Some(raw) = page.raw.filter(|raw| !raw.is_empty()) {
                content.bytes.extend_from_slice(&raw);
                content.raws.push(raw);
            }
            let Some(next) = page.next else {
                return Ok(cursors);
            };
            check_end(&call, content.bytes.len(), cursors.len())?;
            cursors.push(next);
            cursor = next;
        }
    }

    /// What `truncate` saved.
    pub(crate) fn cut(&mut self, id: &str) -> Checked<Vec<u8>> {
        self.read_cut(id, PAGE_BYTES)
    }

    /// What `truncate` saved, in pages of that size.
    pub(crate) fn read_cut(&mut self, id: &str, bytes_max: u32) -> Checked<Vec<u8>> {
        let (mut bytes, mut pages, mut cursor) = (Vec::new(), 0, 0);
        loop {
            let call = format!("load-cut from cursor {cursor} with bytes-max {bytes_max}");
            let page = ok(&call, self.backend()?.load_cut(id, cursor, bytes_max))?;
            ensure(page.lines.is_empty(), || {
                format!("{call} gave lines; cut bytes are raw")
            })?;
            check_page(&call, cursor, u32::MAX, &page)?;
            bytes.extend_from_slice(page.raw.as_deref().unwrap_or_default());
            pages += 1;
            let Some(next) = page.next else {
                return Ok(bytes);
            };
            check_end(&call, bytes.len(), pages)?;
            cursor = next;
        }
    }

    /// The listing, in pieces of that size.
    pub(crate) fn listing(&mut self, count_max: u32) -> Checked<Vec<SessionEntry>> {
        let mut entries = Vec::new();
        self.list_from(None, count_max, &mut entries)?;
        Ok(entries)
    }

    /// Lists on from a cursor, to the end.
    pub(crate) fn list_from(
        &mut self,
        from: Option<String>,
        count_max: u32,
        entries: &mut Vec<SessionEntry>,
    ) -> Checked {
        let mut cursor = from;
        for _ in 0..PAGES_MAX {
            let (piece, next) = self.piece(cursor.as_deref(), count_max)?;
            entries.extend(piece);
            match next {
                None => return Ok(()),
                Some(next) => cursor = Some(next),
            }
        }
        Err(Stop::Failed("the listing never ends".to_owned()))
    }

    /// One piece of the listing and the cursor to go on from.
    pub(crate) fn piece(
        &mut self,
        cursor: Option<&str>,
        count_max: u32,
    ) -> Checked<(Vec<SessionEntry>, Option<String>)> {
        let call = format!("list of at most {count_max}");
        let listing = ok(&call, self.backend()?.list(cursor, count_max))?;
        let count = listing.sessions.len();
        ensure(count as u64 <= u64::from(count_max.max(1)), || {
            format!("{call} gave {count} entries")
        })?;
        let is_stuck = count == 0 || listing.next.as_deref() == cursor;
        ensure(listing.next.is_none() || !is_stuck, || {
            format!("{call} gave a cursor that does not lead on")
        })?;
        Ok((listing.sessions, listing.next))
    }

    /// How the session is listed, if it is: once.
    pub(crate) fn entry(&mut self, id: &str) -> Checked<Option<SessionEntry>> {
        let mut entries = self.listing(1000)?;
        entries.retain(|entry| entry.id == id);
        ensure(entries.len() < 2, || {
            format!("session {id:?} is listed {} times", entries.len())
        })?;
        Ok(entries.pop())
    }

    /// How the session is listed.
    pub(crate) fn listed(&mut self, id: &str) -> Checked<SessionEntry> {
        let missing = || Stop::Failed(format!("session {id:?} is not listed"));
        self.entry(id)?.ok_or_else(missing)
    }

    /// The log is this header and these lines, and nothing is raw.
    pub(crate) fn holds(&mut self, header: &SessionHeader, lines: &str) -> Checked {
        let content = self.content(&header.id)?;
        ensure(content.header.as_ref() == Some(header), || {
            format!("the header is {:?}, not {header:?}", content.header)
        })?;
        same_bytes("the log", &content.bytes, lines.as_bytes())?;
        ensure(content.raws.is_empty(), || {
            "whole lines came as raw".to_owned()
        })
    }
}

fn check_page(call: &str, cursor: u64, bytes_max: u32, page: &Page) -> Checked {
    let has_raw = page.raw.as_ref().is_some_and(|raw| !raw.is_empty());
    ensure(page.lines.is_empty() || page.lines.ends_with('\n'), || {
        format!("{call} gave a line that is not whole")
    })?;
    ensure(page.lines.is_empty() || !has_raw, || {
        format!("{call} gave lines and raw bytes in one page")
    })?;
    let is_within = page.lines.len() as u64 <= u64::from(bytes_max);
    let records = page.lines.bytes().filter(|byte| *byte == b'\n').count();
    ensure(is_within || records == 1, || {
        let bytes = page.lines.len();
        format!("{call} gave {records} records of {bytes} bytes")
    })?;
    let Some(next) = page.next else { return Ok(()) };
    ensure(next > cursor, || {
        format!("{call} gave the cursor {next}, which is not greater")
    })?;
    ensure(has_raw || !page.lines.is_empty(), || {
        format!("{call} gave no record, but a cursor to go on from")
    })
}

fn check_end(call: &str, bytes: usize, pages: usize) -> Checked {
    ensure(bytes <= READ_BYTES_MAX && pages < PAGES_MAX, || {
        format!("{call} is page {pages}, {bytes} bytes came already: the log never ends")
    })
}
