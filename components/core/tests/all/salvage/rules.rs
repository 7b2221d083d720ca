//! Events that break a rule, and packed rows.

use super::{event, joined, lines, log, message, salvage};

#[test]
fn what_breaks_a_rule_is_set_aside_and_its_place_marked() {
    let bad = r#"{"type":"plugin/x","seq":1,"time":-1,"data":{}}"#.to_owned();
    let lossy = r#"{"type":"plugin/x","seq":2,"time":1,"data":-0}"#.to_owned();
    let more = r#"{"type":"plugin/x","seq":3,"time":1,"data":1,"more":1}"#.to_owned();
    let salvaged = salvage(&log(&[
        event(0),
        bad.clone(),
        lossy,
        more,
        event(4),
        "[]".into(),
        "5".into(),
    ]));
    let found = lines(&salvaged);
    assert_eq!((&found[0], &found[4]), (&event(0), &event(4)));
    let reasons = [
        "seed-envelope-invalid",
        "seed-not-json",
        "seed-envelope-invalid",
    ];
    for (line, reason) in found[6..].iter().zip(reasons) {
        assert!(line.contains(&format!("\"reason\":\"{reason}\"")), "{line}");
    }
    assert!(found[6].contains(&serde_json::to_string(&bad).unwrap()));
    assert_eq!(found.len(), 9);
}

/// A compaction whose range was lost cannot be replayed: the surface would not open.
#[test]
fn a_rewrite_of_what_is_gone_is_set_aside() {
    let all = [
        message(0, "\"append\"", ""),
        "lost".to_owned(),
        message(2, "\"append\"", ""),
        message(3, r#"{"op":"replace","start":1,"end":2}"#, "[1,2]"),
        message(4, r#"{"op":"replace","start":3,"end":3}"#, "[3]"),
        message(5, r#"{"op":"replace","start":0,"end":2}"#, "[0,2]"),
    ];
    let salvaged = salvage(&log(&all));
    let found = lines(&salvaged);
    let is_gap = |seq: usize| found[seq].contains("salvage/gap");
    assert!(is_gap(1) && is_gap(3) && is_gap(4));
    assert_eq!(found[5], all[5]);
    assert!(found[3].contains("replace-start-not-found"), "{}", found[3]);
    assert_eq!(salvaged.session.surface().nodes().collect::<Vec<_>>(), [5]);
    assert_eq!((found.len(), salvaged.report.set_aside), (8, 2));
}

const ROW: &str = r#"{"type":"text-chunks","seq0":1,"time0":5,"data":{"turn":1,"step":1,"index":0,"dt":[1,2,3],"texts":["a","b","c","d"]}}"#;

#[test]
fn a_packed_row_stays_packed_and_a_torn_one_gives_its_leading_events() {
    let salvaged = salvage(&log(&[event(0), ROW.to_owned(), event(5)]));
    assert_eq!(salvaged.report.findings, []);
    assert_eq!(salvaged.report.in_place, 6);
    let torn = &ROW[..ROW.find(r#","d""#).unwrap() + 2];
    for fused in ["", &event(5)] {
        let rest = if fused.is_empty() {
            vec![event(5)]
        } else {
            Vec::new()
        };
        let salvaged = salvage(&log(&joined(&[
            &[event(0), format!("{torn}{fused}")],
            &rest,
        ])));
        let found = lines(&salvaged);
        assert_eq!(
            found[1],
            ROW.replace("[1,2,3]", "[1,2]").replace(r#","d""#, "")
        );
        assert_eq!((&found[3], found.len()), (&event(5), 4), "{found:?}");
        assert!(found[2].contains(r#""seq":4,"time":8"#), "{}", found[2]);
    }
    // malformed but whole: its line is kept
    let long = ROW.replace("[1,2,3]", "[1,2]");
    let found = lines(&salvage(&log(&[event(0), long.clone(), event(5)])));
    assert!(
        found[6].contains("row-dt-length")
            && found[6].contains(&serde_json::to_string(&long).unwrap())
    );
}
