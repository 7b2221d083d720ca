//! `kill -9` at random moments, 300 times: what was printed is there, and nothing has to be done by hand.
//!
//! `ANNALS_SEED` chooses the moments again; a failed test shows the one that it had.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use annals_soak::checker::Log;
use annals_soak::random::Random;

use crate::command::{annals, arguments, log_path, program, run, turn};
use crate::follower::Follower;

const APPEND_ROUNDS: u64 = 200;
const OTHER_ROUNDS: u64 = 102;

/// A session is removed after so many rounds, so that its log stays short.
const ROUNDS_OF_SESSION: u64 = 10;

/// Longer than it takes to begin an append, to write a few MiB, and to run most other commands.
const MOMENT_MAX_MICROS: u64 = 60_000;
const BULK_MOMENT_MAX_MICROS: u64 = 15_000;
const SHORT_MOMENT_MAX_MICROS: u64 = 25_000;

fn random() -> Random {
    let given = std::env::var("ANNALS_SEED").ok();
    let now = || SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let seed = given.map_or_else(now, |seed| seed.parse().unwrap());
    println!("ANNALS_SEED={seed}");
    Random::new(seed, 0)
}

fn moment(random: &mut Random, micros_max: u64) -> Duration {
    Duration::from_micros(random.below(micros_max))
}

/// A root with the session `a1`.
fn root() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    annals(&root, "create --id a1", "");
    (folder, root)
}

/// Whole lines of a log; nothing in them is damaged, and their seqs are contiguous. What is after them is torn.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let log = Log::read(bytes);
    assert_eq!(log.unreadable, Vec::<String>::new());
    for (due, event) in (0..).zip(&log.events) {
        assert_eq!(event.seq, due);
    }
    &bytes[..bytes.len() - log.torn.len()]
}

/// Opens a session twice, as a user goes on after a crash: every whole line stays, and the second time nothing is left
/// to do. Its log.
fn opens(root: &Path, id: &str) -> Vec<u8> {
    let path = log_path(root, id);
    let left = fs::read(&path).unwrap();
    let whole = whole_lines(&left);
    annals(root, &format!("resume {id} --wait 0"), "");
    let first = fs::read(&path).unwrap();
    assert!(first.starts_with(whole), "a repair takes no whole line");
    assert_eq!(whole_lines(&first), first, "nothing is torn any more");
    annals(root, &format!("resume {id} --wait 0"), "");
    assert!(first == fs::read(&path).unwrap(), "a second opening writes");
    first
}

/// An endless conversation, each event with data of its own: the data, and the line to give.
fn event(round: u64, n: u64) -> (String, String) {
    let (name, members, more) = match n % 5 {
        0 => (
            "turn/start",
            r#""turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}"#,
            "",
        ),
        1 => (
            "user/message",
            r#""content":"hello","source":{"kind":"user"}"#,
            r#","surfaceOp":"append""#,
        ),
        4 => ("turn/end", r#""turn":1,"reason":{"kind":"completed"}"#, ""),
        _ => ("plugin/note", r#""more":null"#, ""),
    };
    let data = format!(r#"{{"text":"round {round} event {n}",{members}}}"#);
    let line = format!("{{\"type\":\"{name}\",\"data\":{data}{more}}}\n");
    (data, line)
}

/// Some MiB that are one write.
fn bulk(round: u64) -> [(String, String); 4] {
    [1, 2, 3, 4].map(|n| {
        let data = format!(
            r#"{{"text":"round {round} event {n}","bulk":"{}"}}"#,
            "b".repeat(1 << 20)
        );
        let line = format!("{{\"type\":\"plugin/note\",\"data\":{data}}}\n");
        (data, line)
    })
}

/// Feeds events until nobody reads them any more; the data of all, in order.
fn feed(mut stdin: ChildStdin, round: u64) -> Vec<String> {
    let mut given = Vec::new();
    for n in 0.. {
        let (data, line) = event(round, n);
        given.push(data);
        if stdin.write_all(line.as_bytes()).is_err() {
            break;
        }
        thread::sleep(Duration::from_micros(200));
    }
    given
}

/// A conversation that is cut short: the data of the events given, and what was printed for them.
fn converse(root: &Path, id: &str, round: u64, random: &mut Random) -> (Vec<String>, Vec<String>) {
    let mut writer = Follower::start(root, id, " --wait 0");
    let stdin = writer.stdin();
    let moment = moment(random, MOMENT_MAX_MICROS);
    let given = thread::scope(|scope| {
        let feeder = scope.spawn(|| feed(stdin, round));
        thread::sleep(moment);
        writer.kill();
        feeder.join().unwrap()
    });
    let ended = writer.end();
    assert_eq!(ended.code, 128 + 9, "round {round}: {}", ended.errors);
    (given, ended.printed)
}

/// The same where the kill most likely meets a long write.
fn pour(root: &Path, id: &str, round: u64, random: &mut Random) -> (Vec<String>, Vec<String>) {
    let mut writer = Follower::start(root, id, " --wait 0");
    let (data, line) = event(round, 0);
    let mut printed = vec![writer.append(&line).to_string()];
    let bulk = bulk(round);
    writer.give(
        &bulk
            .iter()
            .map(|(_, line)| line.as_str())
            .collect::<String>(),
    );
    thread::sleep(moment(random, BULK_MOMENT_MAX_MICROS));
    writer.kill();
    let ended = writer.end();
    assert_eq!(ended.code, 128 + 9, "round {round}: {}", ended.errors);
    printed.extend(ended.printed);
    let given = std::iter::once(data).chain(bulk.map(|(data, _)| data));
    (given.collect(), printed)
}

#[test]
fn an_appending_process_is_killed_at_200_moments() {
    let (_folder, root) = root();
    let mut random = random();
    let mut acknowledged = 0;
    let mut torn = 0;
    for round in 0..APPEND_ROUNDS {
        let id = format!("s{}", round / ROUNDS_OF_SESSION);
        let is_new = round % ROUNDS_OF_SESSION == 0;
        if is_new {
            annals(&root, &format!("create --id {id}"), "");
        }
        let before = fs::read(log_path(&root, &id)).unwrap();
        let (given, printed) = if round % 4 == 3 {
            pour(&root, &id, round, &mut random)
        } else {
            converse(&root, &id, round, &mut random)
        };

        let left = fs::read(log_path(&root, &id)).unwrap();
        assert!(left.starts_with(&before), "round {round}");
        torn += u32::from(whole_lines(&left).len() < left.len());
        let log = opens(&root, &id);
        let events = Log::read(&log).events;
        for (seq, data) in printed.iter().zip(&given) {
            let stored = &events[seq.parse::<usize>().unwrap()];
            let as_given = format!("\"data\":{data}");
            assert!(stored.line.contains(&as_given), "round {round}, seq {seq}");
        }
        acknowledged += printed.len();
        if round % ROUNDS_OF_SESSION == ROUNDS_OF_SESSION - 1 {
            annals(&root, &format!("verify {id}"), "");
            annals(&root, &format!("delete {id}"), "");
        }
    }
    println!("{acknowledged} events acknowledged, {torn} torn ends");
    assert!(acknowledged > 0, "no writer ever got as far as printing");
    annals(&root, "doctor", "");
}

/// Starts the command, kills it after a while, and gives what it printed until then. One that was quicker is as good.
fn killed(root: &Path, line: &str, moment: Duration) -> Output {
    let mut command = Command::new(program());
    command.args(arguments(root, line));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    thread::sleep(moment);
    child.kill().unwrap();
    child.wait_with_output().unwrap()
}

/// Runs the command again, as a user does who does not know whether it was done; `done` is what it says if it was.
fn again(root: &Path, line: &str, done: &str) {
    let mut command = Command::new(program());
    let output = run(command.args(arguments(root, line)), "");
    let errors = String::from_utf8(output.stderr).unwrap();
    let is_done = output.status.code() == Some(1) && errors.contains(done);
    assert!(output.status.success() || is_done, "{line}: {errors}");
}

/// Kills a command that makes session `new`, and runs it again.
fn killed_while_making(root: &Path, line: &str, moment: Duration) -> Vec<u8> {
    let output = killed(root, line, moment);
    if output.stdout == b"new\n" {
        assert!(log_path(root, "new").exists(), "{line}: it was printed");
    }
    if let Ok(made) = fs::read(log_path(root, "new")) {
        assert_eq!(whole_lines(&made), made, "{line}: it appears whole");
    }
    again(root, &format!("{line} --wait 0"), "already exists");
    let made = fs::read(log_path(root, "new")).unwrap();
    assert_eq!(opens(root, "new"), made, "{line}: nothing to repair");
    made
}

/// What is behind the header.
fn events(log: &[u8]) -> &[u8] {
    let header = log.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    &log[header..]
}

/// A damaged session, `hurt`: an event in the middle is gone.
fn hurt(root: &Path) -> Vec<u8> {
    annals(root, "create --id hurt", "");
    annals(root, "append hurt", &turn(1, "hello").repeat(3));
    let path = log_path(root, "hurt");
    let log = fs::read_to_string(&path).unwrap();
    let lines = log.split_inclusive('\n').enumerate();
    let lines: String = lines
        .filter(|(n, _)| *n != 4)
        .map(|(_, line)| line)
        .collect();
    fs::write(&path, &lines).unwrap();
    lines.into_bytes()
}

#[test]
fn every_other_command_that_writes_is_killed_at_100_moments() {
    let (folder, root) = root();
    let mut random = random();
    annals(&root, "append a1", &turn(1, "hello").repeat(200));
    let parent = fs::read(log_path(&root, "a1")).unwrap();
    let damaged = hurt(&root);
    let file = folder.path().join("new.jsonl");
    let header = "{\"type\":\"session\",\"version\":0,\"id\":\"new\",\"createdAt\":7}\n";
    fs::write(&file, [header.as_bytes(), events(&parent)].concat()).unwrap();
    let import = format!("import {}", file.to_str().unwrap());
    let mut saved = None;

    for round in 0..OTHER_ROUNDS {
        let moment = moment(&mut random, SHORT_MOMENT_MAX_MICROS);
        match round % 6 {
            0 => drop(killed_while_making(&root, "create --id new", moment)),
            1 => {
                let made = killed_while_making(&root, "fork a1 --id new", moment);
                assert_eq!(events(&made), events(&parent));
            }
            2 => {
                let made = killed_while_making(&root, &import, moment);
                assert_eq!(made, fs::read(&file).unwrap());
            }
            3 => {
                let made = killed_while_making(&root, "salvage hurt --fork new", moment);
                let saved = saved.get_or_insert_with(|| events(&made).to_vec());
                assert_eq!(events(&made), saved);
                assert_eq!(fs::read(log_path(&root, "hurt")).unwrap(), damaged);
            }
            4 => killed_while_renaming(&root, round, moment),
            _ => {
                annals(&root, "fork a1 --id new", "");
                annals(&root, "update new --title T", "");
                killed_while_deleting(&root, moment);
            }
        }
        if round % 6 < 4 {
            annals(&root, "delete new", "");
        }
        assert_eq!(fs::read(log_path(&root, "a1")).unwrap(), parent);
    }
    annals(&root, "delete hurt", "");
    annals(&root, "verify", "");
    annals(&root, "doctor --fix", "");
    annals(&root, "doctor", "");
    let names = fs::read_dir(root.join("_no-cwd")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    let is_of_a1 = |name: &std::ffi::OsString| name == "a1.jsonl" || name == "a1.summary";
    assert!(names.iter().all(is_of_a1), "{names:?}");
}

fn killed_while_renaming(root: &Path, round: u64, moment: Duration) {
    let title = |root: &Path| {
        let listed = annals(root, "list --format jsonl", "");
        let sessions = listed
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut sessions = sessions.filter(|session| session["id"] == "a1");
        sessions.next().unwrap()["title"].clone()
    };
    let before = title(root);
    let line = format!("update a1 --title title-{round}");
    killed(root, &line, moment);
    let after = title(root);
    let new = format!("title-{round}");
    assert!(after == before || after == new, "{before}, {after}");
    annals(root, &line, "");
    assert_eq!(title(root), new);
}

fn killed_while_deleting(root: &Path, moment: Duration) {
    let path = log_path(root, "new");
    let before = fs::read(&path).unwrap();
    killed(root, "delete new", moment);
    if let Ok(left) = fs::read(&path) {
        assert_eq!(left, before, "it is there whole or not at all");
    }
    again(root, "delete new --wait 0", "not found");
    assert!(!path.exists());
    // the name is free, whatever the killed process left
    annals(root, "create --id new --wait 0", "");
    assert_eq!(opens(root, "new").len(), fs::read(&path).unwrap().len());
    annals(root, "delete new", "");
}
