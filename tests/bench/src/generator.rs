//! The log that is measured: turns of an agent that thinks, calls a tool and answers, as providers stream them.
//!
//! Every turn has [`TURN_EVENTS`] events: a prompt, steps with streamed reasoning, tool calls and text, each closed by a
//! message that names all the chunks it came from, and now and then a snapshot of the request header. The same number
//! of turns is the same log on every machine.

use std::fmt::Write as _;
use std::ops::Range;

use annals_core::json::quote;

use crate::random::Random;

/// Events of one turn, whatever its texts.
pub const TURN_EVENTS: u64 = 533;

/// Turns between two snapshots of the request header.
const SNAPSHOT_TURNS: u64 = 24;

/// Streamed deltas of one turn: all its events but those that begin, end and sum up.
const DELTAS: u64 = TURN_EVENTS - 24;

const SYSTEM: &str = "You are an agent that works in a repository. Read before you write. Run the tests before you say that something works. Say what you changed and why, in plain words, and name the files.\n";

const TOOLS: &str = r#"[{"name":"bash","description":"Run a command in the working directory and give back what it prints.","parameters":{"type":"object","properties":{"command":{"type":"string"},"description":{"type":"string"}},"required":["command"]}},{"name":"read","description":"Read a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["path"]}}]"#;

/// Pieces of text as tokenizers cut it.
const WORDS: [&str; 64] = [
    " the", " to", " a", " of", " is", " in", " and", " that", " it", " for", ".", ",", " I",
    " be", " with", " on", " as", " this", " not", " we", " file", " test", " run", " err", " at",
    " so", " if", " but", " can", " all", " one", " out", " has", ":", "-", " (", ")", "`", "s",
    "ing", "ed", " cmd", " up", " fn", " ok", " use", " x", " v", " me", " read", "=", "_id",
    ".rs", " no", " 1", " by", " let", " new", "\n", "\n\n", " \"", "\"", " é", " →",
];

/// Pieces of a tool call's arguments.
const PIECES: [&str; 20] = [
    "cargo", " test", " -", "p", " core", "echo", " HE", "LL", "O", " |", " grep", " src", "/",
    "lib", ".rs", " &&", " \\\"", "\\\"", " 2", ">&1",
];

/// How long the stream was silent before a chunk.
const PAUSES_MS: [u64; 16] = [0, 0, 0, 0, 1, 0, 28, 0, 0, 1, 27, 0, 29, 0, 0, 31];

/// Whether lines carry `seq` and `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// As they are stored.
    Given,
    /// As they are given to `append`, which adds both.
    Absent,
}

/// The lines of a log of that many turns, one event each.
#[must_use]
pub fn events(turns: u64, stamps: Stamps) -> String {
    let mut writer = Writer {
        out: String::new(),
        random: Random::new(turns),
        stamps,
        seq: 0,
        time_ms: 1_783_352_044_771,
        turn: 0,
        step: 0,
    };
    for _ in 0..turns {
        writer.turn();
    }
    writer.out
}

/// A prompt to append behind a log of `events` events.
#[must_use]
pub fn prompt(number: u64) -> String {
    format!(
        r#"{{"type":"user/message","data":{{"content":[{{"type":"text","text":"And now number {number}?"}}],"source":{{"kind":"user"}}}},"surfaceOp":"append"}}"#
    )
}

/// A message to append behind a log of `sources` events, all of which it names.
#[must_use]
pub fn summary(sources: u64) -> String {
    let mut line = String::from(
        r#"{"type":"assistant/message","data":{"content":[{"type":"text","text":"Done."}],"provenance":{"provider":"deepseek","model":"deepseek-v4-flash"}},"sourceEventSeqs":"#,
    );
    push_seqs(&mut line, 0..sources);
    line.push_str(r#","surfaceOp":"append"}"#);
    line
}

struct Writer {
    out: String,
    random: Random,
    stamps: Stamps,
    seq: u64,
    time_ms: u64,
    turn: u64,
    step: u64,
}

impl Writer {
    fn turn(&mut self) {
        let turn = self.turn;
        self.step = 0;
        let data = format!(
            r#"{{"turn":{turn},"trigger":{{"kind":"message","source":{{"kind":"user"}}}}}}"#
        );
        self.event("turn/start", &data);
        let text = self.text(12);
        let data = format!(
            r#"{{"content":[{{"type":"text","text":{}}}],"source":{{"kind":"user"}}}}"#,
            quote(&text)
        );
        self.surface_event("user/message", &data, None);
        if turn.is_multiple_of(SNAPSHOT_TURNS) {
            self.snapshot();
        } else {
            let data = format!(
                r#"{{"turn":{turn},"point":"UserPromptSubmit","dialect":"claude","handlerId":"claude:UserPromptSubmit:1"}}"#
            );
            self.event("hook/invoked", &data);
        }
        // The parts differ from turn to turn, their sum does not.
        let arguments = 20 + self.random.below(20);
        let thoughts = 90 + self.random.below(60);
        let answer = 90 + self.random.below(60);
        self.tool_step(thoughts, arguments);
        let rest = DELTAS - thoughts - arguments - answer;
        self.final_step(rest, answer);
        self.event(
            "turn/end",
            &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#),
        );
        self.turn += 1;
        self.time_ms += 20_000;
    }

    fn snapshot(&mut self) {
        let reason = if self.turn == 0 { "initial" } else { "change" };
        let system = SYSTEM.repeat(6);
        let data = format!(
            r#"{{"header":{{"config":{{"provider":"deepseek","model":"deepseek-v4-flash"}},"system":{},"tools":{TOOLS}}},"reason":"{reason}"}}"#,
            quote(&system)
        );
        self.event("request/header", &data);
    }

    fn tool_step(&mut self, thoughts: u64, pieces: u64) {
        self.step += 1;
        self.step_event("step/start", "");
        let first = self.seq;
        self.chunk(r#"{"type":"block-start","index":0,"blockType":"reasoning"}"#);
        let thinking = self.stream("reasoning", 0, thoughts);
        self.chunk(r#"{"type":"block-start","index":1,"blockType":"tool-call"}"#);
        let id = format!("call_00_{:020}", self.random.next());
        let arguments = self.arguments(&id, pieces);
        let thought = format!(r#"{{"type":"reasoning","text":{}}}"#, quote(&thinking));
        let call = format!(
            r#"{{"type":"tool-call","id":"{id}","name":"bash","arguments":{}}}"#,
            quote(&arguments)
        );
        self.message(first, &thought, &call, "tool-calls");
        let called = self.seq;
        let data = format!(
            r#","callId":"{id}","name":"bash","arguments":{}"#,
            quote(&arguments)
        );
        self.step_event("tool/call", &data);
        let output = self.text(60);
        let data = format!(
            r#"{{"turn":{},"step":{},"callId":"{id}","content":[{{"type":"text","text":{}}}],"isError":false}}"#,
            self.turn,
            self.step,
            quote(&output)
        );
        self.surface_event("tool/result", &data, Some(called..called + 1));
        self.step_event("step/end", "");
    }

    fn final_step(&mut self, thoughts: u64, words: u64) {
        self.step += 1;
        self.step_event("step/start", "");
        let first = self.seq;
        self.chunk(r#"{"type":"block-start","index":0,"blockType":"reasoning"}"#);
        let thinking = self.stream("reasoning", 0, thoughts);
        self.chunk(r#"{"type":"block-start","index":1,"blockType":"text"}"#);
        let answer = self.stream("text", 1, words);
        let thought = format!(r#"{{"type":"reasoning","text":{}}}"#, quote(&thinking));
        let text = format!(r#"{{"type":"text","text":{}}}"#, quote(&answer));
        self.message(first, &thought, &text, "stop");
        self.step_event("step/end", "");
    }

    /// What closes the stream of a step, from its block ends to its message.
    fn message(&mut self, first: u64, thought: &str, block: &str, finish: &str) {
        for (index, block) in [thought, block].iter().enumerate() {
            self.chunk(&format!(
                r#"{{"type":"block-end","index":{index},"block":{block}}}"#
            ));
        }
        let usage = format!(
            r#"{{"inputTokens":{},"outputTokens":{},"cacheReadTokens":{},"reasoningTokens":{}}}"#,
            170 + self.random.below(3000),
            50 + self.random.below(300),
            128 * self.random.below(60),
            20 + self.random.below(150)
        );
        self.chunk(&format!(r#"{{"type":"usage","usage":{usage}}}"#));
        self.chunk(&format!(
            r#"{{"type":"finish","reason":{{"kind":"{finish}"}}}}"#
        ));
        let data = format!(
            r#"{{"turn":{},"step":{},"content":[{thought},{block}],"provenance":{{"provider":"deepseek","model":"deepseek-v4-flash"}},"usage":{usage}}}"#,
            self.turn, self.step
        );
        let last = self.seq;
        self.surface_event("assistant/message", &data, Some(first..last));
    }

    /// Deltas of one block; the text that they make.
    fn stream(&mut self, kind: &str, index: u64, count: u64) -> String {
        let mut whole = String::new();
        for _ in 0..count {
            self.time_ms += self.random.pick(&PAUSES_MS);
            let word = self.random.pick(&WORDS);
            whole.push_str(word);
            self.chunk(&format!(
                r#"{{"type":"{kind}-delta","index":{index},"text":{}}}"#,
                quote(word)
            ));
        }
        whole
    }

    fn arguments(&mut self, id: &str, count: u64) -> String {
        let mut whole = String::new();
        for position in 0..count {
            let piece = match position {
                0 => "{",
                1 => "\"command",
                2 => "\": \"",
                _ if position + 1 == count => "\"}",
                _ => self.random.pick(&PIECES),
            };
            self.time_ms += self.random.pick(&PAUSES_MS);
            whole.push_str(piece);
            self.chunk(&format!(
                r#"{{"type":"tool-call-delta","index":1,"id":"{id}","name":"bash","argumentsDelta":{}}}"#,
                quote(piece)
            ));
        }
        whole
    }

    fn text(&mut self, words: u64) -> String {
        (0..words).map(|_| self.random.pick(&WORDS)).collect()
    }

    fn chunk(&mut self, chunk: &str) {
        let data = format!(r#","chunk":{chunk}"#);
        self.step_event("assistant/chunk", &data);
    }

    /// An event whose data names turn and step first.
    fn step_event(&mut self, event_type: &str, more: &str) {
        let data = format!(r#"{{"turn":{},"step":{}{more}}}"#, self.turn, self.step);
        self.event(event_type, &data);
    }

    fn event(&mut self, event_type: &str, data: &str) {
        self.begin(event_type, data);
        self.end();
    }

    fn surface_event(&mut self, event_type: &str, data: &str, sources: Option<Range<u64>>) {
        self.begin(event_type, data);
        if let Some(sources) = sources {
            self.out.push_str(r#","sourceEventSeqs":"#);
            push_seqs(&mut self.out, sources);
        }
        self.out.push_str(r#","surfaceOp":"append""#);
        self.end();
    }

    // Writing to a string cannot fail.
    fn begin(&mut self, event_type: &str, data: &str) {
        let _ = write!(self.out, r#"{{"type":"{event_type}""#);
        if self.stamps == Stamps::Given {
            let _ = write!(self.out, r#","seq":{},"time":{}"#, self.seq, self.time_ms);
        }
        let _ = write!(self.out, r#","data":{data}"#);
    }

    fn end(&mut self) {
        self.out.push_str("}\n");
        self.seq += 1;
    }
}

fn push_seqs(out: &mut String, seqs: Range<u64>) {
    out.push('[');
    for (position, seq) in seqs.enumerate() {
        let comma = if position == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{seq}");
    }
    out.push(']');
}
