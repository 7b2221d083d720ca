//! Bytes are stored as given.

use crate::Check;
use crate::samples::{batch_of, event, header, time_ms};
use crate::trial::{Checked, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "bytes/numbers",
        proves: "numbers keep their spelling",
        run: numbers,
    },
    Check {
        name: "bytes/members",
        proves: "members keep their order, their repetition and the space around them",
        run: members,
    },
    Check {
        name: "bytes/escapes",
        proves: "escapes stay as they are, lone surrogates included",
        run: escapes,
    },
    Check {
        name: "bytes/text",
        proves: "text of any script stays, and nothing but a newline ends a line",
        run: text,
    },
    Check {
        name: "bytes/nested",
        proves: "deep, empty and many-membered data stay",
        run: nested,
    },
];

/// Stores each of these data as an event, in the first batch and in a later one.
fn comes_back(trial: &mut Trial<'_>, data: &[&str]) -> Checked {
    let lines = |from: u64| -> String {
        let numbered = (from..).zip(data);
        numbered.map(|(seq, data)| event(seq, data)).collect()
    };
    come_back(trial, data.len() as u64, lines)
}

fn come_back(trial: &mut Trial<'_>, count: u64, lines: impl Fn(u64) -> String) -> Checked {
    let token = trial.stored_as(&header("a"), &batch_of(0, count, lines(0)))?;
    trial.append("a", &token, &batch_of(count, count, lines(count)))?;
    trial.holds(&header("a"), &format!("{}{}", lines(0), lines(count)))
}

fn numbers(trial: &mut Trial<'_>) -> Checked {
    comes_back(
        trial,
        &[
            "1.0",
            "1.50",
            "1e5",
            "1E+2",
            "0.1000",
            "100000000000000000000000",
            "12345678901234567890",
            "9007199254740993",
            "3.141592653589793238462643",
            "1e-7",
            "[0,-1,2.0e0]",
        ],
    )
}

fn members(trial: &mut Trial<'_>) -> Checked {
    let lines = |from: u64| {
        let line = |seq: u64, at: u64| {
            let time = time_ms(seq);
            match at {
                0 => format!(
                    "{{\"data\":{{\"z\":1,\"a\":2,\"m\":{{\"b\":1,\"a\":2}}}},\"time\":{time},\"seq\":{seq},\"type\":\"x\"}}\n"
                ),
                1 => format!(
                    "{{ \"type\" : \"x\" ,\t\"seq\": {seq}, \"time\": {time}, \"data\": {{ \"a\" : [ 1 , 2 ] }} }}\n"
                ),
                2 => event(seq, "{\"a\":1,\"a\":2}"),
                // white space of JSON that is no newline
                _ => format!("{}\r\n", event(seq, "{\"a\":\t1}").trim_end()),
            }
        };
        (0..5)
            .map(|at| {
                if at == 4 {
                    event(from + 4, "[]")
                } else {
                    line(from + at, at)
                }
            })
            .collect()
    };
    come_back(trial, 5, lines)
}

fn escapes(trial: &mut Trial<'_>) -> Checked {
    comes_back(
        trial,
        &[
            r#""\u00e9\/\"\\\b\f\n\r\t""#,
            r#""\ud83d""#,
            r#""\udc00 \ud83d\ude00 \uD83D x""#,
            r#"{"\ud83d":1,"\u0061":2}"#,
            r#""\u0000\u001f\u007f\u2028\u2029\ufeff\uffff""#,
            r#""\u0041A""#,
        ],
    )
}

fn text(trial: &mut Trial<'_>) -> Checked {
    comes_back(
        trial,
        &[
            "\"äöü ß é e\u{301}\"",
            "\"漢字 かな 한글\"",
            "\"😀👨‍👩‍👧 \u{10FFFF}\"",
            "\"\u{202E}right to left\u{202C} עברית العربية\"",
            // each of these ends a line for some program
            "\"a\u{2028}b\u{2029}c\u{85}d\u{7f}e\"",
            "\"\u{FEFF}byte order mark\u{FFFD}\u{FFFE}\"",
            "{\"ключ\":\"значение\"}",
        ],
    )
}

fn nested(trial: &mut Trial<'_>) -> Checked {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let bytes = trial.data_bytes(70_000)?;
    let members: Vec<String> = (0..bytes / 20)
        .map(|at| format!("\"k{at}\":{at}"))
        .collect();
    let many = format!("{{{}}}", members.join(","));
    let name = format!("{{\"{}\":0}}", "n".repeat(bytes));
    comes_back(
        trial,
        &["{}", "[]", "\"\"", "null", "true", &deep, &many, &name],
    )
}
