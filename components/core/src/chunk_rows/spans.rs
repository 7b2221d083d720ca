//! Where the parts of a row stand in its line, to have the row again without reading the line again.

use super::kind::RowKind;
use super::row::{Row, Shared};
use crate::json::Span;

/// A row, or what is left of one, as offsets into a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSpans {
    // The seq that the whole row begins with.
    first_seq: u64,
    kind: RowKind,
    seq0: u64,
    time0_ms: i64,
    count: u64,
    last_time_ms: i64,
    min_time_ms: i64,
    turn: Span,
    step: Span,
    index: Span,
    id: Option<Span>,
    name: Option<Span>,
    dt: Span,
    texts: Span,
}

impl RowSpans {
    /// The spans of what is left of the row that begins with `first_seq` and stands in `line`.
    pub(crate) fn of(row: &Row<'_>, first_seq: u64, line: &str) -> Option<RowSpans> {
        let span = |value| Span::of(value, line);
        Some(RowSpans {
            first_seq,
            kind: row.kind,
            seq0: row.seq0,
            time0_ms: row.time0_ms,
            count: row.count,
            last_time_ms: row.last_time_ms,
            min_time_ms: row.min_time_ms,
            turn: span(row.shared.turn)?,
            step: span(row.shared.step)?,
            index: span(row.shared.index)?,
            id: row.shared.id.and_then(span),
            name: row.shared.name.and_then(span),
            dt: span(row.dt)?,
            texts: span(row.texts)?,
        })
    }

    /// Whether this is what is left from `seq` on of the row that begins with `first_seq`.
    pub(crate) fn is_of(&self, first_seq: u64, seq: u64) -> bool {
        (self.first_seq, self.seq0) == (first_seq, seq)
    }

    /// The row again, of its very line.
    pub(crate) fn row<'a>(&self, line: &'a str) -> Option<Row<'a>> {
        let shared = Shared {
            turn: self.turn.value(line)?,
            step: self.step.value(line)?,
            index: self.index.value(line)?,
            id: self.id.and_then(|span| span.value(line)),
            name: self.name.and_then(|span| span.value(line)),
        };
        Some(Row {
            kind: self.kind,
            seq0: self.seq0,
            time0_ms: self.time0_ms,
            count: self.count,
            last_time_ms: self.last_time_ms,
            min_time_ms: self.min_time_ms,
            shared,
            dt: self.dt.value(line)?,
            texts: self.texts.value(line)?,
        })
    }
}
