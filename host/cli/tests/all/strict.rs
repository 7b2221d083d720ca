//! `verify --strict`: whether the events fit together, besides what every log holds.

use std::fs;

use crate::support::{OPEN_TURN, Place, TURN, json};

/// A session `a1` whose second turn has the number of the first, then `end`.
fn counted_wrong(end: &[u8]) -> Place {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    place.append("a1", TURN);
    let log = place.log();
    fs::write(&log, [&fs::read(&log).unwrap(), end].concat()).unwrap();
    place
}

#[test]
fn what_does_not_fit_is_named_with_line_seq_and_reason() {
    let place = counted_wrong(b"");
    let events = TURN.lines().count() as u64;
    place.ok(&["verify", "a1"]);
    let before = place.everything();
    let ran = place.run(&["verify", "--strict", "a1", "--format", "jsonl"]);
    assert_eq!(ran.code, 3);
    let verdict = json(&ran.out);
    assert_eq!(
        (&verdict["status"], &verdict["reason"]),
        (&"invalid".into(), &"trace-turn-number".into())
    );
    assert_eq!(
        (&verdict["line"], &verdict["seq"], &verdict["events"]),
        (&(events + 2).into(), &events.into(), &(2 * events).into())
    );
    let ran = place.run(&["verify", "--strict", "a1"]);
    assert_eq!(ran.code, 3);
    for words in [
        "invalid",
        &format!("line {}", events + 2),
        "trace-turn-number",
    ] {
        assert!(ran.out.contains(words), "{}", ran.out);
    }
    assert_eq!(ran.out.lines().count(), 1);
    assert_eq!(place.everything(), before, "verifying writes nothing");
}

#[test]
fn one_that_does_not_fit_keeps_nobody_from_the_others() {
    let place = counted_wrong(b"");
    place.ok(&["create", "--id", "b1"]);
    place.append("b1", TURN);
    let ran = place.run(&["verify", "--strict"]);
    assert_eq!(ran.code, 3);
    let statuses: Vec<&str> = ran
        .out
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(statuses, ["invalid", "ok"]);
    assert!(ran.err.contains("1 of 2 sessions"), "{}", ran.err);
    place.ok(&["verify", "--strict", "b1"]);
}

#[test]
fn it_comes_before_a_bad_end_and_both_are_said() {
    let place = counted_wrong(b"{\"type\":");
    let ran = place.run(&["verify", "--strict", "a1", "--format", "jsonl"]);
    assert_eq!(ran.code, 3);
    let verdict = json(&ran.out);
    assert_eq!(
        (&verdict["status"], &verdict["reason"]),
        (&"damaged".into(), &"trace-turn-number".into())
    );
    let message = verdict["message"].as_str().unwrap();
    assert!(message.contains("8 bytes"), "{message}");
}

#[test]
fn an_open_turn_fits() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    place.append("a1", OPEN_TURN);
    place.ok(&["verify", "--strict", "a1"]);
}

/// What a salvage says of itself stands where it was found, and no turn is open there: strict refused every such log.
#[test]
fn a_salvaged_log_passes_where_only_bytes_were_lost() {
    let events = TURN.lines().count();
    // garbage between turns and at the end, and an event that cannot stand
    let aside = r#"{"type":"x","seq":0,"time":1,"data":null}"#;
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    place.append("a1", &TURN.replace("\"turn\":1", "\"turn\":2"));
    let log = place.log();
    let text = fs::read_to_string(&log).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(1 + events, "garbage");
    lines.push(aside);
    lines.push("more garbage");
    fs::write(&log, lines.join("\n")).unwrap();
    place.ok(&["salvage", "a1", "--fork", "b1"]);
    let shown = place.ok(&["show", "b1", "--format", "jsonl"]);
    assert!(
        shown.contains("salvage/gap") && shown.contains("salvage/set-aside"),
        "{shown}"
    );
    place.ok(&["verify", "--strict", "b1"]);
    // a turn without its start tells no whole story
    let text = text.replacen("\"type\":\"turn/start\"", "\"type\":\"turn/st", 1);
    fs::write(&log, text).unwrap();
    place.ok(&["salvage", "a1", "--fork", "c1"]);
    place.ok(&["verify", "c1"]);
    assert_eq!(place.run(&["verify", "--strict", "c1"]).code, 3);
}
