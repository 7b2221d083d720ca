//! What each command does on a root in good order.

use std::fs;

use crate::support::{OPEN_TURN, Place, TURN, files, json, run};

#[test]
fn a_created_session_is_found_by_the_next_process() {
    let place = Place::new();
    assert_eq!(place.ok(&["create", "--id", "a1"]), "a1\n");
    assert_eq!(place.ok(&["show", "a1", "--format", "jsonl"]), "");
    let list = json(&place.ok(&["list", "--format", "json"]));
    assert_eq!(list[0]["id"], "a1");
    assert_eq!(list[0]["header"].get("cwd"), None);
    place
        .run(&["create", "--id", "a1"])
        .fails(1, &["a1", "exists"]);
}

#[test]
fn an_id_that_is_not_given_is_made() {
    let place = Place::new();
    let (first, second) = (place.ok(&["create"]), place.ok(&["create"]));
    assert_eq!(first.trim_end().len(), 36);
    assert_ne!(first, second);
}

#[test]
fn a_relative_cwd_is_made_absolute() {
    let place = Place::new();
    let cwd = place.dir.path().canonicalize().unwrap();
    place.ok(&["create", "--id", "a1", "--cwd", "."]);
    place.ok(&["create", "--id", "a2", "--cwd", "/elsewhere"]);
    let list = json(&place.ok(&["list", "--format", "json", "--cwd", "."]));
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(list[0]["header"]["cwd"], cwd.display().to_string());
    let completed = place.ok(&["list", "--format", "jsonl", "--cwd", "/elsewhere/"]);
    assert_eq!(json(&completed)["id"], "a2");
}

#[test]
fn appended_events_are_counted_on_and_kept_verbatim() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    assert_eq!(place.append("a1", TURN), "0\n1\n2\n");
    let spelled = r#"{ "type":"plugin/x", "time":5, "data":{"b":1.50,"a":[1e2,"\u0041"]}}"#;
    let ran = place.feed(&["append", "a1", "--format", "json"], spelled.as_bytes());
    let value = json(&ran.ok(&["append"]));
    assert_eq!(
        (&value["firstSeq"], &value["lastSeq"], &value["count"]),
        (&3.into(), &3.into(), &1.into())
    );
    let stored = place.ok(&["show", "a1", "--format", "jsonl"]);
    let last = stored.lines().last().unwrap();
    assert!(last.contains(r#"{"b":1.50,"a":[1e2,"\u0041"]}"#), "{last}");
    assert_eq!(json(last)["time"], 5);
    assert_eq!(place.ok(&["messages", "a1"]).lines().count(), 1);
}

#[test]
fn windows_line_ends_and_blank_ends_are_taken() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let lines = format!("{}\r\n \n", TURN.replace('\n', "\r\n"));
    assert_eq!(place.append("a1", &lines), "0\n1\n2\n");
    for line in place.ok(&["show", "a1", "--format", "jsonl"]).lines() {
        json(line);
    }
}

#[test]
fn nothing_on_stdin_appends_nothing() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let before = place.everything();
    let ran = place.feed(&["append", "a1"], b"\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("nothing was appended"), "{}", ran.err);
    place
        .feed(&["append", "a2"], b"")
        .fails(1, &["session \"a2\" not found"]);
    assert_eq!(place.everything(), before);
}

#[test]
fn an_open_turn_is_continued_and_an_interrupted_one_closed_by_the_next() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", OPEN_TURN);
    let step = r#"{"type":"plugin/x","data":{}}"#;
    let ran = place.feed(&["append", "a1"], step.as_bytes());
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("5\n", ""));

    let history = place.run(&["messages", "a1"]);
    assert!(history.err.contains("open"), "{}", history.err);
    assert_eq!(history.out.lines().count(), 2);

    // Three closers: a result for the call, the end of the step, the end of the turn.
    let next = TURN.replace("\"turn\":1", "\"turn\":3");
    let ran = place.feed(&["append", "a1"], next.as_bytes());
    assert_eq!(ran.out, "9\n10\n11\n");
    assert!(
        ran.err.contains("closed an interrupted turn with 3 events"),
        "{}",
        ran.err
    );
    let stored = place.ok(&["show", "a1", "--format", "jsonl"]);
    assert!(stored.contains("TOOL_OUTCOME_UNKNOWN"), "{stored}");
}

#[test]
fn resume_says_what_it_did() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", OPEN_TURN);
    let did = json(&place.ok(&["resume", "a1", "--format", "json"]));
    assert_eq!(
        (&did["closers"], &did["cutBytes"], &did["events"]),
        (&3.into(), &0.into(), &8.into())
    );
    assert!(place.ok(&["resume", "a1"]).contains("nothing to repair"));
}

#[test]
fn fork_takes_the_events_through_a_turn_end() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1", "--cwd", "/cwd"]);
    place.append("a1", TURN);
    place.append("a1", OPEN_TURN);
    place.run(&["fork", "a1"]).fails(1, &["a1"]);
    place.run(&["fork", "a1", "--at", "1"]).fails(1, &[]);
    assert_eq!(place.ok(&["fork", "a1", "--at", "2", "--id", "b"]), "b\n");
    let stored = place.ok(&["show", "a1", "--format", "jsonl"]);
    let first: Vec<&str> = stored.split_inclusive('\n').take(3).collect();
    assert_eq!(
        place.ok(&["show", "b", "--format", "jsonl"]),
        first.concat()
    );
    let child = json(&place.ok(&["show", "b", "--format", "json"]));
    assert_eq!(child["header"]["parentSession"], "a1");
    assert_eq!(child["header"]["cwd"], "/cwd");
    place
        .run(&["fork", "a1", "--at", "2", "--id", "b"])
        .fails(1, &["\"b\"", "exists"]);
}

#[test]
fn a_title_changes_and_the_log_does_not() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    let log = fs::read(place.log()).unwrap();
    assert_eq!(
        place.ok(&["update", "a1", "--title", "First\u{1b}[31m"]),
        ""
    );
    assert_eq!(fs::read(place.log()).unwrap(), log);
    let list = json(&place.ok(&["list", "--format", "json"]));
    assert_eq!(list[0]["title"], "First\u{1b}[31m");
    assert_eq!(list[0]["firstPrompt"], "hi");
    let table = place.ok(&["list"]);
    assert!(
        table.contains("First\\u{1b}[31m") && !table.contains('\u{1b}'),
        "{table}"
    );
    place.ok(&["update", "a1", "--title", ""]);
    assert_eq!(
        json(&place.ok(&["list", "--format", "json"]))[0].get("title"),
        None
    );
}

#[test]
fn a_deleted_session_is_gone() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    assert_eq!(place.ok(&["delete", "a1"]), "");
    place
        .run(&["show", "a1"])
        .fails(1, &["session \"a1\" not found"]);
    place
        .run(&["delete", "a1"])
        .fails(1, &["session \"a1\" not found"]);
    let left = files(&place.root());
    assert!(
        left.keys().all(|path| path.ends_with('/')),
        "{:?}",
        left.keys()
    );
}

#[test]
fn the_newest_last_event_comes_first() {
    let place = Place::new();
    for (id, time) in [("old", 1_000), ("new", 3_000), ("mid", 2_000)] {
        place.ok(&["create", "--id", id]);
        place.append(
            id,
            &format!(r#"{{"type":"plugin/x","time":{time},"data":{{}}}}"#),
        );
    }
    let lines = place.ok(&["list", "--format", "jsonl"]);
    let ids: Vec<String> = lines
        .lines()
        .map(|line| json(line)["id"].as_str().unwrap().into())
        .collect();
    assert_eq!(ids, ["new", "mid", "old"]);
    assert_eq!(json(lines.lines().next().unwrap())["updatedAt"], 3000);
    assert!(place.ok(&["list"]).contains("1970-01-01T00:00:03Z  new"));
}

#[test]
fn odd_ids_are_ids_like_any_other() {
    let place = Place::new();
    for id in ["../x", "a b\u{1b}[2J", "é/ü", "-x", "."] {
        let shown = place.ok(&["create", &format!("--id={id}")]);
        assert_eq!(shown, format!("{}\n", id.replace('\u{1b}', "\\u{1b}")));
        place.feed(&["append", "--", id], TURN.as_bytes()).ok(&[id]);
        assert_eq!(place.ok(&["messages", "--", id]).lines().count(), 1);
        assert_eq!(place.ok(&["delete", "--", id]), "");
    }
    assert!(!place.dir.path().join("x").exists());
}

#[test]
fn show_is_a_table_for_people() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1", "--cwd", "/cwd"]);
    place.append("a1", TURN);
    let table = place.ok(&["show", "a1"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("session a1, created 2"), "{table}");
    assert_eq!(lines[1], "cwd /cwd");
    assert!(lines[3].contains("+ user/message"), "{table}");
    assert_eq!(lines.len(), 5);
}

#[test]
fn settings_are_taken_before_and_after_the_command() {
    let place = Place::new();
    let root = place.root().display().to_string();
    let args = [
        "--set",
        "sync=never",
        "create",
        "--id",
        "a1",
        "--set",
        "pack-chunks=true",
        "--root",
        &root,
    ];
    assert_eq!(run(place.dir.path(), &args, b"").ok(&args), "a1\n");
    let args = [
        "--set",
        "wrong=1",
        "list",
        "--set",
        "sync=never",
        "--root",
        &root,
    ];
    run(place.dir.path(), &args, b"").fails(2, &["wrong"]);
}

#[test]
fn the_memory_backend_needs_no_root() {
    let place = Place::new();
    let args = ["create", "--id", "a1", "--backend", "memory"];
    assert_eq!(run(place.dir.path(), &args, b"").ok(&args), "a1\n");
    assert!(place.everything().is_empty());
}

#[test]
fn verify_counts_events() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    place.ok(&["create", "--id", "a2"]);
    place.append("a2", OPEN_TURN);
    let verdicts = json(&place.ok(&["verify", "--format", "json"]));
    assert_eq!(verdicts[0]["id"], "a1");
    assert_eq!(
        (&verdicts[0]["status"], &verdicts[0]["events"]),
        (&"ok".into(), &3.into())
    );
    assert_eq!(
        (&verdicts[0]["openTurn"], &verdicts[1]["openTurn"]),
        (&false.into(), &true.into())
    );
    assert_eq!(place.ok(&["verify", "a1"]), "ok           a1  3 events\n");
}

#[test]
fn reading_commands_write_nothing() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", OPEN_TURN);
    let before = place.everything();
    let commands: [&[&str]; 8] = [
        &["show", "a1"],
        &["show", "a1", "--expand"],
        &["show", "a1", "--format", "jsonl"],
        &["messages", "a1"],
        &["list"],
        &["list", "--cwd", "/nowhere"],
        &["verify"],
        &["verify", "a1"],
    ];
    for args in commands {
        place.ok(args);
        assert_eq!(place.everything(), before, "{args:?}");
    }
}

/// A call could carry 128 MiB out of a component, wasmtime's own limit, so an append of more failed and a stored line of
/// more could not be shown.
#[test]
fn an_event_of_140_megabytes_goes_in_and_comes_out() {
    for link in crate::support::links() {
        let place = Place::linked(&link);
        place.run(&["create", "--id", "a"]);
        let text = "x".repeat(140_000_000);
        let line = format!(r#"{{"type":"x/y","data":"{text}"}}"#);
        let ran = place.feed(&["append", "a"], line.as_bytes());
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (0, "0\n"),
            "{link:?}: {}",
            ran.err
        );
        let ran = place.run(&["show", "a", "--format", "jsonl"]);
        assert_eq!(ran.code, 0, "{link:?}: {}", ran.err);
        assert!(ran.out.len() > text.len(), "{link:?}");
    }
}
