//! Rows and their events in their usual spelling: read in one pass, and written.

use std::fmt::Write;

use super::delta::{DELTA_HEAD, integer};
use super::kind::RowKind;
use super::row::{Row, Shared, Times, seqs_fit};
use crate::header::SAFE_INTEGER_MAX;
use crate::json::{Elements, Scanner, Stop, Value, push_integer};

impl<'a> Row<'a> {
    /// Reads a row in its usual spelling in one pass over its line; none when it is anything else.
    pub fn read_canonical(line: &'a str) -> Option<Row<'a>> {
        Row::read_canonical_in(line, line.len())
    }

    /// Like [`Row::read_canonical`], of a line that is the first `length` bytes of a text.
    #[inline]
    pub(crate) fn read_canonical_in(text: &'a str, length: usize) -> Option<Row<'a>> {
        // Events are told apart by their first bytes.
        let kind = match text.get(..15)? {
            "{\"type\":\"text-c" => RowKind::Text,
            "{\"type\":\"reason" => RowKind::Reasoning,
            "{\"type\":\"tool-c" => RowKind::ToolCall,
            _ => return None,
        };
        scan_canonical(text, length, kind).ok().flatten()
    }

    /// Appends its events to `out`, one line each, in their usual spelling.
    pub fn expand(&self, out: &mut String) {
        self.expand_part(0, usize::MAX, out);
    }

    /// Like [`Row::expand`], without the first `skip` events, and only as many as leave `out` within `bytes_max` bytes;
    /// at least one where `out` is empty. The result is the row of the events that are left.
    pub fn expand_part(&self, skip: u64, bytes_max: usize, out: &mut String) -> Row<'a> {
        let middle = self.middle();
        let mut dt = Elements::of_rest(self.dt.text());
        let mut texts = Elements::of_rest(self.texts.text());
        let mut rest = self.clone();
        loop {
            let (dt_left, texts_left) = (dt.rest(), texts.rest());
            let Some(text) = texts.next() else { break };
            let written = out.len();
            if rest.seq0 >= self.seq0 + skip {
                out.push_str(DELTA_HEAD);
                out.push_str(",\"seq\":");
                push_integer(out, rest.seq0);
                out.push_str(",\"time\":");
                if rest.time0_ms < 0 {
                    out.push('-');
                }
                push_integer(out, rest.time0_ms.unsigned_abs());
                out.push_str(&middle);
                out.push_str(text.text());
                out.push_str("}}}\n");
            }
            if written > 0 && out.len() > bytes_max && out.len() > written {
                out.truncate(written);
                rest.dt = Value::checked(dt_left);
                rest.texts = Value::checked(texts_left);
                return rest;
            }
            rest.seq0 += 1;
            rest.count -= 1;
            rest.time0_ms += dt.next().and_then(Value::as_safe_integer).unwrap_or(0);
        }
        rest.dt = Value::checked(dt.rest());
        rest.texts = Value::checked(texts.rest());
        rest
    }

    /// What stands between the time of an event and its text, the same in all of them.
    fn middle(&self) -> String {
        let mut middle = format!(
            ",\"data\":{{\"turn\":{},\"step\":{},\"chunk\":{{\"type\":\"{}\",\"index\":{}",
            self.shared.turn.text(),
            self.shared.step.text(),
            self.kind.delta_type(),
            self.shared.index.text()
        );
        for (name, value) in [("id", self.shared.id), ("name", self.shared.name)] {
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = write!(middle, ",\"{name}\":{}", value.text());
            }
        }
        let _ = write!(middle, ",\"{}\":", self.kind.delta_text_name());
        middle
    }
}

fn scan_canonical(text: &str, length: usize, kind: RowKind) -> Result<Option<Row<'_>>, Stop> {
    let mut scan = Scanner::new(text);
    scan.literal("{\"type\":\"")?;
    scan.literal(kind.tag())?;
    scan.literal("\",\"seq0\":")?;
    let seq0 = integer(scan.number_text()?).and_then(|seq| u64::try_from(seq).ok());
    scan.literal(",\"time0\":")?;
    let time0_ms = integer(scan.number_text()?);
    let (Some(seq0), Some(time0_ms)) = (seq0, time0_ms) else {
        return Ok(None);
    };
    scan.literal(",\"data\":{\"turn\":")?;
    let turn = Value::checked(scan.number_text()?);
    scan.literal(",\"step\":")?;
    let step = Value::checked(scan.number_text()?);
    scan.literal(",\"index\":")?;
    let index = Value::checked(scan.number_text()?);
    scan.literal(",\"dt\":")?;
    let mut times = Times::starting(time0_ms);
    let Some((dt, steps)) = scan_steps(&mut scan, &mut times)? else {
        return Ok(None);
    };
    let (mut id, mut name) = (None, None);
    if kind == RowKind::ToolCall {
        scan.literal(",\"id\":")?;
        id = Some(Value::checked(scan.string_text()?));
        if scan.literal(",\"name\":").is_ok() {
            name = Some(Value::checked(scan.string_text()?));
        }
    }
    scan.literal(",\"")?;
    scan.literal(kind.texts_name())?;
    scan.literal("\":[")?;
    let texts_start = scan.at() - 1;
    let count = scan.strings()?;
    scan.expect(b']')?;
    let texts = Value::checked(scan.between(texts_start, scan.at()));
    scan.literal("}}")?;
    if scan.at() != length || scan.lossy().is_some() || steps + 1 != count || !seqs_fit(seq0, count)
    {
        return Ok(None);
    }
    let shared = Shared {
        turn,
        step,
        index,
        id,
        name,
    };
    Ok(Some(Row {
        kind,
        seq0,
        time0_ms,
        count,
        last_time_ms: times.last_ms,
        min_time_ms: times.min_ms,
        shared,
        dt,
        texts,
    }))
}

fn scan_steps<'a>(
    scan: &mut Scanner<'a>,
    times: &mut Times,
) -> Result<Option<(Value<'a>, u64)>, Stop> {
    let start = scan.at();
    scan.expect(b'[')?;
    let mut steps = 0;
    if !scan.take(b']') {
        loop {
            // Most steps are short and forward, the last one has no comma behind it. Forward steps stay between the
            // times before and after all of them.
            let (sum_ms, count) = scan.sum_of_short_integers();
            if sum_ms > SAFE_INTEGER_MAX || !times.step(sum_ms.cast_signed()) {
                return Ok(None);
            }
            steps += count;
            let fits = integer(scan.number_text()?).is_some_and(|step_ms| times.step(step_ms));
            if !fits {
                return Ok(None);
            }
            steps += 1;
            if scan.take(b']') {
                break;
            }
            scan.expect(b',')?;
        }
    }
    Ok(Some((
        Value::checked(scan.between(start, scan.at())),
        steps,
    )))
}
