//! What people do to a root by hand: directories copied, other things in the places of logs.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::support::{Place, TURN, json, links};

/// After `cp -r` of a directory of sessions each was listed twice, appends went to the copy, and a delete uncovered the
/// other one.
#[test]
fn a_session_that_was_copied_by_hand_is_read_in_its_place_and_not_written() {
    for flags in links() {
        let place = Place::linked(&flags);
        place.ok(&["create", "--id", "s", "--cwd", "/w"]);
        place.append("s", TURN);
        let log = place.log();
        // first in the order of names
        let copy = place.root().join("_no-cwd");
        fs::create_dir(&copy).unwrap();
        let copied = copy.join("s.jsonl");
        let text = fs::read_to_string(&log).unwrap();
        let short: String = text.split_inclusive('\n').take(2).collect();
        fs::write(&copied, &short).unwrap();
        let places = [&log, &copied].map(|path| {
            let path = path.strip_prefix(place.root()).unwrap();
            path.display().to_string()
        });
        let places = places.each_ref().map(String::as_str);

        let shown = place.ok(&["show", "s"]);
        assert!(shown.contains("turn/end"), "{shown}");
        for args in [&["list", "--format", "json"][..], &["list"]] {
            let listed = place.ok(args);
            for place in places {
                assert!(listed.contains(place), "{listed}");
            }
        }
        let list = json(&place.ok(&["list", "--format", "json"]));
        assert_eq!(list.as_array().unwrap().len(), 1);
        assert_eq!(list[0]["status"], "damaged");
        for args in [&["verify", "s"][..], &["verify"]] {
            let ran = place.run(args);
            assert_eq!(ran.code, 3, "{}", ran.out);
            assert!(
                places.iter().all(|place| ran.out.contains(place)),
                "{}",
                ran.out
            );
        }
        let ran = place.run(&["doctor", "--fix"]);
        assert_eq!(ran.code, 3, "{}", ran.out);
        assert_eq!(ran.out.matches("duplicate").count(), 1, "{}", ran.out);
        assert!(
            places.iter().all(|place| ran.out.contains(place)),
            "{}",
            ran.out
        );
        let writes: [&[&str]; 4] = [
            &["append", "s"],
            &["resume", "s"],
            &["update", "s", "--title", "T"],
            &["delete", "s"],
        ];
        for args in writes {
            let ran = place.feed(args, TURN.as_bytes());
            ran.fails(3, &places);
            assert!(ran.err.contains("move"), "{}", ran.err);
            assert!(!ran.err.contains("salvage"), "{}", ran.err);
        }
        place.run(&["create", "--id", "s"]).fails(1, &["exists"]);
        assert_eq!(fs::read_to_string(&log).unwrap(), text);
        assert_eq!(fs::read_to_string(&copied).unwrap(), short);
        fs::remove_dir_all(&copy).unwrap();
        place.append("s", TURN);
        place.ok(&["delete", "s"]);
        assert_eq!(place.run(&["show", "s"]).code, 1);
    }
}

/// A link, a directory, a pipe or a socket with a log's name was passed over by every command.
#[test]
fn what_is_no_file_in_the_place_of_a_log_is_said_and_never_opened() {
    for flags in links() {
        let place = Place::linked(&flags);
        place.ok(&["create", "--id", "good"]);
        let bucket = place.root().join("_no-cwd");
        let at = |id: &str| bucket.join(format!("{id}.jsonl"));
        symlink(at("good"), at("link")).unwrap();
        fs::create_dir(at("directory")).unwrap();
        let made = Command::new("mkfifo").arg(at("pipe")).status();
        assert!(made.unwrap().success());
        let _socket = UnixListener::bind(at("socket")).unwrap();
        symlink(&bucket, place.root().join("cwd-000000000000")).unwrap();
        let table = [
            ("link", "a symbolic link"),
            ("directory", "a directory"),
            ("pipe", "a named pipe, a socket or a device"),
            ("socket", "a named pipe, a socket or a device"),
        ];
        let list = json(&place.ok(&["list", "--format", "json"]));
        let list = list.as_array().unwrap();
        assert_eq!(list.len(), 6, "{list:?}");
        for (id, what) in table {
            let entry = list.iter().find(|entry| entry["id"] == id).unwrap();
            let note = entry["note"].as_str().unwrap();
            assert_eq!(entry["status"], "damaged");
            assert!(
                note.contains(what) && note.contains("not followed"),
                "{note}"
            );
            let ran = place.run(&["verify", id]);
            assert_eq!(ran.code, 3, "{}", ran.err);
            assert!(ran.out.contains(what), "{}", ran.out);
            place.run(&["show", id]).fails(3, &[what]);
            place.run(&["resume", id]).fails(3, &[what]);
            place.run(&["delete", id]).fails(3, &[what]);
            place.run(&["create", "--id", id]).fails(1, &["exists"]);
        }
        let note = list.iter().find(|entry| entry["id"] == "cwd-000000000000");
        let note = note.unwrap()["note"].as_str().unwrap();
        assert!(note.contains("a symbolic link, not a directory"), "{note}");
        let ran = place.run(&["verify"]);
        assert_eq!(ran.code, 3);
        assert!(ran.out.contains("ok           good"), "{}", ran.out);
        let hidden = "unreadable   cwd-000000000000";
        assert!(ran.out.contains(hidden), "{}", ran.out);
        let ran = place.run(&["doctor", "--fix", "--format", "jsonl"]);
        assert_eq!(ran.code, 3);
        assert_eq!(ran.out.lines().count(), 5, "{}", ran.out);
        for (id, what) in table {
            let found = ran.out.lines().map(json).find(|found| found["id"] == id);
            let found = found.unwrap();
            assert_eq!(
                (&found["kind"], &found["state"]),
                (&"not-a-file".into(), &"left".into())
            );
            assert!(found["message"].as_str().unwrap().contains(what), "{found}");
        }
        assert!(at("link").is_symlink() && at("directory").is_dir());
    }
}
