//! What `append` and `import` are given: pipes, marks, blank lines, nothing; and what they say of it.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::{Place, TURN, json};

const HEADER: &str = r#"{"type":"session","version":0,"id":"i1","createdAt":7}"#;
const EVENT: &str = r#"{"type":"plugin/x","data":{}}"#;

fn place() -> Place {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place
}

fn spawned(place: &Place, args: &[&str]) -> std::process::Child {
    let root = place.root().display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_annals"));
    command.args(["--root", &root]).args(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A FIFO that nobody had opened yet was taken for an empty file.
#[test]
#[cfg(unix)]
fn the_writer_of_a_fifo_is_waited_for() {
    let place = place();
    let fifo = place.dir.path().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let name = fifo.display().to_string();
    for (args, id) in [(&["import"][..], "i1"), (&["import", "--salvage"], "i2")] {
        let reading = spawned(&place, &[args, &[&name]].concat());
        thread::sleep(Duration::from_millis(300));
        let log = format!("{}\n", HEADER.replace("i1", id));
        std::fs::write(&fifo, log).unwrap();
        let ended = reading.wait_with_output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        assert_eq!(ended.stdout, format!("{id}\n").into_bytes());
    }
    // who waits in vain is ended as anybody who waits for input
    let waiting = spawned(&place, &["import", &name]);
    thread::sleep(Duration::from_millis(500));
    let pid = waiting.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(143));
}

#[test]
fn import_reads_stdin_by_its_usual_name() {
    let place = place();
    let event = r#"{"type":"plugin/x","seq":0,"time":1,"data":{}}"#;
    let log = format!("\u{feff}{HEADER}\n{event}\n");
    let ran = place.feed(&["import", "-"], log.as_bytes());
    assert_eq!(ran.ok(&["import", "-"]), "i1\n");
    place
        .feed(&["import", "-"], b"x\n")
        .fails(1, &["stdin", "line 1", "header"]);
}

/// A byte order mark and blank lines, as Windows tools write them, were refused as no JSON.
#[test]
fn marks_and_blank_lines_are_left_out_and_counted() {
    for args in [&["append", "a1"][..], &["append", "a1", "--follow"]] {
        let place = place();
        let input = format!("\u{feff}{EVENT}\r\n\r\n{EVENT}\n\n \t\r\n{EVENT}\r\n\r\n");
        let ran = place.feed(args, input.as_bytes());
        assert_eq!(ran.ok(args), "0\n1\n2\n");
        let bad = format!("\r\n{EVENT}\r\n\r\n{{\"type\":\r\n{EVENT}\n");
        let ran = place.feed(args, bad.as_bytes());
        assert_eq!(ran.code, 1);
        assert!(
            ran.err.contains("\"a1\": stdin, line 4: not JSON"),
            "{}",
            ran.err
        );
        assert_eq!(ran.err.matches("line ").count(), 1, "{}", ran.err);
        // in the middle of the input it is text
        let ran = place.feed(args, format!("{EVENT}\n\u{feff}{EVENT}\n").as_bytes());
        assert!(ran.err.contains("stdin, line 2"), "{}", ran.err);
    }
}

/// Errors had two line numbers, that of the input and that within one line, and did not say what was stored.
#[test]
fn a_follower_that_stops_says_what_is_stored() {
    let cases: [(&[u8], &str, &str); 4] = [
        (b"{}\n", "stdin, line 1", "nothing is stored"),
        (b"\n\xff\n", "stdin, line 2", "nothing is stored"),
        (b"", "stdin, line 2", "1 event, seq 0, is stored"),
        (b"", "stdin, line 4", "3 events up to seq 2 are stored"),
    ];
    for (number, (input, line, stored)) in cases.into_iter().enumerate() {
        let place = place();
        let input = match number {
            2 => [EVENT.as_bytes(), b"\n{\"type\":7}\n"].concat(),
            3 => [TURN.as_bytes(), b"\xff\n"].concat(),
            _ => input.to_vec(),
        };
        let ran = place.feed(&["append", "a1", "--follow"], &input);
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains(line), "{}", ran.err);
        assert!(ran.err.trim_end().ends_with(stored), "{}", ran.err);
        assert_eq!(ran.err.matches("line ").count(), 1, "{}", ran.err);
    }
    let ran = place().feed(&["append", "a1"], format!("{EVENT}\n{{\n").as_bytes());
    ran.fails(1, &["\"a1\": stdin, line 2: ", "; nothing was appended"]);
}

/// With `--format json` an empty input printed nothing, and several files one value each.
#[test]
fn json_is_one_value() {
    let place = place();
    for args in [&["append", "a1"][..], &["append", "a1", "--follow"]] {
        for format in ["json", "jsonl"] {
            let args = [args, &["--format", format]].concat();
            let value = json(&place.run(&args).ok(&args));
            assert_eq!(
                value,
                json(r#"{"id":"a1","firstSeq":null,"lastSeq":null,"count":0}"#)
            );
        }
    }
    let file = |id: &str| place.file(id, HEADER.replace("i1", id) + "\n");
    let (one, two, bad) = (file("one"), file("two"), place.file("bad", "x"));
    let value = json(&place.ok(&["import", "--format", "json", &one]));
    assert_eq!(value["id"], "one");
    let ran = place.run(&["import", "--format", "json", &two, &bad, &one]);
    assert_eq!((ran.code, &json(&ran.out)[0]["id"]), (1, &"two".into()));
    let ran = place.run(&["import", "--format", "json", &bad, &one]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    let three = [file("three"), file("four")];
    let args = ["import", "--format", "json", &three[0], &three[1]];
    assert_eq!(json(&place.ok(&args)).as_array().unwrap().len(), 2);
    for (args, name) in [
        (&["create", "--id", "b1"][..], "id"),
        (&["fork", "one", "--id", "b2"], "id"),
        (&["update", "one", "--title", "T"], "title"),
        (&["resume", "one"], "events"),
        (&["delete", "one"], "id"),
        (&["show", "two"], "header"),
    ] {
        let ran = place.run(&[args, &["--format", "json"]].concat());
        assert!(
            ran.code != 0 || !json(&ran.out)[name].is_null(),
            "{args:?}: {}",
            ran.err
        );
    }
}

/// Each piece of a long line moved all of it that was there, so 16 MiB took seconds.
#[test]
fn a_follower_takes_a_long_line() {
    let place = place();
    let line = format!(
        "{{\"type\":\"x/y\",\"data\":\"{}\"}}\n",
        "z".repeat(64 << 20)
    );
    let started = std::time::Instant::now();
    let mut child = spawned(&place, &["append", "a1", "--follow"]);
    child
        .stdin
        .take()
        .unwrap()
        .write_all(line.as_bytes())
        .unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.stdout, b"0\n");
    let taken = started.elapsed();
    assert!(taken < Duration::from_secs(12), "{taken:?}");
}
