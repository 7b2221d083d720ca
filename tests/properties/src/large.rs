//! Large inputs that every part of the whole must take: deep, long, and many.

use std::ops::RangeInclusive;

/// Lines of a log that grow with a size.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// What it is.
    pub name: &'static str,
    /// The least of three sizes, n; the others are 2n and 4n.
    pub size: usize,
    /// The stored lines for a size.
    pub make: fn(usize) -> String,
}

/// How deep the least deep event is.
pub const LEVELS: usize = 200_000;
/// How long the least long event is.
pub const BYTES: usize = 25_000_000;
/// How many texts the least long stream has.
const TEXTS: usize = 250_000;
/// How many rewrites the least rewritten log has.
const REWRITES: usize = 12_500;
/// How many sources the least long list names.
const SOURCES: usize = 100_000;

/// Events of many levels.
pub const NESTED: &[Shape] = &[
    shape("nested arrays", LEVELS, |levels| {
        event(&nested("[", "0", "]", levels))
    }),
    shape("nested objects", LEVELS, |levels| {
        event(&nested("{\"a\":", "null", "}", levels))
    }),
    shape("nested in turns", LEVELS, |levels| {
        event(&nested("[{\"a\":", "\"x\"", "}]", levels / 2))
    }),
    shape("a nested prompt", LEVELS, |levels| {
        prompt(&nested("[", "0", "]", levels))
    }),
    shape("a nested result, rewritten", LEVELS, rewritten_result),
];

/// Events of many bytes.
pub const LONG: &[Shape] = &[
    shape("a long prompt", BYTES, |bytes| {
        prompt(&format!("\"{}\"", "a".repeat(bytes)))
    }),
    shape("a long text of escapes", BYTES, |bytes| {
        event(&format!("\"{}\"", "\\u00e9".repeat(bytes / 6)))
    }),
    shape("a long list", BYTES, |bytes| {
        event(&format!("[0{}]", ",12".repeat(bytes / 3)))
    }),
    shape("a long object", BYTES, |bytes| {
        event(&format!("{{\"a\":0{}}}", ",\"a\":0".repeat(bytes / 6)))
    }),
    shape("a long call id", BYTES, long_call),
];

/// Messages that were made of many events.
pub const SOURCED: &[Shape] = &[
    shape("many sources", SOURCES, many_sources),
    shape("hundreds of sources each", SOURCES, hundreds_of_sources),
];

/// A million texts of one byte, as a line each and packed.
pub const STREAMED: &[Shape] = &[shape("texts, a line each", TEXTS, texts)];

/// The same as packed rows.
pub const PACKED: &[Shape] = &[
    shape("texts, packed", TEXTS, |count| {
        annals_core::chunk_rows::pack(&texts(count)).unwrap()
    }),
    shape("texts, in one row", TEXTS, row),
];

/// Logs whose surface is rewritten again and again.
pub const REWRITTEN: &[Shape] = &[
    shape("rewrites of the first node", REWRITES, |count| {
        rewrites(count, count, |_, _| (0, 0..=0))
    }),
    shape("rewrites of the last node", REWRITES, |count| {
        rewrites(count, count, |_, nodes| (0, nodes - 1..=nodes - 1))
    }),
    shape("rewrites of any node", REWRITES, |count| {
        rewrites(count, count, |number, nodes| {
            let at = any(number, nodes);
            (0, at..=at)
        })
    }),
    shape("rewrites of the first two", REWRITES, |count| {
        rewrites(count, count + 1, |_, _| (0, 0..=1))
    }),
    shape("rewrites of the last two", REWRITES, |count| {
        rewrites(count, count + 1, |_, nodes| (0, nodes - 2..=nodes - 1))
    }),
    shape("rewrites of any two", REWRITES, |count| {
        rewrites(count, count + 1, |number, nodes| {
            let at = any(number, nodes - 1);
            (0, at..=at + 1)
        })
    }),
    shape("rewrites of the whole surface", REWRITES, |count| {
        rewrites(count, 1, |_, nodes| (1, 0..=nodes))
    }),
    shape("rewrites of a range that grows", REWRITES, |count| {
        rewrites(count, 1, |number, nodes| {
            let joins = number % 10;
            (joins, 0..=nodes + joins - 1)
        })
    }),
];

const fn shape(name: &'static str, size: usize, make: fn(usize) -> String) -> Shape {
    Shape { name, size, make }
}

/// The line of an event with these members after seq and time.
pub fn line(kind: &str, seq: usize, members: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"seq\":{seq},\"time\":0,{members}}}\n")
}

/// An event that is for the log only and stands alone in it.
pub fn event(data: &str) -> String {
    line("plugin/x", 0, &format!("\"data\":{data}"))
}

/// A value inside so many brackets.
pub fn nested(open: &str, leaf: &str, close: &str, levels: usize) -> String {
    format!("{}{leaf}{}", open.repeat(levels), close.repeat(levels))
}

fn prompt(content: &str) -> String {
    line(
        "user/message",
        0,
        &format!("\"data\":{{\"content\":{content}}},\"surfaceOp\":\"append\""),
    )
}

fn rewritten_result(levels: usize) -> String {
    let old = nested("{\"a\":[", "1", "]}", levels / 4);
    let new = nested("{\"a\":[ ", "1.0", "] }", levels / 4);
    let old = format!("\"data\":{{\"meta\":{old}}},\"surfaceOp\":\"append\"");
    let op = "{\"op\":\"replace\",\"start\":0,\"end\":0}";
    let new = format!("\"data\":{{\"meta\":{new}}},\"surfaceOp\":{op},\"sourceEventSeqs\":[0]");
    line("tool/result", 0, &old) + &line("tool/result", 1, &new)
}

fn long_call(bytes: usize) -> String {
    let id = "c".repeat(bytes);
    let start = line("turn/start", 0, "\"data\":{\"turn\":1}");
    start + &line("tool/call", 1, &format!("\"data\":{{\"callId\":\"{id}\"}}"))
}

fn message(seq: usize, sources: &[usize]) -> String {
    let surface = format!("\"surfaceOp\":\"append\",\"sourceEventSeqs\":{sources:?}");
    line(
        "user/message",
        seq,
        &format!("\"data\":{{\"content\":\"x\"}},{surface}"),
    )
}

fn many_sources(count: usize) -> String {
    let log: String = (0..count).map(|seq| line("x", seq, "\"data\":0")).collect();
    let sources: Vec<usize> = (0..count).rev().collect();
    log + &message(count, &sources)
}

/// Every message names the hundreds of events that it was streamed in.
fn hundreds_of_sources(count: usize) -> String {
    let turns = (0..count / 400).map(|turn| {
        let (first, last) = (turn * 400, turn * 400 + 399);
        let sources: Vec<usize> = (first..last).collect();
        let chunks = sources.iter().map(|seq| line("x", *seq, "\"data\":0"));
        chunks.collect::<String>() + &message(last, &sources)
    });
    turns.collect()
}

/// An open turn with one answer that streams so many texts.
fn texts(count: usize) -> String {
    let mut log = line("turn/start", 0, "\"data\":{\"turn\":1}");
    log.push_str(&line("step/start", 1, "\"data\":{\"turn\":1,\"step\":1}"));
    let delta = "{\"type\":\"text-delta\",\"index\":0,\"text\":\"a\"}";
    for seq in 2..count + 2 {
        let data = format!("\"data\":{{\"turn\":1,\"step\":1,\"chunk\":{delta}}}");
        log.push_str(&line("assistant/chunk", seq, &data));
    }
    log
}

/// As many texts in one row.
fn row(count: usize) -> String {
    let (steps, texts) = (",0".repeat(count - 2), ",\"a\"".repeat(count - 1));
    let place = "\"turn\":1,\"step\":1,\"index\":0";
    format!(
        "{{\"type\":\"text-chunks\",\"seq0\":0,\"time0\":0,\"data\":{{{place},\"dt\":[0{steps}],\"texts\":[\"a\"{texts}]}}}}\n"
    )
}

/// What a log does at each rewrite, given its number and how many nodes there are: how many messages join first, and
/// which positions give way then.
type Rewrite = fn(usize, usize) -> (usize, RangeInclusive<usize>);

/// A log of so many rewrites, of a surface that is kept as the plainest list.
fn rewrites(count: usize, first: usize, rewrite: Rewrite) -> String {
    let (mut nodes, mut log, mut seq) = (Vec::new(), String::new(), 0usize);
    let mut push = |nodes: &mut Vec<usize>, range: Option<RangeInclusive<usize>>| {
        let surface = match range {
            None => {
                nodes.push(seq);
                "\"surfaceOp\":\"append\"".to_owned()
            }
            Some(range) => {
                let gone: Vec<usize> = nodes.splice(range, [seq]).collect();
                let (start, end) = (gone[0], gone[gone.len() - 1]);
                let op = format!("{{\"op\":\"replace\",\"start\":{start},\"end\":{end}}}");
                format!("\"sourceEventSeqs\":{gone:?},\"surfaceOp\":{op}")
            }
        };
        log.push_str(&line(
            "user/message",
            seq,
            &format!("\"data\":{{\"content\":\"x\"}},{surface}"),
        ));
        seq += 1;
    };
    (0..first).for_each(|_| push(&mut nodes, None));
    for number in 0..count {
        let (joins, range) = rewrite(number, nodes.len());
        (0..joins).for_each(|_| push(&mut nodes, None));
        push(&mut nodes, Some(range));
    }
    log
}

/// A position that looks like chance.
fn any(number: usize, below: usize) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % below
}
