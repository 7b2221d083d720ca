//! The six members of an event, found in one pass over its line.

use super::parts::Parts;
use crate::chunk_rows::skip_delta;
use crate::header::SAFE_INTEGER_MAX;
use crate::json::{self, JsonFault, Scanner, Text, Value};

/// The members of one event as written, before any rule is held against them. A present `null` is not an absent one.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    /// The whole event.
    pub value: Value<'a>,
    /// `type`
    pub event_type: Option<Value<'a>>,
    /// `seq`
    pub seq: Option<Value<'a>>,
    /// `time`
    pub time: Option<Value<'a>>,
    /// `data`
    pub data: Option<Value<'a>>,
    /// `surfaceOp`
    pub surface_op: Option<Value<'a>>,
    /// `sourceEventSeqs`
    pub source_event_seqs: Option<Value<'a>>,
    /// A member of another name.
    pub other: Option<Text<'a>>,
    /// A number that JSON cannot carry without loss.
    pub lossy: Option<Box<JsonFault>>,
    // Of a line in its usual spelling, these are known from reading it: `seq` and `time`, what a message is made of, and
    // the last of sources in ascending order.
    stamps: Option<(u64, u64)>,
    parts: Option<Parts<'a>>,
    last_source: Option<u64>,
}

impl<'a> Envelope<'a> {
    /// Reads one line in one pass. The fault is always one of syntax; numbers are in `lossy`.
    #[inline]
    pub fn read(line: &'a str) -> Result<Envelope<'a>, JsonFault> {
        let mut envelope = Envelope::unread();
        envelope.fill(line, line.len())?;
        Ok(envelope)
    }

    /// Like [`Envelope::read`], of a line that was checked before: of its sources nothing but their end is looked for.
    #[inline]
    pub(crate) fn read_checked(line: &'a str) -> Result<Envelope<'a>, JsonFault> {
        let mut envelope = Envelope::unread();
        envelope.value = Value::checked(line);
        match envelope.read_usual(line, line.len(), true) {
            Some(()) => Ok(envelope),
            None => envelope.read_any(line).map(|()| envelope),
        }
    }

    /// Without a member, to be filled.
    #[inline]
    pub(crate) fn unread() -> Envelope<'a> {
        Envelope::empty(Value::checked(""))
    }

    /// Like [`Envelope::read`], into an unread envelope and of a line that is the first `length` bytes of a text.
    #[inline]
    pub(crate) fn fill(&mut self, text: &'a str, length: usize) -> Result<(), JsonFault> {
        let line = text.get(..length).unwrap_or_default();
        self.value = Value::checked(line);
        match self.read_usual(text, length, false) {
            Some(()) => Ok(()),
            None => self.read_any(line),
        }
    }

    #[inline(never)]
    fn read_any(&mut self, line: &'a str) -> Result<(), JsonFault> {
        *self = Envelope::empty(Value::checked(line));
        let (value, lossy) = json::read_members(line, |name, value| self.set(name, value))?;
        self.value = value;
        self.lossy = lossy.map(Box::new);
        Ok(())
    }

    /// Reads a line whose members come in the usual order without whitespace; none when it is anything else, and then
    /// some members may have been set.
    fn read_usual(&mut self, text: &'a str, length: usize, is_checked: bool) -> Option<()> {
        let mut scan = Scanner::new(text);
        scan.literal("{\"type\":").ok()?;
        let event_type = Value::checked(scan.string_text().ok()?);
        self.event_type = Some(event_type);
        // What is to be appended comes without both.
        if scan.literal(",\"seq\":").is_ok() {
            let (seq, seq_value) = read_stamp(&mut scan)?;
            self.seq = Some(seq);
            scan.literal(",\"time\":").ok()?;
            let (time, time_ms) = read_stamp(&mut scan)?;
            self.time = Some(time);
            self.stamps = Some((seq_value, time_ms));
        }
        scan.literal(",\"data\":").ok()?;
        let start = scan.at();
        match event_type.text() {
            "\"assistant/chunk\"" if skip_delta(&mut scan) => {}
            "\"user/message\""
            | "\"steering/message\""
            | "\"assistant/message\""
            | "\"tool/result\""
                if scan.peek() == b'{' =>
            {
                let mut parts = Parts::default();
                scan.object(|name, value| parts.note(name, value)).ok()?;
                self.parts = Some(parts);
            }
            _ => scan.value().ok()?,
        }
        self.data = Some(Value::checked(scan.between(start, scan.at())));
        if !scan.take(b'}') {
            if scan.literal(",\"sourceEventSeqs\":").is_ok() {
                let start = scan.at();
                if is_checked {
                    scan.skip_checked_numbers().ok()?;
                } else {
                    self.last_source = scan.ascending_seqs();
                    if self.last_source.is_none() {
                        scan.value().ok()?;
                    }
                }
                let sources = scan.between(start, scan.at());
                self.source_event_seqs = Some(Value::checked(sources));
            }
            if scan.literal(",\"surfaceOp\":").is_ok() {
                self.surface_op = Some(Value::checked(scan.value_text().ok()?));
            }
            scan.expect(b'}').ok()?;
        }
        (scan.at() == length && scan.lossy().is_none()).then_some(())
    }

    /// `seq` as a number; none when it is no seq.
    #[inline]
    pub fn seq_value(&self) -> Option<u64> {
        match self.stamps {
            Some((seq, _)) => Some(seq),
            None => self.seq.and_then(Value::as_seq),
        }
    }

    /// `time` in milliseconds; none when it is no time.
    #[inline]
    pub fn time_ms(&self) -> Option<u64> {
        match self.stamps {
            Some((_, time_ms)) => Some(time_ms),
            None => self.time.and_then(Value::as_seq),
        }
    }

    /// What a message is made of, where that is known from reading the line.
    pub(super) fn parts(&self) -> Option<Parts<'a>> {
        self.parts
    }

    /// The last of its sources, where they are known from reading the line to be in strictly ascending order.
    pub(super) fn last_source(&self) -> Option<u64> {
        self.last_source
    }

    /// The members of a checked value.
    pub fn of(value: Value<'a>) -> Envelope<'a> {
        let mut envelope = Envelope::empty(value);
        for (name, member) in value.members() {
            envelope.set(name, member);
        }
        envelope
    }

    /// Whether `type` says `expected`.
    pub fn is_type(&self, expected: &str) -> bool {
        self.event_type.is_some_and(|value| value.is_str(expected))
    }

    fn empty(value: Value<'a>) -> Envelope<'a> {
        Envelope {
            value,
            event_type: None,
            seq: None,
            time: None,
            data: None,
            surface_op: None,
            source_event_seqs: None,
            other: None,
            lossy: None,
            stamps: None,
            parts: None,
            last_source: None,
        }
    }

    // Of a repeated member the last counts.
    #[inline]
    fn set(&mut self, name: Text<'a>, value: Value<'a>) {
        let slot = match name.decode_lossy().as_ref() {
            "type" => &mut self.event_type,
            "seq" => &mut self.seq,
            "time" => &mut self.time,
            "data" => &mut self.data,
            "surfaceOp" => &mut self.surface_op,
            "sourceEventSeqs" => &mut self.source_event_seqs,
            _ => {
                self.other = Some(name);
                return;
            }
        };
        *slot = Some(value);
    }
}

/// A seq or a time in its usual spelling.
#[inline(always)]
fn read_stamp<'a>(scan: &mut Scanner<'a>) -> Option<(Value<'a>, u64)> {
    let start = scan.at();
    let value = scan.plain_integer()?;
    let text = scan.between(start, scan.at());
    (value <= SAFE_INTEGER_MAX).then_some((Value::checked(text), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    /// Lines that hold the grammar, and so may be stored.
    const TAILS: [&str; 16] = [
        "}",
        "} ",
        r#","sourceEventSeqs":[0,1,22]}"#,
        r#","sourceEventSeqs":[0,1,22] }"#,
        r#","sourceEventSeqs":[]}"#,
        r#","sourceEventSeqs":[0,1,22],"surfaceOp":"append"}"#,
        r#","sourceEventSeqs":[0,1,22] ,"surfaceOp":"append"}"#,
        r#","sourceEventSeqs":[0,1,22],"surfaceOp":{"op":"replace","start":0,"end":1}}"#,
        r#","sourceEventSeqs":[0,1,22],"data":2}"#,
        r#","sourceEventSeqs":[0,1,22],"surfaceOp":"append","data":2}"#,
        r#","sourceEventSeqs":[0],"sourceEventSeqs":[1]}"#,
        r#","sourceEventSeqs":[[1],"surfaceOp"],"surfaceOp":"append"}"#,
        r#","sourceEventSeqs":[[1],"x"]}"#,
        r#","sourceEventSeqs":"]","surfaceOp":"append"}"#,
        r#","sourceEventSeqs":7,"surfaceOp":"append"}"#,
        r#","surfaceOp":"append","sourceEventSeqs":[0,1]}"#,
    ];

    #[test]
    fn a_checked_line_is_read_as_any_other() {
        for event_type in ["user/message", "assistant/message", "x"] {
            for tail in TAILS {
                let data = r#"{"content":[1],"callId":2,"a":3,"content":[4]}"#;
                let line =
                    format!(r#"{{"type":"{event_type}","seq":3,"time":4,"data":{data}{tail}"#);
                let shown = |envelope: Envelope<'_>| {
                    let event = Event::of(&envelope, 3);
                    let parts = event.parts.or(event.data.map(Parts::of));
                    let event = Event {
                        last_source: None,
                        parts: parts.filter(|_| event_type != "x"),
                        ..event
                    };
                    format!("{:?} {event:?}", envelope.value)
                };
                let (any, checked) = (Envelope::read(&line), Envelope::read_checked(&line));
                assert_eq!(shown(any.unwrap()), shown(checked.unwrap()), "{line}");
            }
        }
    }
}
