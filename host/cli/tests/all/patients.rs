//! What `doctor` finds and puts right besides logs: leases, summaries, sessions that were being made.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{OPEN_TURN, Place, TURN, json, links};

/// What was found: kind, state, and the id or else the place.
fn found(place: &Place, args: &[&str], code: i32) -> Vec<[String; 3]> {
    let ran = place.run(&[&["doctor", "--format", "jsonl"], args].concat());
    assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |found: Value| {
        let subject = if found["id"].is_null() { "place" } else { "id" };
        [
            text(&found["kind"]),
            text(&found["state"]),
            text(&found[subject]),
        ]
    };
    let mut all: Vec<_> = ran.out.lines().map(|line| of(json(line))).collect();
    all.sort();
    all
}

/// `doctor --fix` cut off a bad end of a first turn that held events.
#[test]
fn readable_events_behind_a_bad_line_are_not_cut_off() {
    let table = [
        // events behind a whole bad line, in an unfinished first turn and after a finished one
        ("", "garbage\n{EVENT}\n"),
        (TURN, "garbage\n{EVENT}\n"),
        // a whole event behind a stub on one line
        (TURN, "{\"type\":\"x\",\"se{EVENT}\n"),
    ];
    for (whole, end) in table {
        let place = Place::new();
        place.ok(&["create", "--id", "a"]);
        if !whole.is_empty() {
            place.append("a", whole);
        }
        place.append(
            "a",
            &OPEN_TURN.replace(
                "\"turn\":2",
                if whole.is_empty() {
                    "\"turn\":1"
                } else {
                    "\"turn\":2"
                },
            ),
        );
        let log = place.log();
        let mut text = fs::read_to_string(&log).unwrap();
        let seq = text.lines().count() - 1;
        let event = format!(r#"{{"type":"x","seq":{seq},"time":1,"data":null}}"#);
        text.push_str(&end.replace("{EVENT}", &event));
        fs::write(&log, &text).unwrap();
        for (args, state) in [(&[][..], "found"), (&["--fix"], "left")] {
            assert_eq!(found(&place, args, 3), [["torn-end", state, "a"]]);
            assert_eq!(fs::read_to_string(&log).unwrap(), text);
        }
        let said = place.run(&["doctor"]).out;
        assert!(said.contains("1 readable event in it"), "{said}");
        assert!(said.contains("annals salvage a"), "{said}");
        // who wants it so gets it so
        place.ok(&["salvage", "a", "--fork", "b"]);
        place.ok(&["resume", "a"]);
        assert_eq!(found(&place, &[], 3), [["open-turn", "found", "b"]]);
    }
}

/// One bad entry among the leases ended the whole look.
#[test]
fn each_bad_entry_among_the_leases_is_one_find() {
    for flags in links() {
        let place = Place::linked(&flags);
        for id in ["good", "garbage", "folder", "away"] {
            place.ok(&["create", "--id", id]);
            place.append(id, TURN);
        }
        place.append("good", OPEN_TURN);
        let leases = place.root().join("_leases");
        let garbage = leases.join("garbage.lease");
        for entry in fs::read_dir(&garbage).unwrap() {
            fs::write(entry.unwrap().path(), "garbage").unwrap();
        }
        fs::create_dir_all(leases.join("folder.lease/99/x")).unwrap();
        fs::remove_dir_all(leases.join("away.lease")).unwrap();
        symlink("/etc", leases.join("away.lease")).unwrap();
        fs::write(leases.join("notes"), "mine").unwrap();
        for (args, state, code) in [(&[][..], "found", 3), (&["--fix"], "fixed", 0)] {
            let all = [
                ["damaged-lease", state, "_leases/away.lease"],
                ["damaged-lease", state, "_leases/notes"],
                ["damaged-lease", state, "folder"],
                ["damaged-lease", state, "garbage"],
                ["open-turn", state, "good"],
            ];
            assert_eq!(found(&place, args, code), all);
        }
        assert_eq!(found(&place, &[], 0), [[""; 3]; 0]);
        for id in ["good", "garbage", "folder", "away"] {
            place.append(id, TURN);
        }
        assert!(fs::read_dir("/etc").unwrap().count() > 0);
    }
}

/// After a power loss, whoever wrote then was waited for as if it might be alive.
#[test]
fn a_lease_from_before_the_last_start_of_this_host_is_void_at_once() {
    let place = Place::new();
    place.ok(&["create", "--id", "a"]);
    place.append("a", TURN);
    let lease = fs::read_dir(place.root().join("_leases/a.lease")).unwrap();
    let lease = lease.map(|entry| entry.unwrap().path()).next().unwrap();
    let text = fs::read_to_string(&lease).unwrap();
    let (state, holder) = text.split_at(31);
    let mut holder = json(holder);
    holder["bootId"] = "another".into();
    holder["pid"] = 1.into();
    holder["since"] = 1.into();
    fs::write(
        &lease,
        format!("{}{holder}\n", state.replace("free", "held")),
    )
    .unwrap();
    let started = Instant::now();
    place.append("a", TURN);
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    place.ok(&["verify", "a"]);
}

/// Each command said something else of a damaged summary, and none what helps.
#[test]
fn a_damaged_summary_is_said_by_all_and_made_anew() {
    for flags in links() {
        let place = Place::linked(&flags);
        for id in ["a", "b"] {
            place.ok(&["create", "--id", id]);
            place.append(id, TURN);
        }
        let summary = |id: &str| place.root().join(format!("_no-cwd/{id}.summary"));
        for id in ["a", "b"] {
            fs::write(summary(id), "{\"title\":\"mine").unwrap();
        }
        let list = json(&place.ok(&["list", "--format", "json"]));
        for entry in list.as_array().unwrap() {
            let note = entry["note"].as_str().unwrap();
            assert_eq!(
                (&entry["status"], &entry["title"]),
                (&"damaged".into(), &Value::Null)
            );
            assert!(
                note.contains("summary") && note.contains("doctor --fix"),
                "{note}"
            );
        }
        for args in [&["verify", "a"][..], &["verify"]] {
            let ran = place.run(args);
            assert_eq!(ran.code, 3);
            assert!(ran.out.contains("summary"), "{}", ran.out);
        }
        assert!(place.ok(&["show", "a"]).contains("turn/end"));
        place.ok(&["resume", "a"]);
        place.append("a", TURN);
        // of one a person says what it is called
        place.ok(&["update", "b", "--title", "T"]);
        assert_eq!(
            found(&place, &[], 3),
            [
                ["damaged-summary", "found", "a"],
                ["first-prompt", "found", "b"],
            ]
        );
        assert_eq!(
            found(&place, &["--fix"], 0),
            [
                ["damaged-summary", "fixed", "a"],
                ["first-prompt", "fixed", "b"],
            ]
        );
        assert_eq!(found(&place, &[], 0), [[""; 3]; 0]);
        place.ok(&["verify"]);
        let list = json(&place.ok(&["list", "--format", "json"]));
        for entry in list.as_array().unwrap() {
            assert_eq!(
                (&entry["status"], &entry["firstPrompt"]),
                (&"ok".into(), &"hi".into())
            );
        }
        for id in ["a", "b"] {
            let kept = fs::read_dir(place.root().join("_no-cwd")).unwrap();
            let kept = kept.map(|entry| entry.unwrap().path());
            let mut kept = kept.filter(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                name.starts_with(&format!("{id}.")) && name.ends_with(".summary.bad")
            });
            let kept = kept.next().unwrap();
            assert_eq!(fs::read_to_string(kept).unwrap(), "{\"title\":\"mine");
        }
    }
}

/// A writer that was killed between storing the first prompt and noting it left a session without one for ever.
#[test]
fn a_first_prompt_that_was_not_noted_is_noted() {
    let place = Place::new();
    place.ok(&["create", "--id", "a"]);
    place.append("a", TURN);
    place.ok(&["create", "--id", "without"]);
    fs::remove_file(place.root().join("_no-cwd/a.summary")).unwrap();
    assert_eq!(found(&place, &[], 3), [["first-prompt", "found", "a"]]);
    assert_eq!(
        found(&place, &["--fix"], 0),
        [["first-prompt", "fixed", "a"]]
    );
    assert_eq!(found(&place, &["--fix"], 0), [[""; 3]; 0]);
    let list = json(&place.ok(&["list", "--format", "json"]));
    let mut list = list.as_array().unwrap().iter();
    let entry = list.find(|entry| entry["id"] == "a").unwrap();
    assert_eq!(entry["firstPrompt"], "hi");
}

/// Where there are no hard links a creation that was killed left two files that nobody named.
#[test]
fn a_session_that_was_only_being_made_is_removed() {
    for flags in links() {
        let place = Place::linked(&flags);
        place.ok(&["create", "--id", "a"]);
        let bucket = place.root().join("_no-cwd");
        let header = "{\"type\":\"session\",\"version\":0,\"id\":\"coming\",\"createdAt\":1}\n";
        fs::write(bucket.join("coming.jsonl"), "").unwrap();
        fs::write(bucket.join("coming.0123456789abcdef.new"), header).unwrap();
        assert_eq!(found(&place, &[], 3), [["temporary", "found", "coming"]]);
        assert_eq!(
            found(&place, &["--fix"], 0),
            [["temporary", "fixed", "coming"]]
        );
        assert_eq!(found(&place, &[], 0), [[""; 3]; 0]);
        let left = fs::read_dir(&bucket)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["a.jsonl"]);
    }
}

/// A turn behind a damaged lease was left open, and the root said to be well.
#[test]
fn a_turn_behind_a_damaged_lease_is_closed_in_the_same_run() {
    let place = Place::new();
    place.ok(&["create", "--id", "b"]);
    place.append("b", TURN);
    place.append("b", OPEN_TURN);
    fs::write(place.root().join("_leases/b.lease/9"), "").unwrap();
    let expected = [["damaged-lease", "fixed", "b"], ["open-turn", "fixed", "b"]];
    assert_eq!(found(&place, &["--fix"], 0), expected);
    assert!(found(&place, &[], 0).is_empty());
}
