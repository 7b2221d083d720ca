//! What the events of a random log say.

use super::{Draft, Log};
use crate::json::Json;
use crate::model::Delta;
use crate::random::Random;

const IDS: &[&str] = &[
    r#""c0""#,
    r#""c1""#,
    r#""c2""#,
    r#""\u0063\u0031""#,
    r#""\ud800""#,
    r#""é""#,
];

impl Log {
    fn place(&self, random: &mut Random) -> Vec<(String, Json)> {
        let mut place = vec![(
            "\"turn\"".to_owned(),
            Json::Plain(random.spelled(self.turn)),
        )];
        if !random.once_in(20) {
            place.push((
                "\"step\"".to_owned(),
                Json::Plain(random.spelled(self.step)),
            ));
        }
        place
    }

    fn id(&self, random: &mut Random) -> &'static str {
        self.call_id.unwrap_or_else(|| any_id(random))
    }

    fn in_step(&self, random: &mut Random) -> Json {
        Json::Object(self.place(random), random.gap())
    }

    pub(super) fn start_turn(&mut self, random: &mut Random) {
        self.turn += 1;
        self.step = 0;
        let kind = random.pick(&["message", "injection"]);
        let mut data = Json::Object(Vec::new(), random.gap());
        if !random.once_in(20) {
            data.add("turn", Json::Plain(random.spelled(self.turn)));
        }
        data.add("trigger", Json::object([("kind", Json::string(kind))]));
        self.push(random, Draft::log_only("turn/start", data));
    }

    pub(super) fn end_turn(&mut self, random: &mut Random) {
        let kind = random.pick(&["completed", "aborted", "disposed", "error", "interrupted"]);
        let mut reason = Json::object([("kind", Json::string(kind))]);
        if kind == "error" {
            reason.add("error", random.json(3));
        }
        let turn = Json::Plain(random.spelled(self.turn));
        let data = Json::object([("turn", turn), ("reason", reason)]);
        self.push(random, Draft::log_only("turn/end", data));
    }

    pub(super) fn start_step(&mut self, random: &mut Random) {
        self.step += 1;
        let data = self.in_step(random);
        self.push(random, Draft::log_only("step/start", data));
    }

    pub(super) fn end_step(&mut self, random: &mut Random) {
        let data = self.in_step(random);
        self.push(random, Draft::log_only("step/end", data));
    }

    pub(super) fn user(&mut self, random: &mut Random) {
        let data = message_data(random);
        self.push(random, Draft::at_end("user/message", data));
    }

    pub(super) fn steering(&mut self, random: &mut Random) {
        let data = message_data(random);
        let mut draft = Draft::at_end("steering/message", data);
        draft.sources = self.some_sources(random);
        self.push(random, draft);
    }

    pub(super) fn assistant(&mut self, random: &mut Random) {
        let data = self.assistant_data(random);
        let mut draft = Draft::at_end("assistant/message", data);
        draft.sources = match random.below(4) {
            // the provider's stream is known to have been empty
            0 => Some(Json::Array(Vec::new(), random.gap())),
            1 => None,
            _ => self.some_sources(random),
        };
        self.push(random, draft);
    }

    fn assistant_data(&self, random: &mut Random) -> Json {
        let blocks = (0..random.below(4))
            .map(|_| block(random, self.call_id))
            .collect();
        let names = [
            ("provider", Json::string("p")),
            ("model", Json::string("m")),
        ];
        let mut provenance = Json::object(names);
        if random.once_in(3) {
            provenance.add("replay", random.json(2));
        }
        let mut members = self.place(random);
        members.push(("\"content\"".to_owned(), Json::Array(blocks, random.gap())));
        members.push(("\"provenance\"".to_owned(), provenance));
        if random.once_in(2) {
            members.push(("\"usage\"".to_owned(), tokens(random)));
        }
        random.shuffle(&mut members);
        Json::Object(members, random.gap())
    }

    pub(super) fn call(&mut self, random: &mut Random) {
        let mut data = self.in_step(random);
        data.add("callId", Json::number(self.id(random)));
        data.add("arguments", random.json(2));
        self.push(random, Draft::log_only("tool/call", data));
    }

    pub(super) fn result(&mut self, random: &mut Random) {
        let mut data = self.in_step(random);
        data.add("callId", Json::number(self.id(random)));
        data.add("content", random.json(3));
        if random.once_in(2) {
            data.add("isError", Json::number(random.pick(&["true", "false"])));
        }
        if random.once_in(2) {
            data.add("meta", random.json(3));
        }
        if random.once_in(15) {
            // data that is no object has no members, and a rewrite leaves it as it is
            data = Json::array(vec![random.json(1)]);
        }
        let mut draft = Draft::at_end("tool/result", data);
        draft.sources = self.some_sources(random);
        self.push(random, draft);
    }

    pub(super) fn deltas(&mut self, random: &mut Random) {
        let kind = random.pick(&["text", "reasoning", "tool-call"]);
        let is_call = kind == "tool-call";
        let id = is_call.then(|| random.pick(IDS).to_owned());
        let name = (is_call && random.once_in(2)).then(|| random.string());
        let place = [
            random.spelled(self.turn),
            random.spelled(self.step),
            random.below(2).to_string(),
        ];
        let text = String::new();
        let shared = Delta {
            kind: kind.to_owned(),
            place,
            id,
            name,
            text,
        };
        for _ in 0..1 + random.below(7) {
            let delta = Delta {
                text: random.string(),
                ..shared.clone()
            };
            let draft = Draft::log_only("assistant/chunk", delta_data(&delta));
            self.push(
                random,
                Draft {
                    delta: Some(delta),
                    ..draft
                },
            );
        }
    }

    pub(super) fn odd_chunk(&mut self, random: &mut Random) {
        let text = Json::Plain(random.string());
        let mut chunk = Json::object([("text", text), ("type", Json::string("text-delta"))]);
        chunk.add("index", Json::number(0));
        let mut data = Json::object([("chunk", chunk)]);
        data.add("step", Json::number(self.step));
        data.add("turn", Json::number(self.turn));
        self.push(random, Draft::log_only("assistant/chunk", data));
    }

    pub(super) fn usage_chunk(&mut self, random: &mut Random) {
        let mut chunk = Json::object([("type", Json::string("usage"))]);
        let is_odd = random.once_in(10);
        chunk.add(
            "usage",
            if is_odd {
                random.json(1)
            } else {
                tokens(random)
            },
        );
        let mut data = self.in_step(random);
        data.add("chunk", chunk);
        self.push(random, Draft::log_only("assistant/chunk", data));
    }

    pub(super) fn replace(&mut self, random: &mut Random) {
        let data = message_data(random);
        self.push_replace(random, Draft::at_end("user/message", data));
    }

    pub(super) fn replace_with_any(&mut self, random: &mut Random) {
        let draft = match random.below(2) {
            0 => Draft::at_end("steering/message", message_data(random)),
            _ => Draft::at_end("assistant/message", self.assistant_data(random)),
        };
        self.push_replace(random, draft);
    }

    /// Over a range of the surface, mostly a short one; at the end where there is none.
    fn push_replace(&mut self, random: &mut Random, mut draft: Draft) {
        let nodes = self.nodes();
        if !nodes.is_empty() {
            let first = random.below(nodes.len());
            let length = if random.once_in(4) { nodes.len() } else { 3 };
            let last = (first + random.below(length)).min(nodes.len() - 1);
            draft.op = Some(replace_op(random, nodes[first], nodes[last]));
            let mut sources = nodes[first..=last].to_vec();
            let extra = random.below(self.events.len()) as u64;
            if !sources.contains(&extra) && random.once_in(3) {
                sources.push(extra);
            }
            random.shuffle(&mut sources);
            draft.sources = Some(seqs(random, &sources));
        }
        self.push(random, draft);
    }

    /// Another content for a tool result on the surface, everything else the same in another spelling.
    pub(super) fn rewrite_result(&mut self, random: &mut Random) {
        let mut nodes = self.nodes();
        nodes.retain(|seq| self.events[*seq as usize].kind == "tool/result");
        if nodes.is_empty() {
            return self.result(random);
        }
        let target = nodes[random.below(nodes.len())];
        let mut data = random.respelled(&self.events[target as usize].data);
        if random.once_in(2) {
            data.add("content", random.json(2));
        }
        let mut draft = Draft::at_end("tool/result", data);
        draft.op = Some(replace_op(random, target, target));
        draft.sources = Some(seqs(random, &[target]));
        self.push(random, draft);
    }

    pub(super) fn request_header(&mut self, random: &mut Random) {
        if random.once_in(12) {
            // old logs hold such a one, and it is let through
            return self.push(
                random,
                Draft::log_only("request/header", Json::string("none")),
            );
        }
        let names = [
            ("provider", Json::string("p")),
            ("model", Json::string("m")),
        ];
        let mut config = Json::object(names);
        config.add("temperature", random.json(1));
        let mut header = Json::Object(Vec::new(), random.gap());
        for name in ["tools", "messagePrefix"] {
            if random.once_in(2) {
                let elements = (0..random.below(3)).map(|_| random.json(2)).collect();
                header.add(name, Json::array(elements));
            }
        }
        header.add("config", config);
        header.add("other", random.json(1));
        if random.once_in(2) {
            header.add("system", Json::Plain(random.string()));
        }
        let reason = Json::string(random.pick(&["initial", "resume", "change"]));
        let data = Json::object([("reason", reason), ("header", header)]);
        self.push(random, Draft::log_only("request/header", data));
    }

    pub(super) fn plugin(&mut self, random: &mut Random) {
        let kind = random.pick(&["plugin/note", "compact/start", "llm/retry", "hook/run", "x"]);
        let data = random.json(6);
        self.push(random, Draft::log_only(kind, data));
    }

    /// Some earlier events, or none named.
    fn some_sources(&self, random: &mut Random) -> Option<Json> {
        let mut sources: Vec<u64> = (0..self.events.len() as u64).collect();
        random.shuffle(&mut sources);
        sources.truncate(random.below(4));
        (!sources.is_empty()).then(|| seqs(random, &sources))
    }
}

/// A call's id as written.
pub(super) fn any_id(random: &mut Random) -> &'static str {
    random.pick(IDS)
}

fn replace_op(random: &mut Random, start: u64, end: u64) -> Json {
    let (start, end) = (random.spelled(start), random.spelled(end));
    let mut members = [
        ("\"op\"", Json::string("replace")),
        ("\"start\"", Json::Plain(start)),
        ("\"end\"", Json::Plain(end)),
    ];
    random.shuffle(&mut members);
    let named = members.map(|(name, value)| (name.to_owned(), value));
    Json::Object(named.into(), random.gap())
}

fn seqs(random: &mut Random, seqs: &[u64]) -> Json {
    let elements = seqs.iter().map(|seq| Json::Plain(random.spelled(*seq)));
    let elements = elements.collect();
    Json::Array(elements, random.gap())
}

fn delta_data(delta: &Delta) -> Json {
    let [turn, step, index] = delta.place.clone().map(Json::Plain);
    let kind = Json::string(&format!("{}-delta", delta.kind));
    let mut chunk = Json::object([("type", kind), ("index", index)]);
    for (name, value) in [("id", &delta.id), ("name", &delta.name)] {
        if let Some(value) = value {
            chunk.add(name, Json::Plain(value.clone()));
        }
    }
    let is_call = delta.kind == "tool-call";
    let text = if is_call { "argumentsDelta" } else { "text" };
    chunk.add(text, Json::Plain(delta.text.clone()));
    Json::object([("turn", turn), ("step", step), ("chunk", chunk)])
}

fn message_data(random: &mut Random) -> Json {
    let mut data = Json::Object(Vec::new(), random.gap());
    if random.once_in(10) {
        data.add("content", Json::string("overridden"));
    }
    let content = match random.below(4) {
        0 => Json::Plain(random.string()),
        _ => Json::array((0..random.below(3)).map(|_| block(random, None)).collect()),
    };
    data.add("content", content);
    let kind = random.pick(&["user", "plugin", "goal"]);
    data.add("source", Json::object([("kind", Json::string(kind))]));
    if random.once_in(4) {
        data.add(
            "envelope",
            Json::object([("displayContent", random.json(2))]),
        );
    }
    if random.once_in(4) {
        data.add("meta", random.json(3));
    }
    data
}

fn block(random: &mut Random, call_id: Option<&'static str>) -> Json {
    let mut block = Json::Object(Vec::new(), random.gap());
    if random.once_in(2) {
        block.add("type", Json::string("text"));
        block.add("text", Json::Plain(random.string()));
    } else {
        let kind = random.pick(&[r#""tool-call""#, r#""tool\u002dcall""#]);
        block.add("type", Json::number(kind));
        let id = match random.once_in(20) {
            true => "7",
            false => call_id.unwrap_or_else(|| any_id(random)),
        };
        block.add("id", Json::number(id));
        block.add("name", Json::string("n"));
        block.add("arguments", Json::Plain(random.string()));
    }
    block
}

fn tokens(random: &mut Random) -> Json {
    let mut tokens = Json::Object(Vec::new(), random.gap());
    for name in [
        "inputTokens",
        "outputTokens",
        "inputTokens",
        "cached\\u0054okens",
    ] {
        if random.once_in(2) {
            let count = random.below(100) as u64;
            tokens.add(name, Json::Plain(random.spelled(count)));
        }
    }
    if random.once_in(6) {
        tokens.add("outputTokens", random.json(1));
    }
    tokens
}
