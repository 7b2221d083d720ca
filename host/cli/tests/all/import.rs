//! Logs from elsewhere: what is around a log is left out, what is bad in it is reported, and no input hangs.

use std::fs;

use crate::support::{Place, json};

const HEADER: &str = r#"{"type":"session","version":0,"id":"i1","createdAt":7}"#;

fn event(seq: u64, data: &str) -> String {
    format!(r#"{{"type":"plugin/x","seq":{seq},"time":1,"data":{data}}}"#)
}

/// CX#28139: editors and other systems put a byte order mark before the header, carriage returns and blank lines at
/// line ends; U+FEFF inside a string is text like any other.
#[test]
fn a_byte_order_mark_carriage_returns_and_blank_lines_are_tolerated() {
    let data = "{\"text\":\"\u{feff}a\u{feff}\"}";
    let log = format!("{HEADER}\n{}\n{}\n", event(0, data), event(1, "1"));
    for file in [
        format!("\u{feff}{log}"),
        log.replace('\n', "\r\n"),
        format!("\u{feff}{}\r\n\r\n \n", log.replace('\n', "\r\n")),
        format!("{log}\n\n"),
    ] {
        for args in [&["import"][..], &["import", "--salvage"]] {
            let place = Place::new();
            place.ok(&["create", "--id", "other"]);
            let path = place.file("log", &file);
            let ran = place.run(&[args, &[&path]].concat());
            assert_eq!(
                (ran.code, ran.out.as_str(), ran.err.as_str()),
                (0, "i1\n", ""),
                "{file:?}"
            );
            let shown = place.ok(&["show", "i1", "--format", "json"]);
            assert_eq!(json(&shown)["events"][0]["data"], json(data));
            place.ok(&["verify"]);
        }
    }
    // stored as it is, such a log is damaged, and the others are not
    let place = Place::new();
    place.ok(&["create", "--id", "i1"]);
    place.ok(&["create", "--id", "other"]);
    fs::write(
        place.root().join("_no-cwd/i1.jsonl"),
        format!("\u{feff}{log}"),
    )
    .unwrap();
    let list = json(&place.ok(&["list", "--format", "json"]));
    assert_eq!(
        (&list[0]["status"], &list[1]["status"]),
        (&"ok".into(), &"damaged".into())
    );
    place.ok(&["verify", "other"]);
    assert_eq!(place.run(&["verify", "i1"]).code, 3);
    assert_eq!(place.ok(&["salvage", "i1"]), log);
}

/// CPC#2649: a raw newline inside a JSON string of a foreign file.
#[test]
fn a_raw_newline_inside_a_string_is_reported_and_import_goes_on_at_the_next_line() {
    let log = [
        HEADER,
        &event(0, "0"),
        &event(1, "\"a\nb\""),
        &event(2, "2"),
        "",
    ]
    .join("\n");
    let place = Place::new();
    let path = place.file("log", &log);
    place
        .run(&["import", &path])
        .fails(1, &["line 3", "--salvage"]);
    let ran = place.run(&["import", "--salvage", &path, "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("line 3, byte "), "{}", ran.err);
    let did = json(&ran.out);
    assert_eq!(
        (&did["id"], &did["events"], &did["gaps"]),
        (&"i1".into(), &3.into(), &1.into())
    );
    assert_eq!(
        (&did["findings"][0]["line"], &did["findings"][0]["missing"]),
        (&3.into(), &1.into())
    );
    let shown = place.ok(&["show", "i1", "--format", "jsonl"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        (lines[0], lines[2]),
        (event(0, "0").as_str(), event(2, "2").as_str())
    );
    place.ok(&["verify", "i1"]);
}

/// CC#58554: parent pointers of a foreign file are broken; the order in the file is the truth.
#[test]
fn the_order_in_the_file_is_the_truth() {
    let data = |parent: &str| format!(r#"{{"uuid":"x","parentUuid":"{parent}"}}"#);
    let events = [
        event(0, &data("gone")),
        event(1, &data("x")),
        event(2, &data("gone")),
    ];
    let place = Place::new();
    let path = place.file("log", format!("{HEADER}\n{}\n", events.join("\n")));
    place.ok(&["import", &path]);
    assert_eq!(
        place.ok(&["show", "i1", "--format", "jsonl"]),
        events.join("\n") + "\n"
    );
}

#[test]
fn a_lost_header_leaves_the_name_of_the_file() {
    let place = Place::new();
    let path = place.file("old-session.jsonl", format!("\0\0\0\n{}\n", event(0, "0")));
    assert_eq!(place.ok(&["import", "--salvage", &path]), "old-session\n");
    for no_log in ["", "Dear diary,\n", "\x7fELF\0\0"] {
        let path = place.file("x", no_log);
        place
            .run(&["import", "--salvage", &path])
            .fails(1, &[&path, "neither a header nor an event"]);
    }
    let newer = place.file("newer", HEADER.replace(":0,", ":1,") + "\n");
    place
        .run(&["import", "--salvage", &newer])
        .fails(3, &["version"]);
}

#[test]
#[cfg(unix)]
fn no_input_hangs_or_crashes() {
    let place = Place::new();
    let directory = place.dir.path().display().to_string();
    for args in [&["import"][..], &["import", "--salvage"]] {
        place
            .run(&[args, &[&directory]].concat())
            .fails(1, &[&directory]);
    }
    // a pipe that somebody writes to is read to its end
    let log = format!("{HEADER}\n{}\n", event(0, "0"));
    let shell = ["sh", "-c", "(sleep 0.3; cat) | \"$@\"", "sh"];
    let ran = place.under(&shell, &["import", "/dev/stdin"], log.as_bytes());
    assert_eq!((ran.code, ran.out.as_str()), (0, "i1\n"), "{}", ran.err);
}
