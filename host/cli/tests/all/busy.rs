//! A session that somebody else writes.

use std::fs;

use crate::support::{OPEN_TURN, Place, TURN};

// The holder's time was shown as it is stored, in milliseconds.
#[test]
fn a_holder_is_described_for_people() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let holder = r#"{"host":"elsewhere","pid":7,"since":1783860675270}"#;
    let lease = format!("{:020} held done\n{holder}\n", 3);
    fs::write(place.root().join("_leases/a1.lease/9"), lease).unwrap();
    for args in [&["resume", "a1"][..], &["append", "a1"], &["delete", "a1"]] {
        let ran = place.feed(args, b"{\"type\":\"turn/start\",\"data\":{\"turn\":1}}\n");
        ran.fails(
            1,
            &["a1", "elsewhere", "pid 7", "since 2026-07-12T12:51:15Z"],
        );
    }
}

// Who was told to fork a session that somebody works in was refused that as well, for its last turn was open.
#[test]
fn a_fork_in_the_middle_of_a_turn_is_told_where_it_can_begin() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", OPEN_TURN);
    let ran = place.run(&["fork", "a1"]);
    ran.fails(1, &["a1"]);
    assert!(!ran.err.contains("--at"), "no turn has ended: {}", ran.err);
    place.ok(&["resume", "a1"]);
    place.append("a1", TURN);
    let ended = place
        .ok(&["show", "a1", "--format", "jsonl"])
        .lines()
        .count()
        - 1;
    place.append("a1", OPEN_TURN);
    let words = format!("--at {ended} forks before the open turn");
    place.run(&["fork", "a1"]).fails(1, &[&words]);
    place.ok(&["fork", "a1", "--at", &ended.to_string()]);
}
