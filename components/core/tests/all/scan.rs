//! What is read in words and blocks must be what is read byte by byte, wherever it stands in a text.

use std::time::Instant;

use annals_core::chunk_rows::Row;
use annals_core::event::Envelope;
use annals_core::fault::Reason;
use annals_core::header::Header;
use annals_core::json::{self, JsonFaultKind, Value};
use annals_core::load::Loader;
use annals_core::session::Session;

/// SplitMix64: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

pub fn header() -> Header {
    Header {
        id: "s".into(),
        ..Header::default()
    }
}

#[test]
fn strings_end_where_they_end_at_every_offset() {
    // What is inserted, and where in it the grammar breaks, if it does.
    let pieces = [
        ("", None),
        ("é→😀", None),
        ("\u{7f}", None),
        (" !#[]^", None),
        (r"\n\\\/\u00e9", None),
        (r#"\""#, None),
        ("\u{1f}", Some(0)),
        ("\0", Some(0)),
        (r"\x", Some(1)),
        (r"\u12g4", Some(4)),
    ];
    for before in 0..40 {
        for after in 0..40 {
            for (piece, breaks) in pieces {
                let text = format!("[\"{}{piece}{}\",1]", "a".repeat(before), "b".repeat(after));
                let fault = json::check(&text).err();
                let found = fault.map(|fault| (fault.kind, fault.byte));
                let due = breaks.map(|at| (JsonFaultKind::Syntax, 2 + before + at));
                assert_eq!(found, due, "{text}");
            }
        }
    }
}

#[test]
fn lists_of_seqs_are_read_in_every_spelling() {
    let mut random = Random(1);
    for round in 0..20_000 {
        let count = random.below(30);
        let mut seqs: Vec<u64> = Vec::new();
        let mut next = random.below(10u64.pow(1 + round % 9));
        for _ in 0..count {
            seqs.push(next);
            next = match random.below(12) {
                0 => random.below(1 << 53),
                1 => next,
                2 => next.saturating_sub(random.below(20)),
                3 => next + random.below(200),
                _ => next + 1,
            };
        }
        let spell = |random: &mut Random, seq: u64| match random.below(60) {
            0 => format!(" {seq}"),
            1 => format!("{seq} "),
            2 => format!("{seq}.0"),
            3 if seq < 1000 => format!("{seq}e0"),
            _ => seq.to_string(),
        };
        let spelled: Vec<String> = seqs.iter().map(|seq| spell(&mut random, *seq)).collect();
        let text = format!("[{}]", spelled.join(","));
        let value = Value::parse(&text).unwrap();
        assert_eq!(value.as_seqs(), Some(seqs), "{text}");
        let elements: Vec<&str> = value.elements().map(Value::text).collect();
        let trimmed: Vec<&str> = spelled.iter().map(|seq| seq.trim()).collect();
        assert_eq!(elements, trimmed, "{text}");
    }
    for text in [
        "[1,-1]",
        "[1,1.5]",
        "[1,9007199254740992]",
        "[1,\"2\"]",
        "{}",
        "7",
    ] {
        assert_eq!(Value::parse(text).unwrap().as_seqs(), None, "{text}");
    }
    for text in [
        "[1,02]",
        "[12,]",
        "[,1]",
        "[1,,2]",
        "[1234567,12345678a]",
        "[1 2]",
    ] {
        assert!(json::check(text).is_err(), "{text}");
    }
}

#[test]
fn numbers_are_read_whatever_their_length() {
    for length in 1..25 {
        let digits: String = "1234567890".chars().cycle().take(length).collect();
        let known: Option<i64> = digits.parse().ok().filter(|value| *value < 1 << 53);
        for (text, value) in [
            (digits.clone(), known),
            (format!("-{digits}"), known.map(|value| -value)),
        ] {
            assert_eq!(
                Value::parse(&text).unwrap().as_safe_integer(),
                value,
                "{text}"
            );
            let padded = format!("[{text},\"{}\"]", "x".repeat(20));
            let first = Value::parse(&padded).unwrap().elements().next().unwrap();
            assert_eq!(
                (first.text(), first.as_safe_integer()),
                (text.as_str(), value)
            );
        }
        assert!(json::check(&format!("0{digits}")).is_err());
        assert!(json::check(&format!("[0{digits},\"aaaaaaaaaaaaaaaa\"]")).is_err());
    }
}

#[test]
fn rows_of_any_steps_and_texts_are_read_alike() {
    let mut random = Random(2);
    for _ in 0..20_000 {
        let count = 1 + random.below(30) as usize;
        let steps: Vec<String> = (1..count)
            .map(|_| match random.below(30) {
                0 => "-0".to_owned(),
                1 => "007".to_owned(),
                2 => "1.0".to_owned(),
                3 | 4 => format!("-{}", 1 + random.below(50)),
                5 => random.below(1 << 40).to_string(),
                6 | 7 => random.below(1000).to_string(),
                8..14 => (10 + random.below(90)).to_string(),
                _ => random.below(10).to_string(),
            })
            .collect();
        let texts: Vec<String> = (0..count)
            .map(|_| {
                let pieces = [
                    "a",
                    ",",
                    "é",
                    r"\n",
                    r#"\""#,
                    "]",
                    " word",
                    "a longer piece of text",
                ];
                let length = random.below(4);
                let text: String = (0..length)
                    .map(|_| pieces[random.below(pieces.len() as u64) as usize])
                    .collect();
                format!("\"{text}\"")
            })
            .collect();
        let line = format!(
            r#"{{"type":"text-chunks","seq0":7,"time0":{},"data":{{"turn":1,"step":2,"index":0,"dt":[{}],"texts":[{}]}}}}"#,
            random.below(1 << 41),
            steps.join(","),
            texts.join(",")
        );
        let usual = Row::read_canonical(&line);
        let Ok(value) = Value::parse(&line) else {
            assert!(usual.is_none(), "{line}");
            continue;
        };
        let Ok(row) = Row::read(value) else {
            assert!(usual.is_none(), "{line}");
            continue;
        };
        assert_eq!(row.count, count as u64, "{line}");
        let facts = |row: &Row<'_>| (row.seq0, row.count, row.last_time_ms, row.min_time_ms);
        match usual {
            Some(usual) => assert_eq!(facts(&usual), facts(&row), "{line}"),
            None => assert!(line.contains("1.0"), "{line}"),
        }
    }
}

#[test]
fn an_envelope_is_the_same_in_any_spelling() {
    let data = [
        r#"{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":" a"}}"#,
        r#"{"turn":1,"step":1,"chunk":{"type":"tool-call-delta","index":1,"id":"c","argumentsDelta":"{"}}"#,
        r#"{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":" a","more":1}}"#,
        r#"{"content":[],"provenance":{"provider":"p","model":"m"},"provenance":{}}"#,
        r#"{"provenance":{"provider":"p","model":"m"}}"#,
        "{}",
        "null",
    ];
    let tails = [
        "",
        r#","surfaceOp":"append""#,
        r#","sourceEventSeqs":[0,1],"surfaceOp":"append""#,
        r#","surfaceOp":"append","sourceEventSeqs":[0,1]"#,
        r#","other":1"#,
        r#","seq":4"#,
    ];
    for event_type in ["assistant/chunk", "assistant/message", "text-chunks", "x"] {
        for data in data {
            for tail in tails {
                let usual =
                    format!(r#"{{"type":"{event_type}","seq":3,"time":1000,"data":{data}{tail}}}"#);
                let other = usual.replacen('{', "{ ", 1);
                let (one, two) = (
                    Envelope::read(&usual).unwrap(),
                    Envelope::read(&other).unwrap(),
                );
                let members = |envelope: &Envelope<'_>| {
                    [
                        envelope.event_type,
                        envelope.seq,
                        envelope.time,
                        envelope.data,
                        envelope.surface_op,
                        envelope.source_event_seqs,
                    ]
                    .map(|value| value.map(|value| value.text().to_owned()))
                };
                assert_eq!(members(&one), members(&two), "{usual}");
                assert_eq!(one.seq_value(), two.seq_value(), "{usual}");
                assert_eq!(one.time_ms(), two.time_ms(), "{usual}");
                let judge = |envelope: &Envelope<'_>| {
                    let checked = annals_core::event::check_seed_envelope(envelope, 3);
                    checked
                        .map(|event| event.time_ms)
                        .map_err(|fault| fault.reason)
                };
                assert_eq!(judge(&one), judge(&two), "{usual}");
            }
        }
    }
}

/// Lines are read with a look beyond their end; a line that ends inside of something must not go on behind its newline.
#[test]
fn a_line_ends_at_its_newline() {
    for (whole, at) in [
        r#"{"type":"a","seq":0,"time":1,"data":{}}"#,
        r#"{"type":"assistant/chunk","seq":0,"time":1,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"abc"}}}"#,
        r#"{"type":"assistant/message","seq":0,"time":1,"data":{"content":[]},"sourceEventSeqs":[0,1,2,3,10,11],"surfaceOp":"append"}"#,
    ]
    .into_iter()
    .flat_map(|whole| (1..whole.len()).map(move |at| (whole, at)))
    {
        let (one, other) = whole.split_at(at);
        let mut loader = Loader::new(header(), 10);
        loader.lines(format!("{one}\n{other}\n{whole}\n"), None);
        let loaded = loader.finish().unwrap();
        assert_eq!(loaded.session.next_seq(), 0, "{one}");
        assert_eq!(loaded.cut.unwrap().line, 2, "{one}");
        let seeded = Session::from_seed(header(), &format!("{one}\n{other}\n"));
        assert_eq!(seeded.unwrap_err().reason, Reason::SeedNotJson, "{one}");
    }
}

/// Lines are read with a look beyond their end, and whitespace inside of a value once led on to the end of the page: a
/// page of lines that break off behind a bracket took a time that grew with the square of its length.
#[test]
fn a_line_that_breaks_off_is_not_read_on_to_the_end_of_its_page() {
    const LINES: usize = 4_000;
    let time_of = |line: &str| {
        let page = format!("{line}\n").repeat(LINES);
        let mut loader = Loader::new(header(), 10);
        let started = Instant::now();
        loader.lines(&page, None);
        let elapsed = started.elapsed();
        assert_eq!(loader.finish().unwrap().cut.unwrap().line, 2);
        elapsed
    };
    for (open, closed) in [
        (r#"{"type":"x","data":["#, r#"{"type":"x","data":]"#),
        (
            r#"{"type":"assistant/message","data":{"#,
            r#"{"type":"assistant/message","data":]"#,
        ),
        (
            r#"{"type":"x","data":1,"surfaceOp":["#,
            r#"{"type":"x","data":1,"surfaceOp":]"#,
        ),
    ] {
        // Reading on took hundreds of times as long.
        let (broken_off, wrong) = (time_of(open), time_of(closed));
        assert!(
            broken_off < 30 * wrong,
            "{open}: {broken_off:?}, and {wrong:?} for a line that is wrong at once"
        );
    }
}

/// A page becomes part of the log when all of its lines are added: what the last one was must be known all the same.
#[test]
fn a_rewrite_finds_the_line_before_it_in_the_same_page() {
    let lines = concat!(
        r#"{"type":"tool/result","seq":0,"time":1,"data":{"callId":"c","content":"long"},"surfaceOp":"append"}"#,
        "\n",
        r#"{"type":"tool/result","seq":1,"time":1,"data":{"callId":"c","content":"short"},"sourceEventSeqs":[0],"surfaceOp":{"op":"replace","start":0,"end":0}}"#,
        "\n",
        r#"{"type":"turn/end","seq":2,"time":1,"data":{}}"#,
        "\n",
    );
    let mut loader = Loader::new(header(), 10);
    loader.lines(lines, None);
    let loaded = loader.finish().unwrap();
    let seeded = Session::from_seed(header(), lines.trim_end()).unwrap();
    for session in [loaded.session, seeded] {
        assert_eq!(session.surface().nodes().collect::<Vec<_>>(), [1]);
        assert_eq!(session.stored_from(0).lines, lines);
    }
}
