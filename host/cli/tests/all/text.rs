//! Text and JSON that broke other systems: it comes back as it was, or is refused by name.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use annals::{Annals, CreateOptions};

use crate::support::{Place, json};

/// The longest nesting of the reports, and more.
const DEPTHS: [usize; 2] = [31_000, 100_000];

/// nuphus#41: a multi-byte character was split across two writes, and each half became U+FFFD.
#[test]
fn a_character_that_is_split_across_two_writes_stays_whole() {
    let line = "{\"type\":\"x/y\",\"data\":\"\u{1f600}é\"}\n";
    let split = line.find('\u{1f600}').unwrap() + 2;
    for args in [&["append", "a1"][..], &["append", "--follow", "a1"]] {
        let place = Place::new();
        place.ok(&["create", "--id", "a1"]);
        let root = place.root().display().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_annals"))
            .args(["--root", &root])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = command.stdin.take().unwrap();
        for half in [&line.as_bytes()[..split], &line.as_bytes()[split..]] {
            input.write_all(half).unwrap();
            input.flush().unwrap();
            thread::sleep(Duration::from_millis(200));
        }
        drop(input);
        assert!(command.wait().unwrap().success());
        let shown = place.ok(&["show", "a1", "--format", "json"]);
        assert_eq!(json(&shown)["events"][0]["data"], "\u{1f600}é");
        assert!(!shown.contains('\u{fffd}'), "{shown}");
    }
}

/// opengeni#116: a database refused `\u0000`.
#[test]
fn an_escaped_nul_makes_the_same_round_trip_on_every_backend() {
    let data = r#"{"a\u0000b":"a\u0000b","lone":"\ud83d"}"#;
    let line = format!("{{\"type\":\"x/y\",\"data\":{data}}}\n");
    let place = Place::new();
    for annals in [
        Annals::memory().unwrap(),
        Annals::jsonl(place.root()).unwrap(),
    ] {
        let options = CreateOptions {
            id: Some("a1".to_owned()),
            ..CreateOptions::default()
        };
        let session = annals.create(options).unwrap();
        session.append(&line).unwrap();
        session.flush().unwrap();
        let stored = annals.read("a1", 0, 1 << 20).unwrap().lines;
        assert!(stored.contains(&format!("\"data\":{data}")), "{stored}");
        annals.shutdown().unwrap();
    }
    let shown = place.ok(&["show", "a1", "--format", "jsonl"]);
    assert!(shown.contains(&format!("\"data\":{data}")), "{shown}");
}

/// ragflow#14152: a host passed NaN and Infinity, which no JSON reader takes.
#[test]
fn a_number_that_json_has_not_is_refused_with_its_path() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    for number in ["NaN", "Infinity", "-Infinity", "1e999", "-0"] {
        let line = format!("{{\"type\":\"x/y\",\"data\":{{\"usage\":[1,{number}]}}}}\n");
        let ran = place.feed(&["append", "a1"], line.as_bytes());
        ran.fails(1, &["/data/usage/1"]);
    }
    assert_eq!(place.ok(&["show", "a1", "--format", "jsonl"]), "");
}

/// openclaw#152860: an object nested 31,000 deep, or a chain of 100,000, overflowed a stack and ended the process.
#[test]
fn deep_nesting_ends_no_process() {
    for depth in DEPTHS {
        let data = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        let place = Place::new();
        place.ok(&["create", "--id", "a1"]);
        place.append("a1", &format!("{{\"type\":\"x/y\",\"data\":{data}}}\n"));
        place.ok(&["verify", "a1"]);
        assert!(
            place
                .ok(&["show", "a1", "--format", "jsonl"])
                .contains(&data)
        );
        let file = place.dir.path().join("out").display().to_string();
        place.ok(&["salvage", "a1", "--out", &file]);
        let torn = std::fs::read_to_string(&file)
            .unwrap()
            .replacen("1}", "1", 1);
        let torn = place.file("torn", torn.replacen("a1", "a2", 1));
        place.ok(&["import", "--salvage", &torn]);
        place.ok(&["verify", "a2"]);
    }
}
