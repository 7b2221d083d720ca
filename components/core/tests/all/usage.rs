use annals_core::header::Header;
use annals_core::session::Session;
use annals_core::usage::{Tokens, Usage, usage};

fn tokens(pairs: &[(&str, u64)]) -> Tokens {
    pairs
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect()
}

/// Steps as `turn/step: sum`, for comparing.
fn steps(usage: &Usage) -> Vec<(Option<u64>, Option<u64>, Tokens)> {
    usage
        .steps
        .iter()
        .map(|step| (step.turn, step.step, step.tokens.clone()))
        .collect()
}

fn numbered(drafts: &[&str]) -> String {
    let lines = drafts.iter().enumerate();
    lines
        .map(|(seq, draft)| format!("{{\"seq\":{seq},\"time\":0,{draft}}}\n"))
        .collect()
}

const CHUNK_1: &str = r#""type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"usage","usage":{"inputTokens":3,"outputTokens":1}}}"#;
const CHUNK_2: &str = r#""type":"assistant/chunk","data":{"turn":1,"step":2,"chunk":{"type":"usage","usage":{"inputTokens":5}}}"#;
const MESSAGE_1: &str = r#""type":"assistant/message","data":{"turn":1,"step":1,"content":[],"provenance":{"provider":"p","model":"m"},"usage":{"inputTokens":30}},"surfaceOp":"append""#;
const MESSAGE_2: &str = r#""type":"assistant/message","data":{"turn":1,"step":2,"content":[],"provenance":{"provider":"p","model":"m"},"usage":{"inputTokens":50,"cacheReadTokens":7}},"surfaceOp":"append""#;
const START_1: &str = r#""type":"step/start","data":{"turn":1,"step":1}"#;
const TEXT: &str = r#""type":"assistant/chunk","data":{"turn":1,"step":2,"chunk":{"type":"text-delta","index":0,"text":"x","usage":{"inputTokens":9}}}"#;

#[test]
fn chunks_count_and_a_message_stands_in_for_them() {
    let one = || {
        (
            Some(1),
            Some(1),
            tokens(&[("inputTokens", 3), ("outputTokens", 1)]),
        )
    };
    let two = || {
        (
            Some(1),
            Some(2),
            tokens(&[("inputTokens", 50), ("cacheReadTokens", 7)]),
        )
    };
    let rewrite = MESSAGE_2.replace(
        "\"append\"",
        r#"{"op":"replace","start":1,"end":1},"sourceEventSeqs":[1]"#,
    );
    let odd = CHUNK_1.replace(
        "\"outputTokens\":1",
        r#""outputTokens":1.5,"x":-1,"y":"2","z":{"a":1},"inputTokens":4"#,
    );
    let cases: &[(&[&str], Vec<_>)] = &[
        (&[], vec![]),
        (&[START_1, CHUNK_1, MESSAGE_1], vec![one()]),
        (&[MESSAGE_1, CHUNK_1], vec![one()]),
        (
            &[CHUNK_1, MESSAGE_1, TEXT, MESSAGE_2, &rewrite],
            vec![one(), two()],
        ),
        // a request that failed, and its repetition
        (
            &[CHUNK_1, CHUNK_1, MESSAGE_1],
            vec![(
                Some(1),
                Some(1),
                tokens(&[("inputTokens", 6), ("outputTokens", 2)]),
            )],
        ),
        // a loop that counts anew does not join a step of the same number
        (
            &[CHUNK_1, START_1, MESSAGE_1],
            vec![one(), (Some(1), Some(1), tokens(&[("inputTokens", 30)]))],
        ),
        (
            &[&odd],
            vec![(Some(1), Some(1), tokens(&[("inputTokens", 4)]))],
        ),
    ];
    for (drafts, expected) in cases {
        let log = numbered(drafts);
        let found = usage(&log, 0).unwrap();
        assert_eq!(&steps(&found), expected, "{log}");
        let mut total = Tokens::new();
        for (_, _, step) in expected {
            for (name, count) in step {
                *total.entry(name.clone()).or_default() += count;
            }
        }
        assert_eq!(found.total, total, "{log}");
    }
}

#[test]
fn sums_stay_at_the_greatest_number() {
    let most = CHUNK_2.replace(":5}", ":9007199254740991}");
    let drafts = vec![most.as_str(); 2100];
    let total = usage(&numbered(&drafts), 0).unwrap().total;
    assert_eq!(total, tokens(&[("inputTokens", u64::MAX)]));
}

#[test]
fn an_inherited_prefix_is_the_parents() {
    let end = |turn| {
        format!(r#""type":"turn/end","data":{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#)
    };
    let start = |turn| format!(r#""type":"turn/start","data":{{"turn":{turn}}}"#);
    let second = CHUNK_2.replace("\"turn\":1", "\"turn\":2");
    let log = numbered(&[
        &start(1),
        CHUNK_1,
        MESSAGE_1,
        &end(1),
        &start(2),
        &second,
        &end(2),
    ]);
    let header = |seed_length| Header {
        id: "s".into(),
        seed_length,
        ..Header::default()
    };
    let parent = Session::from_seed(header(None), &log).unwrap();
    assert_eq!(
        parent.usage().total,
        tokens(&[("inputTokens", 8), ("outputTokens", 1)])
    );
    let child = Session::from_seed(header(Some(4)), &log).unwrap();
    let own = child.usage();
    assert_eq!(
        steps(&own),
        [(Some(2), Some(2), tokens(&[("inputTokens", 5)]))]
    );
    assert_eq!(own, usage(&log, 4).unwrap());
    assert_eq!(child.usage_from(0), parent.usage());
    assert_eq!(child.usage_from(99), Usage::default());
}

#[test]
fn rows_are_passed_over_and_broken_lines_named() {
    let row = "{\"type\":\"text-chunks\",\"seq0\":0,\"time0\":0,\"data\":{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[0,0],\"texts\":[\"a\",\"b\",\"c\"]}}\n";
    let log = format!("{row}{{\"seq\":3,\"time\":0,{CHUNK_1}}}\n");
    assert_eq!(usage(&log, 0).unwrap().steps.len(), 1);
    let fault = usage(&format!("{log}x\n"), 0).unwrap_err();
    assert_eq!(
        (fault.reason.label(), fault.number_of("line")),
        ("json-syntax", Some(3))
    );
}
