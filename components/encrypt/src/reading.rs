//! Reading a log a page at a time. A page of the backend becomes one page: the same lines, opened.

use std::collections::BTreeMap;

use annals_core::load::read_header;
use annals_sdk::types::{Page, SessionHeader};
use annals_sdk::{Persistence, Result};

use crate::records::{At, Opening};
use crate::{Encrypt, Ready, header};

/// How many sessions' places are remembered.
const PLACES_MAX: usize = 64;

/// Where the last page of each session ended, so that the next one can be held against it.
#[derive(Default)]
pub(crate) struct Places {
    by_id: BTreeMap<String, (u64, At)>,
}

impl Places {
    pub(crate) fn forget(&mut self, id: &str) {
        self.by_id.remove(id);
    }

    fn at(&self, id: &str, cursor: u64) -> Option<At> {
        let (known, at) = self.by_id.get(id)?;
        (*known == cursor).then_some(*at)
    }

    fn remember(&mut self, id: &str, cursor: Option<u64>, at: At) {
        self.forget(id);
        if self.by_id.len() >= PLACES_MAX {
            self.by_id.clear();
        }
        if let Some(cursor) = cursor {
            self.by_id.insert(id.to_owned(), (cursor, at));
        }
    }
}

impl<P: Persistence> Encrypt<P> {
    pub(crate) fn load_opened(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.ready()?;
        let page = self.below.load(id, cursor, bytes_max)?;
        if cursor == 0 {
            return self.first_page(id, page);
        }
        let next = page.next;
        if let Some(at) = self.places.at(id, cursor) {
            // the log may have been another one when that was noted
            if let Ok((page, at)) = opened(self.ready()?, id, page.clone(), at) {
                self.places.remember(id, next, at);
                return Ok(page);
            }
        }
        let at = self.walk_to(id, cursor, bytes_max)?;
        let (page, at) = opened(self.ready()?, id, page, at)?;
        self.places.remember(id, next, at);
        Ok(page)
    }

    fn first_page(&mut self, id: &str, mut page: Page) -> Result<Page> {
        let ready = self.ready()?;
        match take_header(&mut page) {
            Some(header) => page.header = Some(header::shown(ready, header)?),
            // the bytes are those of a header line that is none: the store says what it is
            None if page.lines.is_empty() => {
                self.places.remember(id, page.next, At::LOST_START);
                return Ok(Page {
                    at_byte: None,
                    ..page
                });
            }
            None => {}
        }
        let next = page.next;
        let (page, at) = opened(ready, id, page, At::START)?;
        self.places.remember(id, next, at);
        Ok(page)
    }

    /// Where the page of that cursor begins, from the start of the log.
    fn walk_to(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<At> {
        let mut page = self.below.load(id, 0, bytes_max)?;
        let mut at = At::START;
        if take_header(&mut page).is_none() && page.lines.is_empty() {
            page.raw = None;
            at = At::LOST_START;
        }
        loop {
            let bytes = page.raw.as_deref().unwrap_or(page.lines.as_bytes());
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                at.pass(line.strip_suffix(b"\n").unwrap_or(line));
            }
            match page.next {
                Some(next) if next == cursor => return Ok(at),
                Some(next) if next < cursor => page = self.below.load(id, next, bytes_max)?,
                // a cursor out of pages of another length
                Some(_) | None => return Ok(At::SOMEWHERE),
            }
        }
    }
}

/// The header on a first page, out of its bytes too: where they are one, the store takes them for it.
pub(crate) fn take_header(page: &mut Page) -> Option<SessionHeader> {
    if let Some(header) = page.header.take() {
        return Some(header);
    }
    let header = read_header(page.raw.as_deref()?).ok()?;
    page.raw = None;
    Some(header.into())
}

/// The page opened, and where it ends. Bytes are counted as those of the opened log, so where it lies on the medium means
/// nothing.
fn opened(ready: &Ready, id: &str, page: Page, at: At) -> Result<(Page, At)> {
    let mut opening = Opening {
        ready,
        id,
        at,
        is_log: true,
    };
    let mut lines = String::with_capacity(page.lines.len() / 4 * 3);
    for line in page.lines.split_terminator('\n') {
        match opening.line(line.as_bytes())? {
            Some(opened) => lines.push_str(&opened),
            None => lines.push_str(line),
        }
        lines.push('\n');
    }
    let raw = match page.raw {
        Some(raw) => Some(opened_bytes(&mut opening, &raw)?),
        None => None,
    };
    let opened = Page {
        at_byte: None,
        lines,
        raw,
        ..page
    };
    Ok((opened, opening.at))
}

/// Bytes among which whole lines may be: the store would take such a line, so it is opened like any other.
pub(crate) fn opened_bytes(opening: &mut Opening<'_>, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        let opened = match piece.strip_suffix(b"\n") {
            Some(line) => opening.line(line)?,
            None => None,
        };
        match opened {
            Some(opened) => {
                out.extend_from_slice(opened.as_bytes());
                out.push(b'\n');
            }
            None => out.extend_from_slice(piece),
        }
    }
    Ok(out)
}
