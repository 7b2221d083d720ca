//! A whole root looked after: what is found, what is put right, and what is left for people.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::{OPEN_TURN, Place, TURN, json, links};

fn found(place: &Place, args: &[&str], code: i32) -> Vec<(String, String, String)> {
    let ran = place.run(args);
    assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = ran.out.lines().map(json);
    let mut all: Vec<_> = all
        .map(|found| {
            (
                text(&found["kind"]),
                text(&found["state"]),
                text(&found["id"]),
            )
        })
        .collect();
    all.sort();
    all
}

fn expect(expected: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    let owned =
        |(kind, state, id): &(&str, &str, &str)| ((*kind).into(), (*state).into(), (*id).into());
    expected.iter().map(owned).collect()
}

const LOOK: [&str; 3] = ["doctor", "--format", "jsonl"];
const FIX: [&str; 4] = ["doctor", "--fix", "--format", "jsonl"];

#[test]
fn a_healthy_root_has_nothing_to_fix() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    let before = place.everything();
    assert_eq!(place.ok(&["doctor"]), "nothing is wrong with 1 session\n");
    assert_eq!(place.ok(&["doctor", "--format", "json"]), "[]\n");
    assert_eq!(place.everything(), before);
    place.ok(&["doctor", "--fix"]);
    assert_eq!(place.everything(), before);
    assert_eq!(
        place.ok(&["doctor", "--backend", "memory"]),
        "nothing is wrong with 0 sessions\n"
    );
}

/// KiroCrew#12578: sessions that nobody reopened kept their open turn for ever.
#[test]
fn open_turns_of_sessions_that_nobody_reopens_are_closed() {
    for flags in links() {
        let place = Place::linked(&flags);
        for id in ["open", "torn", "whole"] {
            place.ok(&["create", "--id", id]);
            place.append(id, TURN);
        }
        place.append("open", OPEN_TURN);
        let log = place.root().join("_no-cwd/torn.jsonl");
        let mut bytes = fs::read(&log).unwrap();
        bytes.extend(b"{\"type\":\"turn/st");
        fs::write(&log, bytes).unwrap();

        let before = place.everything();
        let all = [
            ("open-turn", "found", "open"),
            ("torn-end", "found", "torn"),
        ];
        assert_eq!(found(&place, &LOOK, 3), expect(&all));
        assert_eq!(place.everything(), before);
        let all = [
            ("open-turn", "fixed", "open"),
            ("torn-end", "fixed", "torn"),
        ];
        assert_eq!(found(&place, &FIX, 0), expect(&all));
        assert_eq!(found(&place, &FIX, 0), []);
        place.ok(&["verify"]);
        assert!(
            place
                .ok(&["verify", "open"])
                .starts_with("ok           open  11 events\n")
        );
    }
}

#[test]
fn what_only_people_can_decide_is_left() {
    let place = Place::new();
    for id in ["bad", "newer", "twice"] {
        place.ok(&["create", "--id", id]);
        place.append(id, TURN);
    }
    let bucket = place.root().join("_no-cwd");
    let damage = |id: &str, from: &str, to: &str| {
        let log = bucket.join(format!("{id}.jsonl"));
        let text = fs::read_to_string(&log).unwrap();
        fs::write(log, text.replacen(from, to, 1)).unwrap();
    };
    damage("bad", "\"seq\":0", "\"seq\":7");
    damage("newer", "\"version\":0", "\"version\":1");
    fs::write(bucket.join("gone.99.torn"), "the last of it").unwrap();
    let second = place.root().join("cwd-000000000000");
    fs::create_dir(&second).unwrap();
    fs::copy(bucket.join("twice.jsonl"), second.join("twice.jsonl")).unwrap();
    let logs = |place: &Place| {
        let mut all = place.everything();
        all.retain(|path, _| path.ends_with(".jsonl") || path.ends_with(".torn"));
        all
    };
    let before = logs(&place);
    for (args, state) in [(&LOOK[..], "found"), (&FIX[..], "left")] {
        let all = [
            ("damaged", state, "bad"),
            ("duplicate", state, "twice"),
            ("orphaned-cut", state, "gone"),
            ("unsupported", state, "newer"),
        ];
        assert_eq!(found(&place, args, 3), expect(&all));
        assert_eq!(logs(&place), before);
    }
    let text = place.run(&["doctor"]).out;
    assert!(text.contains("annals salvage bad"), "{text}");
}

/// CC#86707: a root that was made with umask 000 stayed open to everybody.
#[test]
fn a_root_that_is_open_to_others_is_closed() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let mode = |mode| fs::set_permissions(place.root(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o755);
    assert_eq!(
        found(&place, &LOOK, 3),
        expect(&[("permissions", "found", "")])
    );
    assert_eq!(
        found(&place, &FIX, 0),
        expect(&[("permissions", "fixed", "")])
    );
    let now = fs::metadata(place.root()).unwrap().permissions().mode();
    assert_eq!(now & 0o777, 0o700);
    assert_eq!(found(&place, &LOOK, 0), []);
}

/// A writer that was killed left a temporary file for ever, and of a session that it had not stored yet its lease.
#[test]
fn what_a_killed_writer_left_is_removed() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    fs::write(place.root().join("_no-cwd/a1.0123456789abcdef.tmp"), "half").unwrap();
    fs::write(place.root().join("_no-cwd/gone.summary"), "{}").unwrap();
    let kill = "-einject=linkat:signal=SIGKILL:when=2";
    let strace = ["strace", "-f", "-o", "/dev/null", kill];
    let has_strace = std::process::Command::new("strace")
        .arg("-V")
        .output()
        .is_ok();
    if has_strace {
        let shell = [
            &["sh", "-c", "\"$@\" 2>/dev/null; exit 0", "sh"][..],
            &strace,
        ]
        .concat();
        place.under(&shell, &["create", "--id", "never"], b"");
    } else {
        println!("left out: a killed writer (no strace)");
    }
    let mut all = vec![("orphan", "fixed", "gone"), ("temporary", "fixed", "a1")];
    if has_strace {
        all.splice(0..0, [("lease", "fixed", "never")]);
        all.push(("temporary", "fixed", "never"));
    }
    assert_eq!(found(&place, &FIX, 0), expect(&all));
    assert_eq!(found(&place, &LOOK, 0), []);
    let left: Vec<String> = place
        .everything()
        .into_keys()
        .filter(|path| !path.ends_with('/'))
        .collect();
    assert_eq!(left, ["root/_leases/a1.lease/1", "root/_no-cwd/a1.jsonl"]);
}

/// A session that somebody writes just now is nobody's patient.
#[test]
fn what_is_being_written_is_left_alone() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let place = Place::new();
    place.ok(&["create", "--id", "busy"]);
    let root = place.root().display().to_string();
    let mut writer = Command::new(env!("CARGO_BIN_EXE_annals"))
        .args(["--root", &root, "append", "--follow", "busy"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = writer.stdin.take().unwrap();
    input.write_all(OPEN_TURN.as_bytes()).unwrap();
    let log = place.root().join("_no-cwd/busy.jsonl");
    while fs::read_to_string(&log).unwrap().lines().count() < 6 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(found(&place, &FIX, 0), []);
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 6);
    writer.kill().unwrap();
    writer.wait().unwrap();
    let all = [("open-turn", "fixed", "busy")];
    let fixed = found(&place, &FIX, 0);
    assert!(fixed.ends_with(&expect(&all)), "{fixed:?}");
    assert_eq!(found(&place, &LOOK, 0), []);
}

/// Nobody was told that a session waits for a process of another machine.
#[test]
fn a_silent_holder_on_another_machine_is_named() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let holder = r#"{"host":"elsewhere","pid":7,"since":1783860675270}"#;
    let lease = format!("{:020} held done\n{holder}\n", 3);
    let path = place.root().join("_leases/a1.lease/9");
    fs::write(&path, lease).unwrap();
    for (args, state) in [(&LOOK[..], "found"), (&FIX, "left")] {
        let ran = place.run(args);
        assert_eq!(ran.code, 3, "{}", ran.err);
        let found = json(ran.out.trim_end());
        assert_eq!(
            (&found["kind"], &found["state"]),
            (&"lease".into(), &state.into())
        );
        let message = found["message"].as_str().unwrap();
        for words in [
            "host \"elsewhere\", pid 7, since 2026-07-12T12:51:15Z, for ",
            "no sign of life",
            "annals resume a1 --wait 11000 takes over",
        ] {
            assert!(message.contains(words), "{message}");
        }
    }
    // one that shows that it lives is let be
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut renewals = 4;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
                std::io::Write::write_all(&mut file, format!("{renewals:020}").as_bytes()).unwrap();
                renewals += 1;
                std::thread::sleep(std::time::Duration::from_millis(300));
            }
        });
        let ran = place.run(&LOOK);
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    });
    let before = place.run(&["resume", "a1", "--wait", "0"]);
    before.fails(1, &["elsewhere"]);
    place.ok(&["resume", "a1", "--wait", "11000"]);
    place.ok(&["doctor"]);
}

/// What --fix moved away stayed, and nobody was told why.
#[test]
fn what_was_moved_away_is_named_and_stays() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    fs::write(place.root().join("_leases/notes"), "mine").unwrap();
    fs::write(place.root().join("_leases/gone.bad"), "").unwrap();
    place.ok(&["doctor", "--fix"]);
    let ran = place.run(&["doctor"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for words in [
        "\"_leases/notes.",
        ".bad\" stays: ",
        "look through it and remove it",
    ] {
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    assert!(!ran.err.contains("gone.bad"), "{}", ran.err);
}

/// A delete that was killed, and a later session of that id.
#[test]
fn what_a_killed_delete_left_is_cleared() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    let bucket = place.root().join("_no-cwd");
    let moved = bucket.join("a1.0123456789abcdef.7.deleted");
    fs::write(&moved, "").unwrap();
    assert_eq!(
        found(&place, &LOOK, 3),
        expect(&[("temporary", "found", "a1")])
    );
    assert_eq!(
        found(&place, &FIX, 0),
        expect(&[("temporary", "fixed", "a1")])
    );
    // what nobody knows to be deleted stays
    fs::write(&moved, "somebody's").unwrap();
    assert_eq!(
        found(&place, &FIX, 3),
        expect(&[("orphaned-cut", "left", "a1")])
    );
    place.ok(&["delete", "a1"]);
    assert_eq!(found(&place, &LOOK, 0), []);
}
