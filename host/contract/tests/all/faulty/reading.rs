//! Faults of what is read.

use annals_sdk::Result;
use annals_sdk::types::{
    Error, ErrorCode, Listing, Page, SessionEntry, SessionStatus, SessionSummary,
};

use super::{Faulty, empty_page, error};

impl Faulty {
    pub(super) fn loaded(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let bytes_max = match self.fault {
            "gives pages over the limit" => u32::MAX,
            "reads for a holder alone" if self.seen.token.is_empty() => {
                return Err(error(ErrorCode::Busy));
            }
            "has cursors of one instance" if cursor > 0 && self.seen.pages == 0 => {
                return Err(error(ErrorCode::Invalid));
            }
            "takes a summary for a change" if cursor > 0 && self.seen.summary.is_some() => {
                return Err(error(ErrorCode::Invalid));
            }
            _ => bytes_max,
        };
        self.seen.pages += 1;
        let page = match self.inner.load(id, cursor, bytes_max) {
            Err(error) => self.unread(id, bytes_max, error)?,
            Ok(page) => page,
        };
        Ok(self.page(id, cursor, bytes_max, page))
    }

    fn unread(&mut self, id: &str, bytes_max: u32, error: Error) -> Result<Page> {
        match (error.code, self.fault) {
            (ErrorCode::Invalid, "takes any cursor" | "has a cursor that never ends") => {
                self.inner.load(id, 0, bytes_max)
            }
            (ErrorCode::NotFound, "makes up its labels") => {
                Err(Error::new(ErrorCode::NotFound, "Not Found!", error.message))
            }
            (ErrorCode::NotFound, "has an empty log for every id") => Ok(empty_page()),
            _ => Err(error),
        }
    }

    fn page(&mut self, id: &str, cursor: u64, bytes_max: u32, mut page: Page) -> Page {
        match self.fault {
            "has a cursor that stands still" => page.next = page.next.map(|_| cursor),
            // the first page again and again, in the middle of a log that only seems to go on
            "has a cursor that never ends" => {
                page.header = page.header.filter(|_| cursor == 0);
                let on = u64::MAX / 2 + self.seen.pages;
                page.next = Some(page.next.filter(|_| cursor < u64::MAX / 2).unwrap_or(on));
            }
            "gives the header on every page" => {
                page.header = self.inner.load(id, 0, 1).unwrap().header;
            }
            "skips a record at a cursor" if cursor > 0 => {
                let rest = page.lines.split_once('\n').map(|(_, rest)| rest.to_owned());
                page.lines = rest.unwrap_or_default();
            }
            "splits long records" if page.lines.len() > bytes_max as usize => {
                page.lines.truncate(bytes_max as usize);
            }
            "counts bytes from the page's start" => page.at_byte = Some(0),
            "hides what is no line" => page.raw = None,
            "replaces what is no UTF-8" => {
                let raw = page.raw.take().unwrap_or_default();
                page.lines.push_str(&String::from_utf8_lossy(&raw));
            }
            _ => {}
        }
        page
    }

    pub(super) fn listed(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        if self.fault == "lists by position" {
            return self.by_position(cursor, count_max);
        }
        let count_max = match self.fault {
            "lists more than was asked for" => count_max.saturating_add(1),
            _ => count_max,
        };
        let is_known = |cursor: &&str| cursor.starts_with("after:");
        let cursor = match self.fault {
            "takes any listing cursor" => cursor.filter(is_known),
            _ => cursor,
        };
        let mut listing = self.inner.list(cursor, count_max)?;
        let entries = &mut listing.sessions;
        let is_damaged = |entry: &SessionEntry| entry.status == SessionStatus::Damaged;
        match self.fault {
            "lists one session less" if cursor.is_none() && entries.len() > 1 => {
                entries.remove(0);
            }
            "lists a session twice" if listing.next.is_none() && cursor.is_some() => {
                entries.pop();
                entries.extend(self.inner.list(None, 1)?.sessions);
            }
            "lists without headers" => entries.iter_mut().for_each(|entry| entry.header = None),
            "lists the time of the medium" => {
                let now = Some(1);
                entries
                    .iter_mut()
                    .for_each(|entry| entry.updated_at_ms = now);
            }
            "lists a newer version as its own" => {
                let ok = SessionStatus::Ok;
                entries.iter_mut().for_each(|entry| entry.status = ok);
            }
            "keeps summaries to itself" => {
                let none = SessionSummary::default;
                entries.iter_mut().for_each(|entry| entry.summary = none());
            }
            "keeps summaries in the instance" => {
                let seen = self.seen.summary.clone().unwrap_or_default();
                entries
                    .iter_mut()
                    .for_each(|entry| entry.summary = seen.clone());
            }
            "fails to list damage" if entries.iter().any(is_damaged) => {
                return Err(error(ErrorCode::Corrupt));
            }
            "ends the listing after a page" => listing.next = None,
            "lists an example" if entries.is_empty() => entries.push(example()),
            _ => {}
        }
        Ok(listing)
    }

    fn by_position(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        let from: usize = match cursor {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| error(ErrorCode::Invalid))?,
        };
        let all = self.inner.list(None, u32::MAX)?.sessions;
        let total = all.len();
        let piece = all.into_iter().skip(from);
        let sessions: Vec<_> = piece.take(count_max.max(1) as usize).collect();
        let end = from + sessions.len();
        let next = (end < total).then(|| end.to_string());
        Ok(Listing { sessions, next })
    }

    pub(super) fn is_stored(&mut self, id: &str) -> Result<bool> {
        match self.fault {
            "answers before configure" if !self.seen.is_configured => return Ok(false),
            "trims ids" => return self.inner.has(id.trim()),
            _ => {}
        }
        let has = self.inner.has(id)?;
        if self.fault == "takes damaged for absent" && has {
            return Ok(self.inner.load(id, 0, 1)?.header.is_some());
        }
        Ok(has)
    }

    pub(super) fn cut_loaded(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let mut page = self.inner.load_cut(id, cursor, bytes_max)?;
        match self.fault {
            "forgets what it cut" => return Ok(empty_page()),
            "gives the newest cut first" => {
                let all = self.seen.cuts.concat();
                page.raw = (!all.is_empty()).then_some(all);
                page.next = None;
            }
            "gives cut bytes as lines" => {
                let raw = page.raw.take().unwrap_or_default();
                page.lines = String::from_utf8_lossy(&raw).into_owned();
            }
            _ => {}
        }
        Ok(page)
    }
}

fn example() -> SessionEntry {
    SessionEntry {
        id: "example".to_owned(),
        header: None,
        summary: SessionSummary::default(),
        updated_at_ms: None,
        status: SessionStatus::Ok,
        note: None,
    }
}
