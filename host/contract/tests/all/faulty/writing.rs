//! Faults of what is written.

use annals_sdk::types::{Batch, Error, ErrorCode, SessionHeader, SessionSummary};
use annals_sdk::{Persistence, Result};

use super::{Faulty, SHORT_RECORD, at_seq, detail, error, first_events};

/// How long a batch is for a wrapper that cannot take long ones.
const LONG_BYTES: usize = 1 << 20;

impl Faulty {
    pub(super) fn created(
        &mut self,
        mut header: SessionHeader,
        token: &str,
        first: &Batch,
    ) -> Result<()> {
        match self.fault {
            "drops unknown header members" => header.extra = None,
            "keeps a default cwd" => _ = header.cwd.get_or_insert_with(|| "/".to_owned()),
            "tidies working directories" => {
                let tidy = |cwd: String| format!("/{}", cwd.trim_matches('/'));
                header.cwd = header.cwd.map(tidy);
            }
            "stores no header without events" if first.count == 0 => return Ok(()),
            _ => {}
        }
        let answer = self.inner.create(&header, token, first);
        match (answer, self.fault) {
            (Err(error), "creates over a session") if error.code == ErrorCode::AlreadyExists => {
                self.inner.delete(&header.id, token)?;
                let token = self.inner.acquire(Some(&header.id), "{}", None)?;
                self.inner.create(&header, &token, first)
            }
            (Err(error), "stores the header of a refused batch")
                if error.code == ErrorCode::SeqConflict =>
            {
                let none = first_events(&at_seq(first, 0), 0);
                self.inner.create(&header, token, &none)?;
                Err(error)
            }
            (Ok(()), "leaves the summary of a deleted session") => match &self.seen.summary {
                Some(summary) => self.inner.update(&header.id, summary),
                None => Ok(()),
            },
            (answer, _) => answer,
        }
    }

    pub(super) fn appended(&mut self, id: &str, token: &str, events: Batch) -> Result<()> {
        let stored = match self.fault {
            "writes behind" => {
                self.seen.pending = Some((id.to_owned(), token.to_owned(), events));
                return Ok(());
            }
            "keeps leases in the instance" if token != self.seen.token => {
                return Err(error(ErrorCode::Busy));
            }
            "panics" => panic!("append fell over"),
            "refuses an empty batch" if events.count == 0 => {
                return Err(error(ErrorCode::Invalid));
            }
            "takes no long batch" if events.lines.len() > LONG_BYTES => {
                return Err(error(ErrorCode::Limit));
            }
            "drops the last event of a batch" if events.count > 1 => {
                first_events(&events, events.count - 1)
            }
            "stores a hundred events of a batch" => first_events(&events, events.count.min(100)),
            _ => events.clone(),
        };
        let is_long = |line: &str| line.len() as u64 > SHORT_RECORD;
        let fitting = events.lines.split_inclusive('\n').position(is_long);
        if let ("stores what fits", Some(fitting)) = (self.fault, fitting) {
            let first = first_events(&events, fitting as u64);
            self.inner.append(id, token, &first)?;
            let what = "a record";
            return Err(Error::limit("record-bytes-max", what, 0, SHORT_RECORD));
        }
        match self.inner.append(id, token, &stored) {
            Ok(()) if self.fault == "stores a batch twice" => {
                let again = at_seq(&events, events.first_seq + events.count);
                self.inner.append(id, token, &again)
            }
            Err(error) => self.refused(id, token, &events, error),
            Ok(()) => Ok(()),
        }
    }

    fn refused(&mut self, id: &str, token: &str, events: &Batch, error: Error) -> Result<()> {
        if error.code == ErrorCode::NotFound && self.fault == "creates on append" {
            let header = header(id);
            return self.inner.create(&header, token, events).or(Err(error));
        }
        if error.code != ErrorCode::SeqConflict {
            return Err(error);
        }
        let due = detail(&error, "expected").as_u64().unwrap();
        let at_due = at_seq(events, due);
        match self.fault {
            "accepts a gap" if events.first_seq > due => self.inner.append(id, token, &at_due),
            "accepts a repetition" if events.first_seq < due => {
                self.inner.append(id, token, &at_due)
            }
            "stores the refused batch of another seq" => {
                self.inner.append(id, token, &at_due)?;
                Err(error)
            }
            "trusts the writer" => Ok(()),
            _ => Err(error),
        }
    }

    pub(super) fn truncated(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        let whole = |inner: &mut dyn Persistence| match inner.load(id, 0, u32::MAX) {
            Ok(page) => page.lines,
            Err(_) => String::new(),
        };
        let before = whole(self.inner.as_mut());
        let answer = self.inner.truncate(id, token, keep_events);
        let after = whole(self.inner.as_mut());
        let cut = before.get(after.len()..).unwrap_or_default();
        self.seen.cuts.insert(0, cut.as_bytes().to_vec());
        match (answer, self.fault) {
            (Ok(()), "refuses to cut nothing") if cut.is_empty() => Err(error(ErrorCode::Invalid)),
            (Err(error), "cuts to what is there") if error.code == ErrorCode::Invalid => Ok(()),
            (Err(error), "cuts what is not there") if error.code == ErrorCode::NotFound => Ok(()),
            (Err(error), "splits a row") if error.code == ErrorCode::Invalid => {
                self.inner.truncate(id, token, 2)?;
                Err(error)
            }
            (answer, _) => answer,
        }
    }

    pub(super) fn deleted(&mut self, id: &str, token: &str) -> Result<()> {
        match self.fault {
            "leaves a deleted session" => return self.inner.has(id).map(drop),
            "deletes what begins alike" => {
                let all = self.inner.list(None, 1000)?.sessions;
                let alike = all.iter().map(|entry| entry.id.as_str());
                for other in alike.filter(|other| *other != id && other.starts_with(id)) {
                    let busy = self.inner.delete(other, "no token").unwrap_err();
                    let token = detail(&busy, "token").as_str().unwrap().to_owned();
                    self.inner.delete(other, &token)?;
                }
            }
            _ => {}
        }
        let answer = self.inner.delete(id, token);
        match (answer, self.fault) {
            (Ok(()), "keeps the lease of a deleted session") => {
                self.inner.acquire(Some(id), "{}", None).map(drop)
            }
            (Err(_), "deletes what is not there") => Ok(()),
            (answer, _) => answer,
        }
    }

    pub(super) fn updated(&mut self, id: &str, mut summary: SessionSummary) -> Result<()> {
        match self.fault {
            "replaces a summary whole" => {
                summary.title.get_or_insert_default();
                summary.first_prompt.get_or_insert_default();
            }
            "ignores an empty text" => {
                summary.title = summary.title.filter(|title| !title.is_empty());
            }
            "keeps the first line of a title" => {
                let first = |title: String| title.lines().next().unwrap_or_default().to_owned();
                summary.title = summary.title.map(first);
            }
            _ => {}
        }
        self.seen.summary = Some(summary.clone());
        if self.fault == "keeps summaries in the instance" {
            return Ok(());
        }
        match (self.inner.update(id, &summary), self.fault) {
            (Err(error), "creates on update") if error.code == ErrorCode::NotFound => {
                let token = self.inner.acquire(Some(id), "{}", None)?;
                let none = Batch {
                    first_seq: 0,
                    count: 0,
                    last_time_ms: 0,
                    lines: String::new(),
                };
                self.inner.create(&header(id), &token, &none)?;
                self.inner.update(id, &summary)
            }
            (answer, _) => answer,
        }
    }
}

fn header(id: &str) -> SessionHeader {
    SessionHeader {
        version: 0,
        id: id.to_owned(),
        created_at_ms: 0,
        cwd: None,
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        extra: None,
    }
}
