//! Two processes and one session: who may write, who waits, and what becomes of the one that comes late.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::command::{annals, arguments, log_path, program, run, turn};
use crate::follower::Follower;

/// A root with the session `a1`.
fn root() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    annals(&root, "create --id a1", "");
    (folder, root)
}

fn event(text: &str) -> String {
    format!("{{\"type\":\"plugin/note\",\"data\":\"{text}\"}}\n")
}

fn attempt(root: &Path, line: &str, input: &str) -> (Output, Duration) {
    let started = Instant::now();
    let mut command = Command::new(program());
    let output = run(command.args(arguments(root, line)), input);
    (output, started.elapsed())
}

/// What a run that was refused said on its one line.
fn refusal(root: &Path, line: &str, input: &str) -> String {
    let (output, _) = attempt(root, line, input);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "annals {line}: {errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    errors
}

/// The data of every event as stored, by seq; seqs are contiguous.
fn stored(root: &Path) -> Vec<Value> {
    let shown = annals(root, "show a1 --format jsonl", "");
    let events = shown
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut data = Vec::new();
    for event in events {
        assert_eq!(event["seq"].as_u64(), Some(data.len() as u64), "{event}");
        data.push(event["data"].clone());
    }
    data
}

/// PI#9596: two processes continued one session, each with a history of its own, and one log was spoiled.
#[test]
fn the_second_of_two_processes_is_told_who_the_first_is_and_may_fork() {
    let (_folder, root) = root();
    annals(&root, "append a1", &turn(1, "hello"));
    let mut first = Follower::start(&root, "a1", "");
    assert_eq!(first.append(&event("first")), 3);

    let (output, waited) = attempt(&root, "append a1", &event("second"));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(output.stdout.is_empty());
    // two seconds when nothing else was said
    assert!(
        waited >= Duration::from_millis(1900) && waited < Duration::from_secs(6),
        "{waited:?}"
    );
    let pid = format!("pid {}", first.pid());
    let words = [
        "\"a1\"",
        "host \"",
        &pid,
        "since 20",
        ", for ",
        "annals fork a1",
    ];
    for word in words {
        assert!(errors.contains(word), "{word:?} is not in {errors}");
    }
    assert!(!errors.contains("sign of life"), "it renews: {errors}");

    // nobody waits who does not want to, and reading needs no lease
    for line in ["resume a1 --wait 0", "delete a1 --wait 0"] {
        let (output, waited) = attempt(&root, line, "");
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(waited < Duration::from_secs(1), "{line}: {waited:?}");
    }
    for line in ["list", "show a1", "messages a1", "verify a1"] {
        annals(&root, line, "");
    }
    annals(&root, "update a1 --title T", "");
    annals(&root, "fork a1 --at 2 --id a2", "");
    annals(&root, "append a2", &event("in the copy"));
    assert_eq!(first.append(&event("first again")), 4);
    first.hang_up();
    assert_eq!(first.end().code, 0);
    annals(&root, "append a1 --wait 0", &event("second"));
    assert_eq!(stored(&root).len(), 6);
}

/// A second writer came while the first was about to end: it was refused, although a moment later all was well.
#[test]
fn a_writer_that_ends_in_time_is_waited_for() {
    let (_folder, root) = root();
    let mut first = Follower::start(&root, "a1", "");
    first.append(&event("first"));
    let second = thread::scope(|scope| {
        let second = scope.spawn(|| attempt(&root, "append a1 --wait 30000", &event("second")));
        thread::sleep(Duration::from_millis(300));
        first.hang_up();
        second.join().unwrap().0
    });
    let errors = String::from_utf8_lossy(&second.stderr);
    assert_eq!(String::from_utf8_lossy(&second.stdout), "1\n", "{errors}");
    assert_eq!(first.end().code, 0);
}

#[test]
fn a_killed_holder_blocks_nobody_for_more_than_a_second() {
    let (_folder, root) = root();
    let mut longest = Duration::ZERO;
    for round in 0..8 {
        let mut holder = Follower::start(&root, "a1", "");
        holder.append(&event("held"));
        // also in the middle of what it was not told to be done with
        if round % 2 == 1 {
            holder.give(&event("perhaps").repeat(50));
        }
        holder.signal("KILL");
        let (output, waited) = attempt(&root, "append a1", &event("next"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "round {round}: {errors}");
        longest = longest.max(waited);
        assert_eq!(holder.end().code, 128 + 9);
    }
    println!("a killed holder blocked for {longest:?} at most");
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    assert_eq!(
        stored(&root).iter().filter(|data| *data == "next").count(),
        8
    );
    annals(&root, "verify a1", "");
}

/// A process was stopped, another one took over, and then the first went on writing into the log as if nothing had been.
#[test]
fn a_stopped_holder_is_overtaken_and_what_it_writes_late_is_never_seen() {
    let (_folder, root) = root();
    let ttl = " --set lease-ttl-ms=1200";
    let mut next = 0;
    for round in 0..4_u64 {
        let mut holder = Follower::start(&root, "a1", ttl);
        assert_eq!(holder.append(&event("held")), next);
        // stopped in the middle of it, wherever that is
        holder.give(&event("perhaps").repeat(400));
        thread::sleep(Duration::from_millis(3 * round));
        holder.signal("STOP");
        let before = fs::metadata(log_path(&root, "a1")).unwrap().ino();

        // a holder is not silent before its time
        refusal(
            &root,
            &format!("append a1 --wait 300{ttl}"),
            &event("early"),
        );
        let (output, waited) = attempt(
            &root,
            &format!("append a1 --wait 20000{ttl}"),
            &event("overtaken"),
        );
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "round {round}: {errors}");
        assert!(waited >= Duration::from_millis(1200), "{waited:?}");
        let after = fs::metadata(log_path(&root, "a1")).unwrap().ino();
        assert_ne!(before, after, "the log is a copy");
        let stored_before = stored(&root);

        holder.signal("CONT");
        holder.give(&event("late"));
        let ended = holder.end();
        assert_eq!(ended.code, 1, "{}", ended.errors);
        assert!(ended.errors.contains("\"a1\""), "{}", ended.errors);
        let is_lost = ["lost its lease", "not held by this writer"];
        assert!(
            is_lost.iter().any(|words| ended.errors.contains(words)),
            "{}",
            ended.errors
        );
        // what it said is stored before it was overtaken
        let said = ended.printed.iter().map(|seq| seq.parse::<u64>().unwrap());
        let overtaken = stored_before.len() as u64 - 1;
        assert!(
            said.max().is_none_or(|seq| seq < overtaken),
            "{:?}",
            ended.printed
        );
        assert_eq!(stored_before.last().unwrap(), "overtaken");
        assert_eq!(stored(&root), stored_before, "round {round}");
        let seq = annals(&root, "append a1 --wait 0", &event("next"));
        assert_eq!(seq.trim().parse(), Ok(stored_before.len()));
        next = stored_before.len() as u64 + 1;
    }
    annals(&root, "verify a1", "");
    assert!(
        !fs::read_to_string(log_path(&root, "a1"))
            .unwrap()
            .contains("late")
    );
}

/// A holder that shows no sign of life is one for whom a longer wait helps, and the message says how long.
#[test]
fn a_silent_holder_is_named_with_the_wait_that_takes_over() {
    let (_folder, root) = root();
    let mut holder = Follower::start(&root, "a1", "");
    holder.append(&event("held"));
    holder.signal("STOP");
    let errors = refusal(&root, "append a1", &event("second"));
    for word in ["no sign of life for ", "--wait 11000 ", "for 10 s"] {
        assert!(errors.contains(word), "{word:?} is not in {errors}");
    }
    holder.signal("CONT");
    holder.append(&event("still held"));
    holder.hang_up();
    assert_eq!(holder.end().code, 0);
}

/// The lease of a1 with a holder that was changed, as if it had been left behind.
fn leave_behind(root: &Path, change: impl FnOnce(&mut Value)) {
    let mut holder = Follower::start(root, "a1", "");
    holder.append(&event("held"));
    let directory = root.join("_leases/a1.lease");
    let file = fs::read_dir(&directory)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let lease = fs::read_to_string(&file).unwrap();
    holder.hang_up();
    assert_eq!(holder.end().code, 0);
    let (state, json) = lease.split_at(lease.find('{').unwrap());
    let mut json: Value = serde_json::from_str(json).unwrap();
    // a process that lives as long as this test does
    json["pid"] = std::process::id().into();
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    let start: u64 = fields
        .split_ascii_whitespace()
        .nth(19)
        .unwrap()
        .parse()
        .unwrap();
    json["processStart"] = start.into();
    change(&mut json);
    fs::write(file, format!("{state}{json}\n")).unwrap();
}

#[test]
fn a_later_process_of_the_same_id_is_no_holder() {
    let (_folder, root) = root();
    leave_behind(&root, |_| {});
    refusal(&root, "append a1 --wait 0", &event("next"));
    leave_behind_again(&root, |holder| {
        holder["processStart"] = (holder["processStart"].as_u64().unwrap() - 1).into();
    });
    let (output, waited) = attempt(&root, "append a1 --wait 0", &event("next"));
    assert!(output.status.success());
    assert!(waited < Duration::from_secs(1), "{waited:?}");
}

/// [`leave_behind`] where somebody was left behind before: it is cleared away first.
fn leave_behind_again(root: &Path, change: impl FnOnce(&mut Value)) {
    fs::remove_dir_all(root.join("_leases/a1.lease")).unwrap();
    leave_behind(root, change);
}

/// Process numbers mean nothing on another machine, after a restart, or in another container: such a holder was judged
/// by the number, and a living one lost its session.
#[test]
fn a_holder_elsewhere_is_never_gone_only_silent() {
    for elsewhere in ["host", "bootId", "pidNamespace"] {
        let (_folder, root) = root();
        leave_behind(&root, |holder| {
            holder["pid"] = 1_999_999_999.into();
            holder[elsewhere] = "elsewhere".into();
        });
        refusal(&root, "append a1 --wait 500", &event("next"));
        let patient = "append a1 --set lease-ttl-ms=700 --wait 20000";
        let (output, waited) = attempt(&root, patient, &event("next"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{elsewhere}: {errors}");
        assert!(
            waited >= Duration::from_millis(700),
            "{elsewhere}: {waited:?}"
        );
    }
}

/// OC#21215, CC#45286: many processes append to one session, each opening it, appending and closing it again.
#[test]
fn of_many_processes_that_take_turns_every_event_lands_exactly_once() {
    const PROCESSES: usize = 8;
    const APPENDS: usize = 12;
    let (_folder, root) = root();
    let seqs: Vec<u64> = thread::scope(|scope| {
        let writers: Vec<_> = (0..PROCESSES)
            .map(|writer| {
                let root = &root;
                scope.spawn(move || {
                    let appends = (0..APPENDS).map(|n| {
                        let input = event(&format!("{writer}.{n}"));
                        let seq = annals(root, "append a1 --wait 120000", &input);
                        seq.trim().parse().unwrap()
                    });
                    appends.collect::<Vec<u64>>()
                })
            })
            .collect();
        let seqs = writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap());
        seqs.collect()
    });
    let distinct: BTreeSet<u64> = seqs.iter().copied().collect();
    assert_eq!(
        distinct.len(),
        PROCESSES * APPENDS,
        "no seq was given twice"
    );
    let stored = stored(&root);
    let texts: BTreeSet<&str> = stored.iter().map(|data| data.as_str().unwrap()).collect();
    assert_eq!((stored.len(), texts.len()), (seqs.len(), seqs.len()));
}

/// OAI#2843: processes that opened a new database at the same time failed in the middle of making it.
#[test]
fn many_processes_make_one_root_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("not/there/yet");
    let mut makers: Vec<_> = (0..8)
        .map(|n| {
            let mut command = Command::new(program());
            command.args(arguments(&root, &format!("create --id s{n}")));
            command.stdin(Stdio::null()).stdout(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for maker in &mut makers {
        assert!(maker.wait().unwrap().success());
    }
    assert_eq!(annals(&root, "list --format jsonl", "").lines().count(), 8);
}
