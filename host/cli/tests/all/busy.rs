//! A session that somebody else writes.

use std::fs;

use crate::support::Place;

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
