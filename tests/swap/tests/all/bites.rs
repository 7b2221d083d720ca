//! The checker finds what is wrong: each harm that a change of backends could do, done on purpose to what was right.

use std::fs;

use annals::Batch;

use crate::checker::{Due, Findings, hold_journal, hold_medium};
use crate::exchange;
use crate::journal::{Sessions, Told};
use crate::medium::Medium;

const ID: &str = "a";

fn line(seq: u64, mark: u64) -> String {
    format!(r##"{{"type":"plugin/note","seq":{seq},"time":1,"data":{{"text":"#{mark}#"}}}}"##)
}

fn batch(first_seq: u64, lines: &[String]) -> Batch {
    Batch {
        first_seq,
        count: lines.len() as u64,
        last_time_ms: 1,
        lines: lines.iter().map(|line| format!("{line}\n")).collect(),
    }
}

/// Five events, told to their callers and to the observer.
fn told() -> Sessions {
    let mut told = Told::default();
    for seq in 0..5 {
        let batch = batch(seq, &[line(seq, seq)]);
        told.observe(&batch);
        told.acknowledge(&batch);
    }
    Sessions::from([(ID.to_owned(), told)])
}

fn stored(harm: impl FnOnce(&mut Vec<String>)) -> Medium {
    let mut lines: Vec<String> = (0..5).map(|seq| line(seq, seq)).collect();
    harm(&mut lines);
    Medium {
        name: "medium".to_owned(),
        logs: [(ID.to_owned(), lines)].into(),
        rows: 0,
        unreadable: Vec::new(),
    }
}

/// How many of each: lost, doubled, wrong.
fn counts(findings: &Findings) -> [usize; 3] {
    let Findings {
        lost,
        doubled,
        wrong,
        ..
    } = findings;
    [lost.len(), doubled.len(), wrong.len()]
}

#[test]
fn each_harm_is_found_and_called_what_it_is() {
    type Harm = (&'static str, fn(&mut Vec<String>), [usize; 3]);
    let harms: [Harm; 9] = [
        ("nothing", |_| (), [0, 0, 0]),
        ("the last is missing", |lines| drop(lines.pop()), [1, 0, 0]),
        ("all are missing", Vec::clear, [5, 0, 0]),
        (
            "one in the middle is missing",
            |lines| drop(lines.remove(2)),
            [1, 0, 2],
        ),
        (
            "one is there twice",
            |lines| lines.insert(3, lines[2].clone()),
            [0, 1, 3],
        ),
        (
            "the last is stored again under the next seq",
            |lines| lines.push(line(5, 4)),
            [0, 1, 1],
        ),
        ("two change places", |lines| lines.swap(1, 2), [0, 0, 2]),
        (
            "a byte is another one",
            |lines| lines[2] = lines[2].replace("note", "nota"),
            [1, 0, 1],
        ),
        (
            "one was never appended",
            |lines| lines.push(line(5, 9)),
            [0, 0, 1],
        ),
    ];
    for (what, harm, expected) in harms {
        let findings = hold_medium(&stored(harm), &told(), |_| Some(Due::Whole));
        assert_eq!(counts(&findings), expected, "{what}: {findings:?}");
    }
}

#[test]
fn a_medium_that_was_left_may_end_early_but_not_too_early() {
    let cut = stored(|lines| lines.truncate(3));
    for (least, expected) in [(0, 0), (3, 0), (4, 1), (5, 2)] {
        let findings = hold_medium(&cut, &told(), |_| Some(Due::Prefix(least)));
        assert_eq!(counts(&findings), [expected, 0, 0], "{findings:?}");
    }
    let gap = stored(|lines| drop(lines.remove(1)));
    let findings = hold_medium(&gap, &told(), |_| Some(Due::Prefix(0)));
    assert_eq!(counts(&findings), [1, 0, 3], "{findings:?}");
    let nothing = Medium {
        logs: [("b".to_owned(), vec![line(0, 0)])].into(),
        ..stored(|_| ())
    };
    let findings = hold_medium(&nothing, &told(), |_| Some(Due::Whole));
    assert_eq!(counts(&findings), [1, 0, 1], "{findings:?}");
}

#[test]
fn callers_and_observer_are_told_the_same() {
    let harm = |harm: fn(&mut Told)| {
        let mut sessions = told();
        harm(sessions.get_mut(ID).unwrap());
        counts(&hold_journal(&sessions))
    };
    assert_eq!(harm(|_| ()), [0, 0, 0]);
    let again = |told: &mut Told| told.acknowledge(&batch(2, &[line(2, 2)]));
    assert_eq!(harm(again), [0, 0, 1]);
    let untold = |told: &mut Told| told.acknowledge(&batch(5, &[line(5, 5)]));
    assert_eq!(harm(untold), [1, 0, 0]);
    // the same event once more, at the next seq: the log doubles it
    let twice = |told: &mut Told| told.observe(&batch(5, &[line(5, 4)]));
    assert_eq!(harm(twice), [0, 1, 0]);
    let late = |told: &mut Told| told.observe(&batch(7, &[line(7, 7)]));
    assert_eq!(harm(late), [0, 0, 1]);
}

/// After a real run: a file that loses a line, one that repeats one, and a byte in the middle of one.
#[test]
fn a_file_that_was_tampered_with_is_found() {
    let mut evidence = exchange::run(2_000);
    evidence.findings().check();
    let path = evidence.scene.first.join("_no-cwd/steady-3.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let without: String = [&lines[..9], &lines[10..]].concat().concat();
    let twice: String = [&lines[..10], &lines[9..]].concat().concat();
    let other = text.replacen("1.50", "1.05", 1);
    for (harm, lost, doubled) in [
        (without, true, false),
        (twice, false, true),
        (other, true, false),
    ] {
        assert_ne!(harm, text);
        fs::write(&path, harm).unwrap();
        evidence.end[0] = Medium::of_files("first", &evidence.scene.first);
        let findings = evidence.findings();
        assert!(!findings.wrong.is_empty());
        assert_eq!(!findings.lost.is_empty(), lost, "{:?}", findings.lost);
        assert_eq!(!findings.doubled.is_empty(), doubled);
    }
    fs::write(&path, text.trim_end()).unwrap();
    evidence.end[0] = Medium::of_files("first", &evidence.scene.first);
    assert!(!evidence.findings().wrong.is_empty(), "a torn end");
}
