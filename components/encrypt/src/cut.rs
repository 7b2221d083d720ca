//! What repairs cut off. Its pages end anywhere, so lines are put together before they are opened.

use annals_core::header::Header;
use annals_core::record::RECORD_BYTES_MAX;
use annals_sdk::types::Page;
use annals_sdk::{Persistence, Result};

use crate::Encrypt;
use crate::reading::opened_bytes;
use crate::records::{At, Opening};

/// How much of the log is looked at at a time.
const WALK_BYTES: u32 = 1 << 20;

impl<P: Persistence> Encrypt<P> {
    pub(crate) fn load_cut_opened(
        &mut self,
        id: &str,
        cursor: u64,
        bytes_max: u32,
    ) -> Result<Page> {
        self.ready()?;
        let mut page = self.cut_lines(id, cursor, bytes_max)?;
        let mut bytes = bytes_of(&mut page);
        while let Some(more) = page.next.filter(|_| !bytes.ends_with(b"\n")) {
            let mut following = self.cut_lines(id, more, bytes_max)?;
            let here = page.at_byte.map(|at| at + bytes.len() as u64);
            let is_other = following
                .at_byte
                .zip(here)
                .is_some_and(|(at, here)| at != here);
            if is_other || bytes.len() as u64 > RECORD_BYTES_MAX {
                break;
            }
            bytes.append(&mut bytes_of(&mut following));
            page.next = following.next;
        }
        let at_byte = match page.at_byte {
            Some(at) => self.opened_byte(id, at)?,
            None => None,
        };
        let mut opening = Opening {
            ready: self.ready()?,
            id,
            at: At::SOMEWHERE,
            is_log: false,
        };
        let raw = opened_bytes(&mut opening, &bytes)?;
        Ok(Page {
            at_byte,
            raw: (!raw.is_empty()).then_some(raw),
            ..page
        })
    }

    /// A page that ends with a line, where the backend gives as much as is asked for.
    fn cut_lines(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let page = self.below.load_cut(id, cursor, bytes_max)?;
        let bytes = page.raw.as_deref().unwrap_or(page.lines.as_bytes());
        let end = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map(|at| at + 1);
        let Some(end) = end.filter(|end| *end < bytes.len() && page.next.is_some()) else {
            return Ok(page);
        };
        let shorter = self
            .below
            .load_cut(id, cursor, u32::try_from(end).unwrap_or(bytes_max))?;
        let length = shorter.raw.as_ref().map(Vec::len);
        let is_exact = length == Some(end) && shorter.next.is_some();
        Ok(if is_exact { shorter } else { page })
    }

    /// Where a byte on the medium is in the opened log, as far as the log goes there. Cuts begin where a line does.
    fn opened_byte(&mut self, id: &str, on_medium: u64) -> Result<Option<u64>> {
        let mut page = self.load_pair(id, 0)?;
        let mut opened_at = match page.1.header.take() {
            Some(header) => Header::from(header).line().len() as u64 + 1,
            None => return Ok(None),
        };
        loop {
            let (below, opened) = page;
            let Some(mut at) = below.at_byte else {
                return Ok(None);
            };
            let stored = below.raw.as_deref().unwrap_or(below.lines.as_bytes());
            let plain = opened.raw.as_deref().unwrap_or(opened.lines.as_bytes());
            let lines = |bytes| <[u8]>::split_inclusive(bytes, |byte: &u8| *byte == b'\n');
            for (stored, plain) in lines(stored).zip(lines(plain)) {
                if at == on_medium {
                    return Ok(Some(opened_at));
                }
                at += stored.len() as u64;
                opened_at += plain.len() as u64;
            }
            match opened.next {
                Some(next) => page = self.load_pair(id, next)?,
                None => return Ok((at == on_medium).then_some(opened_at)),
            }
        }
    }

    /// A page as it is stored, and opened.
    fn load_pair(&mut self, id: &str, cursor: u64) -> Result<(Page, Page)> {
        let below = self.below.load(id, cursor, WALK_BYTES)?;
        let opened = self.load_opened(id, cursor, WALK_BYTES)?;
        Ok((below, opened))
    }
}

fn bytes_of(page: &mut Page) -> Vec<u8> {
    let lines = std::mem::take(&mut page.lines);
    page.raw.take().unwrap_or(lines.into_bytes())
}
