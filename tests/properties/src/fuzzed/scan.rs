//! Lines: the scanner of one, and how a log is taken in however it is cut into pages.

use annals_core::event::TURN_END;
use annals_core::json::Value;
use annals_core::load::Loader;
use annals_core::record::{Line, read_line};

use super::loading::{HEADER_BYTES, Outcome, load, loader, outcome, seeded, whole_text};
use super::{body, json, random};
use crate::random::Random;

/// Lines of an input that are scanned one by one.
const LINES_MAX: usize = 200;

/// A text is JSON where `serde_json` says so, without numbers that a double cannot carry; a log taken in page by page
/// is the log taken in as one piece; and that is what a plain reading of the rules makes of it.
pub fn scan(data: &[u8]) {
    let body = body(data);
    if let Ok(text) = std::str::from_utf8(&body) {
        json::check(text);
    }
    for line in body.split(|byte| *byte == b'\n').take(LINES_MAX) {
        if let Ok(line) = std::str::from_utf8(line) {
            json::check(line);
        }
    }
    let mut random = random(data);
    check_nested(&body, &mut random);
    let whole = outcome(load(&body));
    check_judgement(&body, None, &whole);
    check_broken(&body, &mut random);
    for lines_max in [1, 2, 7] {
        assert_eq!(load_in_pages(&body, lines_max, &mut random), whole);
    }
}

/// Scans one line again, deep inside arrays and objects.
fn check_nested(body: &[u8], random: &mut Random) {
    let lines: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
    let Ok(line) = std::str::from_utf8(lines[random.below(lines.len())]) else {
        return;
    };
    let (mut open, mut close) = (String::new(), Vec::new());
    for _ in 0..random.below(200) {
        let brackets = [("[", "]"), ("[0,", "]"), ("{\"a\":", "}")];
        let (bracket, end) = brackets[random.below(brackets.len())];
        open.push_str(bracket);
        close.push(end);
    }
    if random.below(8) == 0 {
        close.pop();
    }
    close.reverse();
    json::check(&format!("{open}{line}{}", close.concat()));
}

/// Hands the log over as a backend may: whole lines as text or as bytes, an end without a newline in any pieces.
fn load_in_pages(body: &[u8], lines_max: usize, random: &mut Random) -> Outcome {
    let lines: Vec<&[u8]> = body.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut pages, mut rest) = (Vec::new(), &*lines);
    while !rest.is_empty() {
        let (page, others) = rest.split_at((1 + random.below(lines_max)).min(rest.len()));
        rest = others;
        let length = page.concat().len();
        if page.len() == 1 && !page[0].ends_with(b"\n") {
            let cut = random.below(length + 1);
            pages.extend([cut, length - cut]);
        } else {
            pages.push(length);
        }
    }
    load_pages(body, &pages, random)
}

/// A line that comes in pieces is torn, also where its newline comes in the end.
fn check_broken(body: &[u8], random: &mut Random) {
    if body.is_empty() {
        return;
    }
    // What is left of two fused lines may look like a whole one.
    let fused = body.windows(2).position(|pair| pair == b"}{");
    let fused = fused.filter(|_| random.below(2) == 0);
    let cut = 1 + fused.unwrap_or_else(|| random.below(body.len()));
    let line_start = body[..cut - 1].iter().rposition(|byte| *byte == b'\n');
    let line_start = line_start.map_or(0, |end| end + 1);
    let is_broken = body[cut - 1] != b'\n';
    let broken = is_broken.then_some(line_start as u64);
    let outcome = load_pages(
        body,
        &[line_start, cut - line_start, body.len() - cut],
        random,
    );
    check_judgement(body, broken, &outcome);
}

fn load_pages(body: &[u8], pages: &[usize], random: &mut Random) -> Outcome {
    let mut loader = loader();
    let mut at = 0;
    for length in pages {
        let page = &body[at..at + length];
        hand_over(&mut loader, page, HEADER_BYTES + at as u64, random);
        at += length;
    }
    outcome(loader.finish())
}

fn hand_over(loader: &mut Loader, page: &[u8], at_byte: u64, random: &mut Random) {
    let at_byte = (random.below(2) == 0).then_some(at_byte);
    match std::str::from_utf8(page) {
        Ok(text) if random.below(3) > 0 => loader.lines(text, at_byte),
        _ => loader.raw(page, at_byte),
    }
}

/// What the file layer says of one line.
#[derive(Default)]
struct Judged {
    is_bad: bool,
    ends_turn: bool,
    events: u64,
}

/// The rules as they are written down: the first bad line, the last end of a turn, and which of them comes first.
/// `broken` is where a line begins that came in pieces.
fn check_judgement(body: &[u8], broken: Option<u64>, whole: &Outcome) {
    let mut next_seq = 0;
    let mut judged: Vec<(u64, Judged)> = Vec::new();
    let mut byte = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let is_broken = broken == Some(byte);
        let verdict = judge(if is_broken { b"" } else { line }, next_seq);
        if !verdict.is_bad {
            next_seq += verdict.events;
        }
        judged.push((byte, verdict));
        byte += line.len() as u64;
    }
    let bad = judged.iter().position(|(_, line)| line.is_bad);
    let (kept, tail) = judged.split_at(bad.unwrap_or(judged.len()));
    let kept_bytes = tail.first().map_or(body.len() as u64, |(byte, _)| *byte);
    let events = |lines: &[(u64, Judged)]| lines.iter().map(|(_, line)| line.events).sum::<u64>();
    if tail.iter().any(|(_, line)| line.ends_turn) {
        let fault = whole
            .as_ref()
            .expect_err("damage before the end of a turn is refused");
        assert!(fault.reason.label().starts_with("log-corrupt-"), "{fault}");
        assert_eq!(fault.number_of("byte"), Some(HEADER_BYTES + kept_bytes));
        assert_eq!(fault.number_of("line"), Some(kept.len() as u64 + 2));
        return;
    }
    let kept_text = whole_text(&body[..kept_bytes as usize]).expect("what is kept is whole lines");
    match (seeded(kept_text), whole) {
        (Ok(session), Ok((seen, cut))) => {
            assert_eq!(seen.lines, kept_text);
            assert_eq!(session.next_seq(), events(kept));
            let Some(cut) = cut else {
                assert!(tail.is_empty());
                return;
            };
            assert_eq!(cut.byte, HEADER_BYTES + kept_bytes);
            assert_eq!(cut.line, kept.len() as u64 + 2);
            assert_eq!(cut.bytes, body.len() as u64 - kept_bytes);
            assert_eq!((cut.keep_events, cut.events), (events(kept), events(tail)));
        }
        (Err(seed), Err(fault)) => assert_eq!(seed.reason, fault.reason),
        (seed, whole) => panic!("as a seed {:?}, as a log {whole:?}", seed.map(|_| ())),
    }
}

fn judge(line: &[u8], next_seq: u64) -> Judged {
    let bad = Judged {
        is_bad: true,
        ..Judged::default()
    };
    let Some(whole) = line.strip_suffix(b"\n") else {
        return bad;
    };
    let is_utf8 = std::str::from_utf8(whole).is_ok();
    match read_line(&String::from_utf8_lossy(whole)) {
        Err(_) => bad,
        Ok(Line::Row(_)) if !is_utf8 => bad,
        Ok(Line::Row(row)) => Judged {
            is_bad: row.seq0 != next_seq,
            ends_turn: false,
            events: row.count,
        },
        Ok(Line::Event(event)) => {
            let seq = event.seq.and_then(Value::as_seq);
            Judged {
                is_bad: !is_utf8 || seq != Some(next_seq),
                ends_turn: event.is_type(TURN_END),
                events: u64::from(is_utf8 && seq.is_some()),
            }
        }
    }
}
