//! From records and damage in the order of the file to a log that opens.

use std::collections::HashSet;

use super::chain::{Span, chain};
use super::lines::{At, Damage, Item, Part, Record, What};
use super::report::{Finding, HeaderOrigin, Report};
use super::{EVENT_BYTES_MIN, GAP, MISPLACED, SET_ASIDE, Salvaged, VANISHED_EVENTS};
use crate::fault::{Class, Fault, Reason};
use crate::header::Header;
use crate::json::quote;
use crate::session::Session;

/// The result, from everything that was found. Fails with class `Limit` where it is more than a log may hold.
pub(super) fn rebuild(
    header: Header,
    origin: HeaderOrigin,
    header_finding: Option<Finding>,
    items: &[Item],
) -> Result<Salvaged, Fault> {
    let mut rebuild = Rebuild {
        session: Session::unchecked(header),
        report: Report {
            header: origin,
            ..Report::default()
        },
        open: Open::default(),
        vanished_left: vanished_max(items),
        aside: Vec::new(),
    };
    if let Some(finding) = header_finding {
        rebuild.report.add(finding);
    }
    let mut is_standing = standing(items).into_iter();
    for item in items {
        match item {
            Item::Damage(damage) => rebuild.damage(damage),
            Item::Record(record) if !may_stand(record) => {
                rebuild.set_aside(record, record.fault.as_deref().cloned());
            }
            Item::Record(record) => match is_standing.next() {
                Some(true) => rebuild.place(record)?,
                Some(false) | None => rebuild.set_aside(record, None),
            },
        }
    }
    rebuild.mark_lost_end()?;
    rebuild.append_aside()?;
    Ok(Salvaged {
        session: rebuild.session,
        report: rebuild.report,
    })
}

fn may_stand(record: &Record) -> bool {
    record.fault.is_none() && record.at.part != Part::Past
}

/// Events that may be missing without a trace.
fn vanished_max(items: &[Item]) -> u64 {
    let records = items.iter().filter_map(|item| match item {
        Item::Record(record) if may_stand(record) => Some(record.count),
        Item::Record(_) | Item::Damage(_) => None,
    });
    records.sum::<u64>().max(VANISHED_EVENTS)
}

/// For each record that may stand whether it does. A seq that the log cannot reach is damaged and takes no part.
fn standing(items: &[Item]) -> Vec<bool> {
    let unreadable = items.iter().map(|item| match item {
        Item::Damage(damage) => damage.length,
        Item::Record(_) => 0,
    });
    let reach = 2 * vanished_max(items) + unreadable.sum::<u64>() / EVENT_BYTES_MIN;
    let mut spans = Vec::new();
    let mut is_standing = Vec::new();
    for item in items {
        if let Item::Record(record) = item
            && may_stand(record)
        {
            let Record { seq, count, .. } = *record;
            is_standing.push(seq < reach);
            if seq < reach {
                spans.push(Span { seq, count });
            }
        }
    }
    let mut in_chain = chain(&spans).into_iter();
    for stands in is_standing.iter_mut().filter(|stands| **stands) {
        *stands = in_chain.next().unwrap_or(false);
    }
    is_standing
}

struct Rebuild<'a> {
    session: Session,
    report: Report,
    open: Open,
    /// Gap events that may still be made for bytes that vanished.
    vanished_left: u64,
    aside: Vec<Aside<'a>>,
}

/// What was found since the last record that stands: what a hole is explained by.
#[derive(Default)]
struct Open {
    first: Option<Cause>,
    /// Its place among the findings.
    finding: Option<usize>,
    /// Bytes that could hold the missing events.
    unreadable: u64,
    /// Of these, bytes whose loss is worth a mark at the end of a log: neither blank nor in the place of the header.
    lost: u64,
    bytes: u64,
}

#[derive(Clone, Copy)]
struct Cause {
    at: At,
    reason: Reason,
}

struct Aside<'a> {
    record: &'a Record,
    reason: Reason,
}

impl<'a> Rebuild<'a> {
    fn damage(&mut self, damage: &Damage) {
        let Damage { at, length, what } = *damage;
        self.report.unreadable_bytes += length;
        let cause = Cause {
            at,
            reason: what.reason(),
        };
        let finding = self.find(cause, length, what.message().to_owned());
        if at.part == Part::Past {
            return;
        }
        self.open(cause, finding, length);
        self.open.unreadable += length;
        if what != What::Blank && at.part != Part::First {
            self.open.lost += length;
        }
    }

    /// The record stands, if the hole before it can be filled and it breaks no rule.
    fn place(&mut self, record: &'a Record) -> Result<(), Fault> {
        let hole = record.seq.saturating_sub(self.session.next_seq());
        let vanished = hole.saturating_sub(self.open.unreadable / EVENT_BYTES_MIN);
        if vanished > self.vanished_left {
            self.set_aside(record, None);
            return Ok(());
        }
        self.vanished_left -= vanished;
        if hole > 0 {
            self.fill(record, hole)?;
        }
        match self.session.push_stored(&record.text) {
            Ok(()) => {
                self.report.in_place += record.count;
                self.open = Open::default();
            }
            Err(fault) if fault.class() == Class::Limit => return Err(fault),
            Err(fault) => {
                self.open = Open::default();
                self.set_aside(record, Some(fault));
            }
        }
        Ok(())
    }

    fn set_aside(&mut self, record: &'a Record, fault: Option<Fault>) {
        let (reason, message) = match fault {
            Some(fault) => (fault.reason, fault.message),
            None => {
                let due = self.session.next_seq();
                let message = format!("the line has seq {}, and {due} was due", record.seq);
                (MISPLACED, message)
            }
        };
        self.aside.push(Aside { record, reason });
        let cause = Cause {
            at: record.at,
            reason,
        };
        if record.at.part == Part::Past {
            return;
        }
        let finding = self.find(cause, 0, message);
        let length = record.text.len() as u64;
        self.open(cause, finding, length);
    }

    fn open(&mut self, cause: Cause, finding: Option<usize>, bytes: u64) {
        if self.open.first.is_none() {
            self.open.first = Some(cause);
            self.open.finding = finding;
        }
        self.open.bytes += bytes;
    }

    /// One event for each missing seq before a record.
    fn fill(&mut self, record: &Record, hole: u64) -> Result<(), Fault> {
        let cause = self.open.first.unwrap_or(Cause {
            at: record.at,
            reason: MISPLACED,
        });
        if self.open.first.is_none() {
            let due = self.session.next_seq();
            let message = format!("the line has seq {}, and {due} was due", record.seq);
            self.open.finding = self.find(cause, 0, message);
        }
        self.report.miss(self.open.finding, hole);
        (0..hole).try_for_each(|_| self.push_gap(cause))
    }

    /// A log whose end is lost must not look whole.
    fn mark_lost_end(&mut self) -> Result<(), Fault> {
        match self.open.first {
            Some(cause) if self.open.lost > 0 => self.push_gap(cause),
            Some(_) | None => Ok(()),
        }
    }

    fn push_gap(&mut self, cause: Cause) -> Result<(), Fault> {
        let Cause { at, reason } = cause;
        let data = format!(
            r#""reason":"{}","line":{},"byte":{},"length":{}{}"#,
            reason.label(),
            at.line,
            at.byte,
            self.open.bytes,
            cut_mark(at)
        );
        self.report.gaps += 1;
        self.push_own(GAP, &data)
    }

    /// What cannot stand, in the order in which it was found, each line once.
    fn append_aside(&mut self) -> Result<(), Fault> {
        let mut seen: HashSet<&str> = HashSet::new();
        for Aside { record, reason } in std::mem::take(&mut self.aside) {
            let log = self.session.log();
            let standing = log.position(record.seq).and_then(|at| log.record(at));
            let stands = standing.is_some_and(|line| line.text == &*record.text);
            if stands || !seen.insert(&record.text) {
                self.report.repeated += 1;
                continue;
            }
            let data = format!(
                r#""reason":"{}","lineNumber":{},"byte":{}{},"line":{}"#,
                reason.label(),
                record.at.line,
                record.at.byte,
                cut_mark(record.at),
                quote(&record.text)
            );
            self.push_own(SET_ASIDE, &data)?;
            self.report.set_aside += 1;
        }
        Ok(())
    }

    /// An event of our own, at the time of the event before it. It breaks no rule but the limit of a log.
    fn push_own(&mut self, event_type: &str, data: &str) -> Result<(), Fault> {
        let seq = self.session.next_seq();
        let time_ms = match seq {
            0 => self.session.header().created_at_ms,
            _ => self.session.last_time_ms(),
        };
        let line =
            format!(r#"{{"type":"{event_type}","seq":{seq},"time":{time_ms},"data":{{{data}}}}}"#);
        self.session.push_stored(&line)
    }

    fn find(&mut self, cause: Cause, length: u64, message: String) -> Option<usize> {
        self.report.add(Finding {
            line: cause.at.line,
            byte: cause.at.byte,
            length,
            reason: cause.reason,
            message,
            missing: 0,
            is_in_cut: cause.at.part.is_cut(),
        })
    }
}

fn cut_mark(at: At) -> &'static str {
    if at.part.is_cut() {
        r#","cut":true"#
    } else {
        ""
    }
}
