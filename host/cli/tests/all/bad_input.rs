//! Bad input: one line that names the thing and what to do, the right exit code, and nothing changed on disk.

use std::fs;

use crate::support::{Place, TURN, component, run, without_leases};

const HEADER: &str = r#"{"type":"session","version":0,"id":"i1","createdAt":7}"#;
const EVENT: &str = r#"{"type":"plugin/x","seq":0,"time":1,"data":{}}"#;

/// Imports each file into a root of its own: it must fail with the exit code, and stderr must have all the words.
fn refuses(cases: &[(&str, Vec<u8>, i32, &[&str])]) {
    for (name, bytes, code, words) in cases {
        println!("{name}");
        let place = Place::new();
        let file = place.file("log", bytes);
        let before = place.everything();
        let ran = place.run(&["import", &file]);
        ran.fails(*code, &[&file]);
        ran.fails(*code, words);
        assert_eq!(place.everything(), before);
    }
}

#[test]
fn files_that_are_no_session_log() {
    let placeholder = HEADER.replace(":7", r#":7,"cwd":"{{cwd}}""#);
    refuses(&[
        ("empty", vec![], 1, &["line 1", "log-empty"]),
        (
            "prose",
            b"Dear diary,\n".to_vec(),
            1,
            &["line 1", "log-header-not-json"],
        ),
        (
            "array",
            b"[]\n".to_vec(),
            1,
            &["line 1", "log-header-invalid"],
        ),
        ("binary", b"\x7fELF\xff\n".to_vec(), 1, &["line 1", "UTF-8"]),
        (
            "event first",
            format!("{EVENT}\n").into(),
            1,
            &["line 1", "header"],
        ),
        (
            "newer",
            HEADER.replace(":0,", ":1,").into(),
            3,
            &["line 1", "version 1"],
        ),
        (
            "placeholder",
            placeholder.into(),
            1,
            &["line 1", "cwd must be an absolute path"],
        ),
        ("torn header", HEADER.into(), 1, &["line 1", "torn"]),
    ]);
}

#[test]
fn session_logs_that_break_a_rule() {
    let request =
        r#"{"type":"request/header","seq":1,"time":1,"data":{"header":{"config":{"model":"m"}}}}"#;
    let log = |lines: String| format!("{HEADER}\n{lines}").into_bytes();
    let gap = EVENT.replace("\"seq\":0", "\"seq\":4");
    refuses(&[
        (
            "torn",
            log(format!("{EVENT}\n{}", &EVENT[..20])),
            1,
            &["line 3", "torn"],
        ),
        (
            "not UTF-8",
            [HEADER.as_bytes(), b"\n\xff\n"].concat(),
            1,
            &["line 2", "UTF-8"],
        ),
        (
            "seq gap",
            log(format!("{gap}\n")),
            1,
            &["line 2", "seed-seq-not-contiguous"],
        ),
        (
            "not JSON",
            log(format!("{EVENT}\n{{\n")),
            1,
            &["line 3", "seed-not-json"],
        ),
        (
            "blank",
            log(format!("\n{EVENT}\n")),
            1,
            &["line 2", "seed-not-json"],
        ),
        (
            "rule",
            log(format!("{EVENT}\n{request}\n")),
            1,
            &["line 3", "provider"],
        ),
    ]);
}

/// Editors put a byte order mark before the header and blank lines at the end; such a log was refused.
#[test]
fn what_is_around_a_log_is_left_out() {
    for log in [
        format!("\u{feff}{HEADER}\n{EVENT}\n"),
        format!("{HEADER}\n{EVENT}\n\n \t\r\n"),
        format!("{HEADER}\n{EVENT}\n  "),
    ] {
        let place = Place::new();
        let file = place.file("log", &log);
        assert_eq!(place.ok(&["import", &file]), "i1\n", "{log:?}");
        let shown = place.ok(&["show", "i1", "--format", "jsonl"]);
        assert_eq!(shown, format!("{EVENT}\n"), "{log:?}");
    }
}

#[test]
fn a_log_that_is_stored_already_is_refused() {
    let place = Place::new();
    let file = place.file("log", format!("{HEADER}\n{EVENT}\n"));
    assert_eq!(place.ok(&["import", &file]), "i1\n");
    let before = place.everything();
    place
        .run(&["import", &file])
        .fails(1, &[&file, "\"i1\"", "exists"]);
    assert_eq!(place.everything(), before);
}

#[test]
fn import_stops_at_the_first_refused_file() {
    let place = Place::new();
    let good = place.file("good", format!("{HEADER}\n{EVENT}\n"));
    let bad = place.file("bad", "x\n");
    let later = place.file("later", HEADER.replace("i1", "i2") + "\n");
    let ran = place.run(&["import", &good, &bad, &later]);
    assert_eq!((ran.code, ran.out.as_str()), (1, "i1\n"));
    assert!(ran.err.contains(&bad), "{}", ran.err);
    assert_eq!(place.ok(&["list", "--format", "jsonl"]).lines().count(), 1);
    place
        .run(&["import", "/nowhere.jsonl"])
        .fails(1, &["/nowhere.jsonl"]);
}

#[test]
fn sessions_that_are_not_there() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let before = place.everything();
    for id in ["a2", "../x", "../../etc/passwd", "/etc/passwd", ".."] {
        let commands: [&[&str]; 8] = [
            &["show", id],
            &["messages", id],
            &["verify", id],
            &["resume", id],
            &["fork", id],
            &["update", id, "--title", "t"],
            &["delete", id],
            &["append", id],
        ];
        for args in commands {
            let ran = place.feed(args, TURN.as_bytes());
            ran.fails(1, &[&format!("session {id:?} not found")]);
            assert_eq!(place.everything(), before, "{args:?}");
        }
    }
}

#[test]
fn events_that_break_a_rule() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    let before = without_leases(place.everything());
    let good = r#"{"type":"plugin/x","data":{}}"#;
    let cases: &[(String, &[&str])] = &[
        ("nonsense".into(), &["line 1"]),
        (format!("{good}\n{{\n"), &["line 2"]),
        (format!("{good}\n\n{{\n"), &["line 3"]),
        (format!("{good}\n[]"), &["line 2"]),
        (r#"{"type":"plugin/x","data":{},"seq":7}"#.into(), &["7"]),
        (
            r#"{"type":"plugin/x","data":{"n":-0}}"#.into(),
            &["plugin/x", "n"],
        ),
        (
            r#"{"type":"plugin/x","data":{},"more":1}"#.into(),
            &["more"],
        ),
        (r#"{"type":"user/message","data":{}}"#.into(), &["line 1"]),
    ];
    for (lines, words) in cases {
        println!("{lines}");
        place
            .feed(&["append", "a1"], lines.as_bytes())
            .fails(1, words);
        assert_eq!(without_leases(place.everything()), before);
    }
    place
        .feed(&["append", "a1"], b"{}\n\xff")
        .fails(1, &["line 2", "UTF-8"]);
    assert_eq!(without_leases(place.everything()), before);
}

#[test]
fn roots_that_cannot_be_used() {
    let place = Place::new();
    let file = place.file("file", "x");
    let before = place.everything();
    let root = place.root().display().to_string();
    for args in [
        ["list"].as_slice(),
        &["verify"],
        &["show", "a1"],
        &["resume", "a1"],
    ] {
        let with = |root: &str| run(place.dir.path(), &[args, &["--root", root]].concat(), b"");
        with(&root).fails(2, &[&root]);
        with(&file).fails(2, &[&file]);
        run(place.dir.path(), args, b"").fails(2, &["--root", "ANNALS_ROOT"]);
        with("").fails(2, &["--root", "ANNALS_ROOT"]);
    }
    run(place.dir.path(), &["create", "--root", &file], b"").fails(2, &[&file]);
    assert_eq!(place.everything(), before);
}

#[test]
fn backends_that_are_none() {
    let place = Place::new();
    let prose = place.file("prose.wasm", "Dear diary");
    let module = place.file("module.wasm", b"\0asm\x01\0\0\0");
    let store = component("store.wasm").display().to_string();
    let before = place.everything();
    for link in ["static", "dynamic"] {
        for backend in [&prose, &module, &store, "/nowhere.wasm"] {
            let args = ["create", "--link", link, "--backend", backend];
            place.run(&args).fails(2, &[backend]);
            assert_eq!(place.everything(), before, "{args:?}");
        }
    }
}

#[test]
fn settings_and_flags_that_are_none() {
    let place = Place::new();
    place
        .run(&["create", "--set", "synk=always"])
        .fails(2, &["synk"]);
    place
        .run(&["create", "--set", "sync=perhaps"])
        .fails(2, &["sync"]);
    for args in [
        ["list", "--backend", "sqlight"],
        ["list", "--link", "loose"],
        ["list", "--set", "novalue"],
        ["list", "--format", "yaml"],
        ["list", "--colour", "red"],
        ["fork", "a1", "--at=last"],
    ] {
        let ran = place.run(&args);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (2, ""),
            "{args:?}: {}",
            ran.err
        );
    }
    assert_eq!(place.run(&["create", "--id", ""]).code, 1);
    assert!(fs::read_dir(place.root()).map_or(true, |root| root.count() == 0));
}

#[cfg(unix)]
#[test]
fn a_root_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let root = place.root();
    fs::set_permissions(&root, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&root).is_ok() {
        println!("left out: permissions do not bind this user");
    } else {
        let shown = root.display().to_string();
        place.run(&["list"]).fails(2, &[&shown, "permission"]);
    }
    fs::set_permissions(&root, fs::Permissions::from_mode(0o700)).unwrap();
}
