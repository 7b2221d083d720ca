//! Logs that nearly hold the rules: most lines are good, some are spelled in an unusual way, a few break a rule.

mod damage;
mod stream;
mod surface;

use super::decisions::Decisions;

pub(super) use damage::damage;

/// Events of one log at most.
const EVENTS_MAX: usize = 80;

/// Contents of strings, escaped.
const TEXTS: [&str; 12] = [
    "a",
    "",
    "\\n",
    "é",
    "\\u0062",
    "\\ud83d",
    "\\ud83d\\ude00",
    "😀",
    "\\\"\\\\",
    "\u{2028}",
    "\\u0000",
    "text of more than eight bytes",
];
/// Numbers; some of them a double cannot carry, some are no seq.
const NUMBERS: [&str; 14] = [
    "1",
    "0",
    "2",
    "1.0",
    "1e0",
    "10e-1",
    "0.5",
    "-1",
    "9007199254740991",
    "9007199254740992",
    "123456789012345678901",
    "-0",
    "1e999",
    "-0.0e5",
];
type Members = Vec<(&'static str, String)>;

/// The log that `decisions` build, without its header line; damaged here and there if its first byte says so.
pub(super) fn near_log(decisions: &[u8]) -> Vec<u8> {
    let mut random = super::random(decisions);
    let mut decisions = Decisions::new(decisions);
    let damages = decisions.below(8).saturating_sub(4);
    let mut log = NearLog {
        decisions,
        ..NearLog::default()
    };
    for _ in 0..EVENTS_MAX {
        if log.decisions.is_empty() {
            break;
        }
        log.write();
    }
    let mut out = log.out;
    for _ in 0..damages {
        damage(&mut out, &mut random);
    }
    out
}

#[derive(Default)]
struct NearLog<'a> {
    decisions: Decisions<'a>,
    out: Vec<u8>,
    seq: u64,
    time: u64,
    turn: u64,
    step: u64,
    nodes: Vec<u64>,
    // Tool results on the surface: seq, and the members of data besides content.
    results: Vec<(u64, String)>,
}

impl NearLog<'_> {
    fn write(&mut self) {
        match self.decisions.below(21) {
            0 => {
                (self.turn, self.step) = (self.turn + 1, 0);
                self.event("turn/start", format!("{{\"turn\":{}}}", self.turn));
            }
            1 => {
                let reason = self.decisions.one_of(&[
                    "{\"kind\":\"completed\"}",
                    "{\"kind\":\"aborted\"}",
                    "null",
                ]);
                self.event(
                    "turn/end",
                    format!("{{\"turn\":{},\"reason\":{reason}}}", self.turn),
                );
            }
            2 => {
                self.step += 1;
                let data = self.place("");
                self.event("step/start", data);
            }
            3 => {
                let data = self.place("");
                self.event("step/end", data);
            }
            4 => self.user_message(),
            5 => self.assistant_message(),
            6 => {
                let id = self.call_id();
                let data = self.place(&format!(
                    ",\"callId\":{id},\"name\":\"n\",\"arguments\":{{}}"
                ));
                self.event("tool/call", data);
            }
            7 => self.tool_result(),
            8 => self.replace(),
            9 => self.rewrite_result(),
            10 => self.request_header(),
            11..=13 => self.deltas(),
            14 | 15 => self.row(),
            16 => {
                let data = self.place(",\"chunk\":{\"type\":\"usage\",\"usage\":{\"inputTokens\":1,\"outputTokens\":2}}");
                self.event("assistant/chunk", data);
            }
            17 => {
                let data = self.value(4);
                self.event("plugin/x", data);
            }
            18 => self.broken_event(),
            19 => self.header(),
            _ => {
                let length = self.decisions.below(40);
                self.out.extend_from_slice(self.decisions.take(length));
                self.out.push(b'\n');
            }
        }
    }

    /// `{"turn":..,"step":..` and more.
    fn place(&self, more: &str) -> String {
        format!("{{\"turn\":{},\"step\":{}{more}}}", self.turn, self.step)
    }

    fn call_id(&mut self) -> &'static str {
        self.decisions
            .one_of(&["\"a\"", "\"b\"", "\"\\u0061\"", "\"\\ud83d\"", "7"])
    }

    fn string(&mut self) -> String {
        if self.decisions.below(128) == 127 {
            // Longer than any message may be.
            return format!("\"{}\"", "x".repeat(4100));
        }
        format!("\"{}\"", self.decisions.one_of(&TEXTS))
    }

    /// Any value of a few levels.
    fn value(&mut self, levels: usize) -> String {
        match self.decisions.below(if levels == 0 { 4 } else { 7 }) {
            0 => "{}".to_owned(),
            1 => self
                .decisions
                .one_of(&["null", "true", "false", "[]"])
                .to_owned(),
            2 => self.string(),
            3 => self.number(),
            4 => format!("[{}]", self.value(levels - 1)),
            5 => format!("[{}, {}]", self.value(levels - 1), self.value(levels - 1)),
            _ => format!(
                "{{{}:{} ,{}: {}}}",
                self.string(),
                self.value(levels - 1),
                self.string(),
                self.value(levels - 1)
            ),
        }
    }

    fn number(&mut self) -> String {
        match self.decisions.below(32) {
            31 => "9".repeat(300 + self.decisions.below(20)),
            30 => "9".repeat(1 + self.decisions.below(30)),
            _ => self.decisions.one_of(&NUMBERS).to_owned(),
        }
    }

    fn event(&mut self, event_type: &str, data: String) {
        self.event_with(event_type, data, Vec::new());
    }

    fn event_with(&mut self, event_type: &str, data: String, surface: Members) {
        let mut members = vec![
            ("type", format!("\"{event_type}\"")),
            ("seq", self.seq.to_string()),
            ("time", self.time.to_string()),
            ("data", data),
        ];
        members.extend(surface);
        self.line(members);
        self.seq += 1;
        self.time += self.decisions.below(3) as u64;
    }

    /// One line of these members, mostly in its usual spelling.
    fn line(&mut self, mut members: Members) {
        let (mut colon, mut comma, mut end) = (":", ",", "\n");
        match self.decisions.below(24) {
            1 => (colon, comma) = (" :\t", " , "),
            2 => members.reverse(),
            3 => {
                members[0].1 = members[0]
                    .1
                    .replacen('/', "\\/", 1)
                    .replacen('e', "\\u0065", 1)
            }
            4 => members[1].1.push_str(".0"),
            5 => end = "\r\n",
            6 => {
                let again = members[self.decisions.below(members.len())].clone();
                members.insert(0, (again.0, "null".to_owned()));
            }
            _ => {}
        }
        let members: Vec<String> = members
            .into_iter()
            .map(|(name, value)| format!("\"{name}\"{colon}{value}"))
            .collect();
        self.out
            .extend_from_slice(format!("{{{}}}{end}", members.join(comma)).as_bytes());
    }

    fn request_header(&mut self) {
        let reason = self
            .decisions
            .one_of(&["\"initial\"", "\"change\"", "\"fallback\""]);
        let config = self.decisions.one_of(&[
            "{\"provider\":\"p\",\"model\":\"m\"}",
            "{\"provider\":\"p\",\"model\":\"m\",\"effort\":1.0}",
            "{\"provider\":\"p\"}",
        ]);
        let more = self.decisions.one_of(&[
            "",
            ",\"system\":\"\"",
            ",\"system\":\"s\",\"tools\":[]",
            ",\"tools\":[{}],\"messagePrefix\":[1]",
        ]);
        self.event(
            "request/header",
            format!("{{\"header\":{{\"config\":{config}{more}}},\"reason\":{reason}}}"),
        );
    }

    /// A header line, which has no place behind the first.
    fn header(&mut self) {
        let mut members: Members = vec![
            ("type", "\"session\"".to_owned()),
            ("version", "0".to_owned()),
            ("id", self.string()),
            ("createdAt", self.time.to_string()),
        ];
        let names = [
            "cwd",
            "parentSession",
            "seedLength",
            "delegationDepth",
            "x",
            "\\u0078\\n",
            "\\ud83d",
        ];
        for _ in 0..self.decisions.below(4) {
            let value = match self.decisions.below(4) {
                0 => "\"/w\"".to_owned(),
                1 => self.number(),
                _ => self.value(2),
            };
            members.push((self.decisions.one_of(&names), value));
        }
        self.line(members);
    }

    fn broken_event(&mut self) {
        let value = self.value(2);
        let (seq, time) = (self.seq.to_string(), self.time.to_string());
        let mut members = vec![
            ("type", "\"user/message\"".to_owned()),
            ("seq", seq),
            ("time", time),
            ("data", "{}".to_owned()),
        ];
        let names = [
            "type",
            "seq",
            "time",
            "data",
            "surfaceOp",
            "sourceEventSeqs",
            "other",
        ];
        for _ in 0..1 + self.decisions.below(3) {
            let name = self.decisions.one_of(&names);
            match members.iter().position(|(known, _)| *known == name) {
                Some(place) if self.decisions.below(2) == 0 => members[place].1.clone_from(&value),
                Some(place) if members.len() > 2 => drop(members.remove(place)),
                Some(_) | None => members.push((name, value.clone())),
            }
        }
        self.line(members);
        self.seq += self.decisions.below(2) as u64;
    }
}
