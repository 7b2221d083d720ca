//! One packed row: its rules and its place in the log.

use super::kind::RowKind;
use crate::event::Envelope;
use crate::fault::{Fault, Reason};
use crate::header::SAFE_INTEGER_MAX;
use crate::json::{Kind, Value};

/// Whether a line is tagged as a row, well formed or not.
pub fn is_row(envelope: &Envelope<'_>) -> bool {
    envelope.event_type.and_then(RowKind::of_tag).is_some()
}

/// A well-formed row, borrowed from its line.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// What its deltas are.
    pub kind: RowKind,
    /// Seq of its first event.
    pub seq0: u64,
    /// Time of its first event in milliseconds; may be negative, as every time of a row.
    pub time0_ms: i64,
    /// How many events it stands for, at least 1.
    pub count: u64,
    /// Time of its last event.
    pub last_time_ms: i64,
    /// The smallest time of its events.
    pub min_time_ms: i64,
    pub(super) shared: Shared<'a>,
    pub(super) dt: Value<'a>,
    pub(super) texts: Value<'a>,
}

/// What all events of a row have in common, as written.
#[derive(Clone, Debug)]
pub(super) struct Shared<'a> {
    pub(super) turn: Value<'a>,
    pub(super) step: Value<'a>,
    pub(super) index: Value<'a>,
    pub(super) id: Option<Value<'a>>,
    pub(super) name: Option<Value<'a>>,
}

/// The members of a row's data as written.
#[derive(Default)]
struct Data<'a> {
    turn: Option<Value<'a>>,
    step: Option<Value<'a>>,
    index: Option<Value<'a>>,
    id: Option<Value<'a>>,
    name: Option<Value<'a>>,
    dt: Option<Value<'a>>,
    texts: Option<Value<'a>>,
    has_others: bool,
}

impl<'a> Row<'a> {
    /// The number of the turn that all its events name.
    pub fn turn(&self) -> Value<'a> {
        self.shared.turn
    }

    /// The number of the step that all its events name.
    pub fn step(&self) -> Value<'a> {
        self.shared.step
    }

    /// Holds the rules of a row against a checked value.
    ///
    /// Of several broken rules the first in this order is reported: envelope, seq0, time0, data, its members, id and
    /// name, turn and step and index, texts, dt, its length, the last seq, every time.
    pub fn read(value: Value<'a>) -> Result<Row<'a>, Fault> {
        let (mut tag, mut seq0, mut time0, mut data, mut has_others) =
            (None, None, None, None, false);
        for (name, member) in value.members() {
            match name.decode_lossy().as_ref() {
                "type" => tag = Some(member),
                "seq0" => seq0 = Some(member),
                "time0" => time0 = Some(member),
                "data" => data = Some(member),
                _ => has_others = true,
            }
        }
        let Some(kind) = tag.and_then(RowKind::of_tag) else {
            return Err(Fault::new(
                Reason::RowEnvelope,
                "the line is not tagged as a chunk row",
            ));
        };
        let refused = |reason, what: &str| malformed(kind, reason, what);
        let (Some(seq0), Some(time0), Some(data), false) = (seq0, time0, data, has_others) else {
            return Err(refused(
                Reason::RowEnvelope,
                "it must have exactly type, seq0, time0 and data",
            ));
        };
        let seq0 = seq0
            .as_seq()
            .ok_or_else(|| refused(Reason::RowSeq0, "seq0 must be a non-negative safe integer"))?;
        let time0 = time0.as_safe_integer();
        let time0_ms =
            time0.ok_or_else(|| refused(Reason::RowTime0, "time0 must be a safe integer"))?;
        let data = Data::of(data, kind)
            .ok_or_else(|| refused(Reason::RowDataNotObject, "data must be an object"))?;
        data.row(kind, seq0, time0_ms)
    }
}

impl<'a> Data<'a> {
    // An array is an object without the members that are due.
    fn of(value: Value<'a>, kind: RowKind) -> Option<Data<'a>> {
        if !matches!(value.text().as_bytes().first(), Some(b'{' | b'[')) {
            return None;
        }
        let mut data = Data::default();
        for (name, member) in value.members() {
            let slot = match name.decode_lossy().as_ref() {
                "turn" => &mut data.turn,
                "step" => &mut data.step,
                "index" => &mut data.index,
                "id" if kind == RowKind::ToolCall => &mut data.id,
                "name" if kind == RowKind::ToolCall => &mut data.name,
                "dt" => &mut data.dt,
                known if known == kind.texts_name() => &mut data.texts,
                _ => {
                    data.has_others = true;
                    continue;
                }
            };
            *slot = Some(member);
        }
        Some(data)
    }

    fn row(self, kind: RowKind, seq0: u64, time0_ms: i64) -> Result<Row<'a>, Fault> {
        let refused = |reason, what: &str| Err(malformed(kind, reason, what));
        let due = (self.turn, self.step, self.index, self.dt, self.texts);
        let (Some(turn), Some(step), Some(index), Some(dt), Some(texts)) = due else {
            return refused(Reason::RowDataKeys, "a member of data is missing");
        };
        let (id, name) = (self.id, self.name);
        if self.has_others || (kind == RowKind::ToolCall && id.is_none()) {
            return refused(Reason::RowDataKeys, "data has other members than its kind");
        }
        let mut strings = [id, name].into_iter().flatten();
        if strings.any(|value| value.as_text().is_none()) {
            return refused(Reason::RowIdOrName, "id and name must be strings");
        }
        if [turn, step, index]
            .iter()
            .any(|value| value.kind() != Kind::Number)
        {
            let what = "turn, step and index must be numbers";
            return refused(Reason::RowTurnStepIndex, what);
        }
        let count = texts.elements().count() as u64;
        if count == 0 || texts.elements().any(|text| text.as_text().is_none()) {
            return refused(
                Reason::RowPayload,
                "its texts must be strings, at least one",
            );
        }
        let times = check_steps(kind, dt, count, seq0, time0_ms)?;
        let shared = Shared {
            turn,
            step,
            index,
            id,
            name,
        };
        Ok(Row {
            kind,
            seq0,
            time0_ms,
            count,
            last_time_ms: times.last_ms,
            min_time_ms: times.min_ms,
            shared,
            dt,
            texts,
        })
    }
}

fn malformed(kind: RowKind, reason: Reason, what: &str) -> Fault {
    Fault::new(reason, format!("malformed {} row: {what}", kind.tag()))
}

/// The rules of `dt`, and those of the seqs and times that come of it.
fn check_steps(
    kind: RowKind,
    dt: Value<'_>,
    count: u64,
    seq0: u64,
    time0_ms: i64,
) -> Result<Times, Fault> {
    let refused = |reason, what: &str| Err(malformed(kind, reason, what));
    if dt.kind() != Kind::Array || dt.elements().any(|step| step.as_safe_integer().is_none()) {
        return refused(Reason::RowDt, "dt must be an array of safe integers");
    }
    let steps = dt.elements().count() as u64;
    if steps + 1 != count {
        let what = format!("dt has {steps} members for {count} texts");
        return refused(Reason::RowDtLength, &what);
    }
    if !seqs_fit(seq0, count) {
        return refused(
            Reason::RowMemberSeqOverflow,
            "its seqs must stay safe integers",
        );
    }
    let mut times = Times::starting(time0_ms);
    let mut steps = dt
        .elements()
        .map(|step| step.as_safe_integer().unwrap_or(0));
    if !steps.all(|step_ms| times.step(step_ms)) {
        return refused(
            Reason::RowMemberTimeOverflow,
            "its times must stay safe integers",
        );
    }
    Ok(times)
}

/// Whether the last seq is safe, in the arithmetic of doubles that readers of rows have always used.
pub(super) fn seqs_fit(seq0: u64, count: u64) -> bool {
    (seq0 as f64 + count as f64) - 1.0 <= SAFE_INTEGER_MAX as f64
}

/// The times of a row while its steps are taken.
pub(super) struct Times {
    pub(super) last_ms: i64,
    pub(super) min_ms: i64,
}

impl Times {
    pub(super) fn starting(time0_ms: i64) -> Times {
        Times {
            last_ms: time0_ms,
            min_ms: time0_ms,
        }
    }

    /// Both are safe integers, so the sum cannot overflow; whether it is safe again.
    #[inline(always)]
    pub(super) fn step(&mut self, step_ms: i64) -> bool {
        self.last_ms += step_ms;
        self.min_ms = self.min_ms.min(self.last_ms);
        self.last_ms.unsigned_abs() <= SAFE_INTEGER_MAX
    }
}
