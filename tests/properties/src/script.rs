//! Random logs that break no rule. A script is a list of steps, each a kind and a seed; what a step means depends on
//! the events before it, so that every part of a script is a script and a failing one shrinks.

mod parts;

use crate::json::Json;
use crate::model::{self, Delta, Event};
use crate::random::Random;

/// A kind of step, and what its details are drawn from.
pub type Step = (u8, u32);

/// How many kinds there are.
pub const KINDS: u8 = 26;

/// The time that an append gives to events without one.
pub const TIME_MS: u64 = 1_700_000_000_000;

/// How the lines of a log are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spelling {
    /// As an append writes them.
    Usual,
    /// In any way that a seed may be written.
    Any,
}

/// A log in the making.
#[derive(Debug)]
pub struct Log {
    /// The events so far.
    pub events: Vec<Event>,
    spelling: Spelling,
    turn: u64,
    step: u64,
    /// The call that all events are about while one is exchanged.
    call_id: Option<&'static str>,
}

/// An event before it has its place.
struct Draft {
    kind: &'static str,
    data: Json,
    op: Option<Json>,
    sources: Option<Json>,
    delta: Option<Delta>,
}

impl Draft {
    fn log_only(kind: &'static str, data: Json) -> Draft {
        Draft {
            kind,
            data,
            op: None,
            sources: None,
            delta: None,
        }
    }

    fn at_end(kind: &'static str, data: Json) -> Draft {
        Draft {
            op: Some(Json::string("append")),
            ..Draft::log_only(kind, data)
        }
    }
}

impl Log {
    /// The log of a script.
    pub fn of(script: &[Step], spelling: Spelling) -> Log {
        let mut log = Log {
            events: Vec::new(),
            spelling,
            turn: 0,
            step: 0,
            call_id: None,
        };
        for (kind, seed) in script {
            log.take(*kind, &mut Random::new(u64::from(*seed)));
        }
        log
    }

    /// The first events of another log.
    pub fn upto(&self, count: usize) -> Log {
        Log {
            events: self.events[..count].to_vec(),
            ..*self
        }
    }

    fn take(&mut self, kind: u8, random: &mut Random) {
        match kind {
            0 => self.start_turn(random),
            1 => self.end_turn(random),
            2 => self.start_step(random),
            3 => self.end_step(random),
            4 => self.user(random),
            5 => self.steering(random),
            6 | 7 => self.assistant(random),
            8 => self.call(random),
            9 | 10 => self.result(random),
            11 | 12 => self.deltas(random),
            13 => self.odd_chunk(random),
            14 | 15 => self.usage_chunk(random),
            16 | 17 => self.replace(random),
            18 => self.replace_with_any(random),
            19 => self.rewrite_result(random),
            20 => self.request_header(random),
            21 => self.plugin(random),
            22 | 23 => self.exchange(random),
            _ => self.whole_turn(random),
        }
    }

    /// Requests, starts and results of one call, in any order and again.
    fn exchange(&mut self, random: &mut Random) {
        self.call_id = Some(parts::any_id(random));
        for _ in 0..2 + random.below(5) {
            match random.below(3) {
                0 => self.assistant(random),
                1 => self.call(random),
                _ => self.result(random),
            }
        }
        self.call_id = None;
    }

    fn whole_turn(&mut self, random: &mut Random) {
        self.start_turn(random);
        self.user(random);
        self.start_step(random);
        self.deltas(random);
        self.assistant(random);
        if random.once_in(2) {
            self.call(random);
            self.result(random);
        }
        self.end_step(random);
        self.end_turn(random);
    }

    /// Seqs on the surface now.
    pub fn nodes(&self) -> Vec<u64> {
        model::surface(&self.events).unwrap().nodes
    }

    fn push(&mut self, random: &mut Random, draft: Draft) {
        let seq = self.events.len() as u64;
        let gives_time = draft.delta.is_some() || random.once_in(3);
        let time_ms = if gives_time {
            TIME_MS + random.below(5000) as u64
        } else {
            TIME_MS
        };
        let type_text = match draft.delta.is_none() && random.once_in(12) {
            true => format!("\"{}\"", draft.kind.replace('/', "\\/")),
            false => format!("\"{}\"", draft.kind),
        };
        let mut members = vec![
            ("type", Json::Plain(type_text.clone())),
            ("data", draft.data.clone()),
        ];
        let surface = [
            ("sourceEventSeqs", &draft.sources),
            ("surfaceOp", &draft.op),
        ];
        for (name, value) in surface {
            members.extend(value.clone().map(|value| (name, value)));
        }
        let surface = members[2..]
            .iter()
            .map(|(name, value)| format!(",\"{name}\":{}", value.text()));
        let usual = format!(
            "{{\"type\":{type_text},\"seq\":{seq},\"time\":{time_ms},\"data\":{}{}}}",
            draft.data.text(),
            surface.collect::<String>()
        );
        let mut given = members.clone();
        if gives_time {
            given.push(("time", Json::Plain(random.spelled(time_ms))));
        }
        if random.once_in(3) {
            given.push(("seq", Json::Plain(random.spelled(seq))));
        }
        let is_odd = self.spelling == Spelling::Any && random.once_in(2);
        let line = match is_odd {
            false => usual.clone(),
            true => {
                members.push(("time", Json::Plain(random.spelled(time_ms))));
                members.push(("seq", Json::Plain(random.spelled(seq))));
                let end = random.gap();
                format!("{}{end}", odd_object(random, members))
            }
        };
        // spelled in another way it does not pack
        let delta = draft.delta.filter(|_| line == usual);
        self.events.push(Event {
            kind: draft.kind.to_owned(),
            seq,
            time_ms,
            data: draft.data,
            op: draft.op,
            sources: draft.sources,
            delta,
            line,
            draft: odd_object(random, given),
        });
    }
}

/// An object of these members in any order, with whitespace, with a member that a later one of its name overrides.
fn odd_object(random: &mut Random, mut members: Vec<(&'static str, Json)>) -> String {
    random.shuffle(&mut members);
    if random.once_in(8) {
        let (name, _) = members[random.below(members.len())];
        members.insert(0, (name, Json::string("overridden")));
    }
    let gap = random.gap();
    let named = members
        .into_iter()
        .map(|(name, value)| (format!("\"{name}\""), value));
    Json::Object(named.collect(), gap).text()
}
