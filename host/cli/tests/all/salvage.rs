//! Damaged sessions as people meet them: what opens, what is refused, and what `salvage` gets back.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Place, json, without_leases};

const HEADER: &str = r#"{"type":"session","version":0,"id":"s1","createdAt":7,"cwd":"/x"}"#;

fn event(seq: u64) -> String {
    format!(r#"{{"type":"plugin/x","seq":{seq},"time":9,"data":{{"n":{seq}}}}}"#)
}

/// Turns of three events: the log of a healthy session.
fn turns(seqs: std::ops::Range<u64>) -> Vec<String> {
    let line = |seq: u64| {
        let turn = seq / 3 + 1;
        match seq % 3 {
            0 => {
                format!(r#"{{"type":"turn/start","seq":{seq},"time":9,"data":{{"turn":{turn}}}}}"#)
            }
            1 => format!(
                r#"{{"type":"user/message","seq":{seq},"time":9,"data":{{"content":"m{seq}"}},"surfaceOp":"append"}}"#
            ),
            _ => format!(
                r#"{{"type":"turn/end","seq":{seq},"time":9,"data":{{"turn":{turn},"reason":{{"kind":"completed"}}}}}}"#
            ),
        }
    };
    seqs.map(line).collect()
}

fn log(lines: &[String]) -> String {
    let lines: Vec<&str> = [HEADER]
        .into_iter()
        .chain(lines.iter().map(String::as_str))
        .collect();
    lines.join("\n") + "\n"
}

/// Session `s1` with that log.
fn stored(log: impl AsRef<[u8]>) -> Place {
    let place = Place::new();
    let bucket = place.root().join("cwd-b3d1db318671");
    fs::create_dir_all(&bucket).unwrap();
    fs::write(bucket.join("s1.jsonl"), log).unwrap();
    private(&place.root());
    place
}

#[cfg(unix)]
fn private(root: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(root, mode).unwrap();
}

#[cfg(not(unix))]
fn private(_: &Path) {}

/// What `salvage` prints after the header; it opens when it is stored, and the session itself is as it was.
fn salvaged(place: &Place) -> Vec<String> {
    let before = without_leases(place.everything());
    let out = place.ok(&["salvage", "s1"]);
    assert_eq!(place.ok(&["salvage", "s1"]), out);
    assert_eq!(without_leases(place.everything()), before);

    let file = place
        .dir
        .path()
        .join("salvaged.jsonl")
        .display()
        .to_string();
    place.ok(&["salvage", "s1", "--out", &file]);
    assert_eq!(fs::read_to_string(&file).unwrap(), out);
    assert_eq!(place.ok(&["salvage", "s1", "--fork", "s2"]), "s2\n");
    let verified = place.ok(&["verify", "s2"]);
    assert!(verified.starts_with("ok           s2"), "{verified}");
    let (_, lines) = out.split_once('\n').unwrap();
    assert_eq!(place.ok(&["show", "s2", "--format", "jsonl"]), lines);
    // what was recovered is whole: there is nothing more to recover
    let again = place.ok(&["salvage", "s2"]);
    assert_eq!(again.split_once('\n').unwrap().1, lines);
    let (_, after) = before
        .iter()
        .find(|(path, _)| path.ends_with("s1.jsonl"))
        .unwrap();
    let log = place.root().join("cwd-b3d1db318671/s1.jsonl");
    assert_eq!(&fs::read(log).unwrap(), after);
    lines.lines().map(str::to_owned).collect()
}

/// Nothing can be written, and everybody is told line and byte.
fn refuses_to_write(place: &Place, line: u64, byte: usize) {
    let words = format!("line {line}");
    place
        .run(&["resume", "s1"])
        .fails(3, &[&words, "annals salvage"]);
    place
        .feed(&["append", "s1"], b"{\"type\":\"x/y\",\"data\":1}\n")
        .fails(3, &[&words]);
    let verdict = json(&place.run(&["verify", "s1", "--format", "jsonl"]).out);
    assert_eq!(
        (&verdict["line"], &verdict["byte"]),
        (&line.into(), &byte.into())
    );
    assert_eq!(verdict["damage"][0]["line"], line);
    assert_eq!(verdict["damage"][0]["reason"], verdict["reason"]);
}

fn byte_of(log: &str, part: &str) -> usize {
    log.find(part).unwrap()
}

/// CC#52387: the stub of one record was fused with a whole `turn/end`, and the session could not be opened any more.
#[test]
fn a_stub_that_is_fused_with_a_whole_record_hides_only_itself() {
    let mut lines = turns(0..9);
    lines[2] = format!(r#"{{"type":"assi{}"#, lines[2]);
    let text = log(&lines);
    let place = stored(&text);
    refuses_to_write(&place, 4, byte_of(&text, r#"{"type":"assi"#));
    assert_eq!(salvaged(&place), turns(0..9));
}

/// CC#50347: of 100 lines the 40th was garbage, and the first 39 were shown as the whole session.
#[test]
fn the_lines_before_garbage_are_never_shown_as_the_whole_session() {
    let mut lines = turns(0..99);
    lines[39] = "#### garbage ####".to_owned();
    let text = log(&lines);
    let place = stored(&text);
    refuses_to_write(&place, 41, byte_of(&text, "####"));
    place.run(&["messages", "s1"]).fails(3, &["line 41"]);
    let list = json(&place.ok(&["list", "--verify", "--format", "json"]));
    assert_eq!(list[0]["status"], "damaged");
    assert!(
        list[0]["note"].as_str().unwrap().contains("line 41"),
        "{list}"
    );
    let found = salvaged(&place);
    assert_eq!(
        (&found[..39], &found[40..]),
        (&turns(0..39)[..], &turns(40..99)[..])
    );
    let gap = json(&found[39]);
    assert_eq!(
        (&gap["type"], &gap["seq"]),
        (&"salvage/gap".into(), &39.into())
    );
    let data = &gap["data"];
    assert_eq!((&data["line"], &data["length"]), (&41.into(), &18.into()));
    assert_eq!(data["byte"], byte_of(&text, "####"));
}

/// kern-ai#300: a log of 0 bytes crashed the program at every start.
#[test]
fn an_empty_file_is_listed_and_named_and_nothing_else_suffers() {
    let place = stored("");
    place.ok(&["create", "--id", "other"]);
    let list = json(&place.ok(&["list", "--format", "json"]));
    assert_eq!(list.as_array().unwrap().len(), 2);
    let empty = list
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["id"] == "s1")
        .unwrap();
    assert_eq!(
        (&empty["status"], &empty["note"]),
        (&"damaged".into(), &"the log is empty".into())
    );
    place.run(&["resume", "s1"]).fails(3, &["s1", "no header"]);
    let out = place.ok(&["salvage", "s1"]);
    assert_eq!(
        out,
        "{\"type\":\"session\",\"version\":0,\"id\":\"s1\",\"createdAt\":0}\n"
    );
}

/// CC#53821: a log that holds only its header was taken for a broken one.
#[test]
fn a_log_that_holds_only_its_header_opens_as_an_empty_session() {
    let place = stored(log(&[]));
    assert_eq!(place.ok(&["verify", "s1"]), "ok           s1  0 events\n");
    assert_eq!(place.ok(&["messages", "s1"]), "");
    assert_eq!(place.append("s1", "{\"type\":\"x/y\",\"data\":1}\n"), "0\n");
}

/// DSH desktop #97: seqs ..., 57, 54, 55, ... in the middle; dsh-context#81: a seq that goes back by 4 once.
#[test]
fn a_log_whose_seqs_go_back_takes_no_writes_and_shows_what_is_around_it() {
    let again: Vec<String> = turns(54..58)
        .iter()
        .map(|line| line.replace("\"time\":9", "\"time\":8"))
        .collect();
    let short = log(&[&turns(0..58)[..], &again[..2], &turns(58..66)].concat());
    let place = stored(&short);
    refuses_to_write(&place, 60, byte_of(&short, &again[0]));
    let shown = place.ok(&["show", "s1", "--format", "jsonl"]);
    assert_eq!(shown, short[HEADER.len() + 1..]);
    let found = salvaged(&place);
    assert_eq!(found[..66], turns(0..66));
    let aside: Vec<Value> = found[66..].iter().map(|line| json(line)).collect();
    assert_eq!(
        (&aside[0]["data"]["line"], &aside[1]["data"]["line"]),
        (&again[0].as_str().into(), &again[1].as_str().into())
    );
    assert_eq!(
        (aside.len(), &aside[0]["type"]),
        (2, &"salvage/set-aside".into())
    );

    let once = log(&[&turns(0..58)[..], &again, &turns(58..66)].concat());
    let found = salvaged(&stored(&once));
    assert_eq!((&found[..66], found.len()), (&turns(0..66)[..], 70));
}

/// CX#24425: a write failed in the middle of a batch, the caller wrote the batch again, and both were in the log.
#[test]
fn a_batch_that_an_older_program_wrote_twice_is_salvaged_once() {
    let lines = turns(0..9);
    let torn = format!("{}{}", &lines[8][..20], lines[6]);
    let text = log(&[&lines[..8], std::slice::from_ref(&torn), &lines[7..]].concat());
    let place = stored(&text);
    refuses_to_write(&place, 10, byte_of(&text, &torn));
    assert_eq!(salvaged(&place), lines);
}

/// What a crash left at the end was cut by a repair, and is looked through too.
#[test]
fn bytes_that_a_repair_cut_off_are_recovered() {
    let place = stored(format!("{}bad\n{}\n", log(&turns(0..3)), event(4)));
    let did = json(&place.ok(&["resume", "s1", "--format", "json"]));
    assert_eq!(did["cutEvents"], 1);
    let found = salvaged(&place);
    assert_eq!((&found[..3], &found[4]), (&turns(0..3)[..], &event(4)));
    assert!(found[3].contains(r#""cut":true"#), "{}", found[3]);
    place.append(
        "s1",
        "{\"type\":\"x/y\",\"data\":1}\n{\"type\":\"x/y\",\"data\":1}\n",
    );
    let out = place.ok(&["salvage", "s1"]);
    let lines: Vec<&str> = out.lines().skip(1).collect();
    let aside = json(lines[5]);
    assert_eq!(
        (lines.len(), &aside["data"]["line"]),
        (6, &event(4).as_str().into())
    );
}

#[test]
fn everything_that_is_wrong_is_said_and_no_more_than_that() {
    let mut lines = turns(0..900);
    for at in (1..900).step_by(2) {
        lines[at] = "x".to_owned();
    }
    let place = stored(log(&lines));
    let ran = place.run(&["verify", "s1"]);
    assert_eq!((ran.code, ran.out.lines().count()), (3, 102));
    assert_eq!(ran.out.lines().last().unwrap(), "    and 350 more");
    assert!(
        ran.out.lines().nth(1).unwrap().contains("line 3, byte "),
        "{}",
        ran.out
    );
    let verdict = json(&place.run(&["verify", "s1", "--format", "jsonl"]).out);
    assert_eq!(verdict["damageCount"], 450);
    assert_eq!(verdict["damage"].as_array().unwrap().len(), 100);
}

#[test]
fn what_salvage_did_is_told() {
    let place = stored(log(&[
        event(0),
        "garbage".into(),
        event(2),
        event(0).replace('9', "8"),
    ]));
    let ran = place.run(&["salvage", "s1"]);
    assert_eq!(ran.code, 0);
    let told =
        "session \"s1\": 2 events in place, 1 gap marked, 1 line set aside, 8 bytes unreadable";
    assert!(ran.err.contains(told), "{}", ran.err);
    let did = json(&place.ok(&["salvage", "s1", "--fork", "new", "--format", "json"]));
    assert_eq!(
        (&did["id"], &did["fork"], &did["events"]),
        (&"s1".into(), &"new".into(), &4.into())
    );
    assert_eq!(
        (&did["inPlace"], &did["gaps"], &did["setAside"]),
        (&2.into(), &1.into(), &1.into())
    );
    assert_eq!(did["findings"][0]["missing"], 1);
    let header = &json(&place.ok(&["show", "new", "--format", "json"]))["header"];
    assert_eq!(
        (&header["parentSession"], &header["seedLength"]),
        (&"s1".into(), &4.into())
    );
    assert_eq!(header["cwd"], "/x");
}

#[test]
fn salvage_never_writes_over_anything() {
    let place = stored(log(&[event(0), "garbage".into()]));
    place.ok(&["create", "--id", "taken"]);
    let file = place.file("there", "precious");
    place
        .run(&["salvage", "s1", "--out", &file])
        .fails(1, &["exists", &file]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    place
        .run(&["salvage", "s1", "--fork", "taken"])
        .fails(1, &["taken", "exists"]);
    place
        .run(&["salvage", "s1", "--out", "/nowhere/x"])
        .fails(1, &["/nowhere/x"]);
    place
        .run(&["salvage", "nobody"])
        .fails(1, &["nobody", "not found"]);
    let newer = stored(log(&[]).replace(":0,", ":1,"));
    newer.run(&["salvage", "s1"]).fails(3, &["version"]);
}

/// `--format json` printed lines that are no JSON value.
#[test]
fn the_report_alone_is_one_json_value() {
    let mut lines = turns(0..9);
    lines[3] = "#### garbage ####".to_owned();
    let place = stored(log(&lines));
    let before = without_leases(place.everything());
    let report = json(&place.ok(&["salvage", "s1", "--format", "json"]));
    assert_eq!(
        (&report["id"], &report["events"]),
        (&"s1".into(), &9.into())
    );
    assert_eq!(
        (&report["inPlace"], &report["gaps"]),
        (&8.into(), &1.into())
    );
    assert!(
        report.get("file").is_none() && report.get("fork").is_none(),
        "{report}"
    );
    assert_eq!(without_leases(place.everything()), before);
    // the log is JSON Lines
    let text = place.ok(&["salvage", "s1"]);
    assert_eq!(place.ok(&["salvage", "s1", "--format", "jsonl"]), text);
}
