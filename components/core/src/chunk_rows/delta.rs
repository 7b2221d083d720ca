//! One streamed delta in its usual spelling, the only one that packs.

use std::fmt::Write;

use super::kind::RowKind;
use crate::header::SAFE_INTEGER_MAX;
use crate::json::{Scanner, Stop};

/// A delta event as written.
#[derive(Clone, Debug)]
pub(super) struct Delta<'a> {
    pub(super) line: &'a str,
    kind: RowKind,
    seq: u64,
    time_ms: i64,
    turn: &'a str,
    step: &'a str,
    index: &'a str,
    id: Option<&'a str>,
    name: Option<&'a str>,
    text: &'a str,
}

impl<'a> Delta<'a> {
    /// None when the line is anything else, or the same in another spelling.
    pub(super) fn read(line: &'a str) -> Option<Delta<'a>> {
        read(line).ok().flatten()
    }

    /// Whether both stand in one row, this one right after `last`.
    pub(super) fn follows(&self, last: &Delta<'_>) -> bool {
        self.kind == last.kind
            && self.seq == last.seq + 1
            && self.time_ms.abs_diff(last.time_ms) <= SAFE_INTEGER_MAX
            && (self.turn, self.step, self.index) == (last.turn, last.step, last.index)
            && (self.id, self.name) == (last.id, last.name)
    }
}

/// Moves over the data of a streamed delta in its usual spelling and says whether it did.
#[inline]
pub(crate) fn skip_delta(scan: &mut Scanner<'_>) -> bool {
    let mut ahead = scan.clone();
    let is_delta = matches!(read_data(&mut ahead), Ok(Some(_))) && ahead.lossy().is_none();
    if is_delta {
        *scan = ahead;
    }
    is_delta
}

/// The seq and the time of a line, the first `length` bytes of a text, that is a streamed delta in its usual spelling; none
/// when it is anything else. Nothing else of such a line can break a rule.
#[inline]
pub(crate) fn read_delta_in(text: &str, length: usize) -> Option<(u64, u64)> {
    let mut scan = Scanner::new(text);
    scan.literal(DELTA_HEAD).ok()?;
    scan.literal(",\"seq\":").ok()?;
    let seq = scan.plain_integer()?;
    scan.literal(",\"time\":").ok()?;
    let time_ms = scan.plain_integer()?;
    scan.literal(",\"data\":").ok()?;
    read_data(&mut scan).ok()??;
    scan.expect(b'}').ok()?;
    let is_lossless = scan.lossy().is_none() && seq.max(time_ms) <= SAFE_INTEGER_MAX;
    (is_lossless && scan.at() == length).then_some((seq, time_ms))
}

/// How the line of a delta begins, up to and with its type.
pub(crate) const DELTA_HEAD: &str = "{\"type\":\"assistant/chunk\"";

/// Of a line to append that is a streamed delta in its usual spelling what stands behind [`DELTA_HEAD`]; none when it is
/// anything else, or comes with a seq or a time of its own. Nothing of such a line can break a rule of events.
#[inline]
pub(crate) fn delta_draft_rest(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(DELTA_HEAD)?;
    let mut scan = Scanner::new(rest);
    scan.literal(",\"data\":").ok()?;
    read_data(&mut scan).ok()??;
    scan.expect(b'}').ok()?;
    (scan.is_end() && scan.lossy().is_none()).then_some(rest)
}

/// What the data of a delta says, as written.
struct Data<'a> {
    kind: RowKind,
    turn: &'a str,
    step: &'a str,
    index: &'a str,
    id: Option<&'a str>,
    name: Option<&'a str>,
    text: &'a str,
}

fn read(line: &str) -> Result<Option<Delta<'_>>, Stop> {
    let mut scan = Scanner::new(line);
    scan.literal(DELTA_HEAD)?;
    scan.literal(",\"seq\":")?;
    let seq = integer(scan.number_text()?).and_then(|seq| u64::try_from(seq).ok());
    scan.literal(",\"time\":")?;
    let time_ms = integer(scan.number_text()?);
    let (Some(seq), Some(time_ms)) = (seq, time_ms) else {
        return Ok(None);
    };
    scan.literal(",\"data\":")?;
    let Some(data) = read_data(&mut scan)? else {
        return Ok(None);
    };
    scan.expect(b'}')?;
    if !scan.is_end() || scan.lossy().is_some() {
        return Ok(None);
    }
    Ok(Some(Delta {
        line,
        kind: data.kind,
        seq,
        time_ms,
        turn: data.turn,
        step: data.step,
        index: data.index,
        id: data.id,
        name: data.name,
        text: data.text,
    }))
}

#[inline(always)]
fn read_data<'a>(scan: &mut Scanner<'a>) -> Result<Option<Data<'a>>, Stop> {
    scan.literal("{\"turn\":")?;
    let turn = scan.number_text()?;
    scan.literal(",\"step\":")?;
    let step = scan.number_text()?;
    scan.literal(",\"chunk\":{\"type\":")?;
    let Some(kind) = delta_kind(scan) else {
        return Ok(None);
    };
    scan.literal(",\"index\":")?;
    let index = scan.number_text()?;
    let (mut id, mut name) = (None, None);
    if kind == RowKind::ToolCall {
        scan.literal(",\"id\":")?;
        id = Some(scan.string_text()?);
        if scan.literal(",\"name\":").is_ok() {
            name = Some(scan.string_text()?);
        }
    }
    match kind {
        RowKind::Text | RowKind::Reasoning => scan.literal(",\"text\":")?,
        RowKind::ToolCall => scan.literal(",\"argumentsDelta\":")?,
    }
    let text = scan.string_text()?;
    scan.literal("}}")?;
    Ok(Some(Data {
        kind,
        turn,
        step,
        index,
        id,
        name,
        text,
    }))
}

#[inline(always)]
fn delta_kind(scan: &mut Scanner<'_>) -> Option<RowKind> {
    let mut is = |quoted| scan.literal(quoted).is_ok();
    if is("\"text-delta\"") {
        Some(RowKind::Text)
    } else if is("\"reasoning-delta\"") {
        Some(RowKind::Reasoning)
    } else if is("\"tool-call-delta\"") {
        Some(RowKind::ToolCall)
    } else {
        None
    }
}

/// A safe integer in its only usual spelling.
pub(super) fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.len() > 16 || !digits.bytes().all(|byte| byte.is_ascii_digit()) || text == "-0" {
        return None;
    }
    text.parse::<i64>()
        .ok()
        .filter(|value| value.unsigned_abs() <= SAFE_INTEGER_MAX)
}

/// Writes the row that stands for `run`, which begins with `first`.
pub(super) fn write_row(first: &Delta<'_>, run: &[Delta<'_>], out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "{{\"type\":\"{}\",\"seq0\":{},\"time0\":{},\"data\":{{\"turn\":{},\"step\":{},\"index\":{},\"dt\":[",
        first.kind.tag(),
        first.seq,
        first.time_ms,
        first.turn,
        first.step,
        first.index
    );
    let mut last_ms = first.time_ms;
    for (position, delta) in run.iter().skip(1).enumerate() {
        let comma = if position == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{}", delta.time_ms - last_ms);
        last_ms = delta.time_ms;
    }
    out.push(']');
    for (name, value) in [("id", first.id), ("name", first.name)] {
        if let Some(value) = value {
            let _ = write!(out, ",\"{name}\":{value}");
        }
    }
    let _ = write!(out, ",\"{}\":[", first.kind.texts_name());
    for (position, delta) in run.iter().enumerate() {
        let comma = if position == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{}", delta.text);
    }
    out.push_str("]}}\n");
}
