//! Several processes and threads that use one root through the library.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use annals::{Annals, Backend, CreateOptions, ErrorCode, Link, OpenMode, Place};
use serde_json::Value;

const ROOT: &str = "ANNALS_TEST_ROOT";
const NAME: &str = "ANNALS_TEST_NAME";

const APPENDS: usize = 200;
const PROCESSES: usize = 8;

fn options(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.into()),
        ..CreateOptions::default()
    }
}

fn event(text: &str) -> String {
    format!("{{\"type\":\"plugin/note\",\"data\":\"{text}\"}}\n")
}

/// A process of this test binary that runs one of the ignored functions below.
fn start(function: &str, root: &Path, name: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("leases::{function}"), "--ignored"]);
    child.env(ROOT, root).env(NAME, name);
    child.stdout(Stdio::null()).spawn().unwrap()
}

fn stored(annals: &Annals) -> Vec<Value> {
    let mut events = Vec::new();
    let mut cursor = Some(0);
    while let Some(at) = cursor {
        let page = annals.read("a", at, 1 << 20).unwrap();
        events.extend(page.lines.lines().map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            event
        }));
        cursor = page.next;
    }
    for (seq, event) in events.iter().enumerate() {
        assert_eq!(event["seq"].as_u64(), Some(seq as u64), "{event}");
    }
    events
}

/// Not a test of its own: started by the test below.
#[test]
#[ignore = "started by the test below"]
fn takes_turns() {
    let Some(root) = std::env::var_os(ROOT) else {
        return;
    };
    let name = std::env::var(NAME).unwrap();
    let patient = Annals::builder().root(root).lease_wait_ms(300_000);
    let annals = patient.build().unwrap();
    for n in 0..APPENDS {
        let (session, _) = annals.open("a", OpenMode::Continue).unwrap();
        session.append(&event(&format!("{name}.{n}"))).unwrap();
        session.close().unwrap();
    }
}

/// OC#21215, CC#45286: of eight processes that append at the same time some failed, or wrote over each other.
#[test]
fn eight_processes_append_200_times_each_and_every_event_lands_exactly_once() {
    let root = tempfile::tempdir().unwrap();
    let annals = Annals::jsonl(root.path()).unwrap();
    let session = annals.create(options("a")).unwrap();
    session.persist().unwrap();
    session.close().unwrap();
    let started = Instant::now();
    let mut processes: Vec<Child> = (0..PROCESSES)
        .map(|n| start("takes_turns", root.path(), &n.to_string()))
        .collect();
    for process in &mut processes {
        assert!(process.wait().unwrap().success());
    }
    println!("{} appends in {:?}", PROCESSES * APPENDS, started.elapsed());
    let events = stored(&annals);
    let texts: BTreeSet<&str> = events.iter().map(|e| e["data"].as_str().unwrap()).collect();
    assert_eq!((events.len(), texts.len()), (1600, 1600));
}

/// CC#45286: two tasks of one process appended a tool result each, and one was lost.
#[test]
fn two_threads_append_to_one_session_and_both_are_in_the_log() {
    let root = tempfile::tempdir().unwrap();
    let annals = Annals::jsonl(root.path()).unwrap();
    let session = annals.create(options("a")).unwrap();
    std::thread::scope(|scope| {
        for name in ["one", "two"] {
            let session = session.clone();
            scope.spawn(move || {
                for n in 0..100 {
                    session.append(&event(&format!("{name} {n}"))).unwrap();
                    session.flush().unwrap();
                }
            });
        }
    });
    let events = stored(&annals);
    let texts: BTreeSet<&str> = events.iter().map(|e| e["data"].as_str().unwrap()).collect();
    assert_eq!((events.len(), texts.len()), (200, 200));
}

/// ADK#4751: of two appends within one millisecond the second was taken for a stale one.
#[test]
fn order_and_leases_never_depend_on_time() {
    let root = tempfile::tempdir().unwrap();
    // a clock that stands still, and one that goes backwards
    for (n, clock) in [(|| 7) as fn() -> u64, || 3].into_iter().enumerate() {
        let annals = Annals::builder().root(root.path()).clock(clock);
        let annals = annals.build().unwrap();
        let session = match n {
            0 => annals.create(options("a")).unwrap(),
            _ => annals.open("a", OpenMode::Continue).unwrap().0,
        };
        for m in 0..10 {
            session.append(&event(&format!("{n}.{m}"))).unwrap();
            session.flush().unwrap();
        }
        annals.shutdown().unwrap();
    }
    let events = stored(&Annals::jsonl(root.path()).unwrap());
    let texts: Vec<&str> = events.iter().map(|e| e["data"].as_str().unwrap()).collect();
    let expected: Vec<String> = (0..20).map(|n| format!("{}.{}", n / 10, n % 10)).collect();
    assert_eq!(texts, expected);
}

/// Not a test of its own: a host that is told to end, as a service manager does it. Started by the test below.
#[cfg(unix)]
#[test]
#[ignore = "started by the test below"]
fn is_told_to_end() {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    let Some(root) = std::env::var_os(ROOT) else {
        return;
    };
    let annals = Annals::jsonl(&root).unwrap();
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGHUP]).unwrap();
    let for_the_end = annals.clone();
    std::thread::spawn(move || {
        let signal = signals.forever().next().unwrap();
        for_the_end.shutdown().unwrap();
        std::process::exit(128 + signal);
    });
    let session = annals.create(options("a")).unwrap();
    for n in 0..1000 {
        session.append(&event(&n.to_string())).unwrap();
    }
    std::fs::write(Path::new(&root).join("accepted"), "").unwrap();
    loop {
        std::thread::park();
    }
}

/// hermes-agent#6481: what was accepted and not flushed yet was gone after SIGTERM or SIGHUP.
#[cfg(unix)]
#[test]
fn a_host_that_is_told_to_end_stores_what_it_accepted() {
    for (name, code) in [("TERM", 143), ("HUP", 129)] {
        let root = tempfile::tempdir().unwrap();
        let mut host = start("is_told_to_end", root.path(), "");
        let patience = Instant::now() + Duration::from_secs(60);
        while !root.path().join("accepted").exists() {
            assert!(Instant::now() < patience);
            std::thread::sleep(Duration::from_millis(10));
        }
        let annals = Annals::builder().root(root.path()).lease_wait_ms(0);
        let annals = annals.build().unwrap();
        assert!(!annals.has("a").unwrap());
        let mut kill = Command::new("sh");
        let kill = kill.args(["-c", "kill -$0 $1", name, &host.id().to_string()]);
        assert!(kill.status().unwrap().success());
        assert_eq!(host.wait().unwrap().code(), Some(code));
        assert_eq!(stored(&annals).len(), 1000);
        // its lease was given back, nobody has to judge it
        annals.open("a", OpenMode::Continue).unwrap();
    }
}

/// Facts of a `busy`.
fn fact(error: &annals::Error, name: &str) -> Option<u64> {
    assert_eq!(error.code, ErrorCode::Busy, "{error:?}");
    let detail: Value = serde_json::from_str(&error.detail).unwrap();
    assert_eq!(detail["holder"]["pid"], std::process::id());
    assert!(detail["holder"]["host"].is_string());
    detail[name].as_u64()
}

#[test]
fn a_busy_session_is_waited_for_and_described() {
    let root = tempfile::tempdir().unwrap();
    let first = Annals::jsonl(root.path()).unwrap();
    let session = first.create(options("a")).unwrap();
    session.append(&event("mine")).unwrap();
    session.flush().unwrap();

    let second = Annals::builder().root(root.path()).lease_wait_ms(400);
    let second = second.build().unwrap();
    let started = Instant::now();
    let error = second.open("a", OpenMode::Continue).unwrap_err();
    assert!(started.elapsed() >= Duration::from_millis(400));
    assert!(fact(&error, "age-ms").unwrap() >= 400, "{error:?}");
    assert!(fact(&error, "silent-ms").unwrap() < 3000, "{error:?}");
    assert_eq!(fact(&error, "lease-ttl-ms"), Some(10_000));
    let error = second.delete("a").unwrap_err();
    assert_eq!(error.reason, "lease-held");
    // a fork needs no lease
    let boundary = session.append(crate::TURN).unwrap();
    session.flush().unwrap();
    let fork = second.fork("a", annals::ForkOptions::default()).unwrap();
    assert_eq!(
        fork.next_seq().unwrap(),
        boundary.first_seq + boundary.count
    );

    // whoever waits is answered when the program is to end
    let patient = Annals::builder().root(root.path()).lease_wait_ms(60_000);
    let patient = patient.build().unwrap();
    let waiting = patient.clone();
    let started = Instant::now();
    let waiter = std::thread::spawn(move || waiting.open("a", OpenMode::Continue).map(drop));
    std::thread::sleep(Duration::from_millis(200));
    patient.shutdown().unwrap();
    waiter.join().unwrap().unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// A host that asks again and again need not wait in one call for as long as a holder is silent.
#[test]
fn silence_is_counted_from_one_call_to_the_next() {
    let root = tempfile::tempdir().unwrap();
    let first = Annals::jsonl(root.path()).unwrap();
    let session = first.create(options("a")).unwrap();
    session.append(&event("mine")).unwrap();
    session.flush().unwrap();
    session.close().unwrap();
    // left behind by somebody who cannot be seen from here
    let directory = root.path().join("_leases/a.lease");
    let holder = format!(
        "{{\"host\":\"elsewhere\",\"pid\":{},\"since\":0}}",
        std::process::id()
    );
    let lease = format!("{:020} held done\n{holder}\n", 7);
    std::fs::write(directory.join("99"), lease).unwrap();

    let second = Annals::builder().root(root.path()).lease_wait_ms(0);
    let second = second.setting("lease-ttl-ms", "600").build().unwrap();
    let error = second.open("a", OpenMode::Continue).unwrap_err();
    assert_eq!(fact(&error, "silent-ms"), Some(0));
    std::thread::sleep(Duration::from_millis(300));
    let error = second.open("a", OpenMode::Continue).unwrap_err();
    assert!(fact(&error, "silent-ms").unwrap() >= 300);
    std::thread::sleep(Duration::from_millis(400));
    let (session, _) = second.open("a", OpenMode::Continue).unwrap();
    session.append(&event("taken over")).unwrap();
    session.close().unwrap();
    assert_eq!(stored(&second).len(), 2);
}

/// A host that goes down flushes all of its sessions in one call, and goes on where it can.
#[test]
fn all_sessions_are_flushed_in_one_call() {
    let root = tempfile::tempdir().unwrap();
    let annals = Annals::jsonl(root.path()).unwrap();
    let sessions = ["a", "b", "c"].map(|id| {
        let session = annals.create(options(id)).unwrap();
        session.append(&event(id)).unwrap();
        session
    });
    annals.flush().unwrap();
    for session in &sessions {
        assert!(annals.has(session.id()).unwrap());
        session.append(&event("more")).unwrap();
    }
    annals.shutdown().unwrap();
    let annals = Annals::jsonl(root.path()).unwrap();
    assert_eq!(stored(&annals).len(), 2);
}

#[cfg(unix)]
#[test]
fn a_root_that_is_open_to_others_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    let annals = Annals::jsonl(&root).unwrap();
    assert_eq!(annals.warnings(), Vec::<String>::new());
    let mode = root.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).unwrap();
    let warnings = Annals::jsonl(&root).unwrap().warnings();
    assert!(warnings[0].contains("chmod 700"), "{warnings:?}");
    assert_eq!(Annals::memory().unwrap().warnings(), Vec::<String>::new());
}

// A session that lost its lease had left the store, but the host flushed it for ever: `not-found`.
#[test]
fn a_session_that_lost_its_lease_is_in_nobodys_way() {
    for (is_known, is_dropped) in [(true, true), (true, false), (false, true), (false, false)] {
        let root = tempfile::tempdir().unwrap();
        let annals = Annals::builder().root(root.path()).link(Link::Dynamic);
        let annals = annals.lease_wait_ms(0).build().unwrap();
        let sessions = ["a", "b"].map(|id| {
            let session = annals.create(options(id)).unwrap();
            session.append(&event(id)).unwrap();
            session.flush().unwrap();
            session.append(&event("more")).unwrap();
            session
        });
        let [lost, kept] = sessions;
        let holder = format!("{{\"host\":\"elsewhere\",\"pid\":{}}}", std::process::id());
        let lease = format!("{:020} held done\n{holder}\n", 7);
        std::fs::write(root.path().join("_leases/a.lease/2"), lease).unwrap();
        if is_known {
            // the next renewal finds out
            std::thread::sleep(Duration::from_millis(1500));
        }
        if is_dropped {
            drop(lost);
        } else {
            assert_eq!(lost.close().unwrap_err().code, ErrorCode::Busy);
            if !is_known {
                // that was the write that found out, after which the session can still be read
                assert_eq!(annals.live().unwrap(), ["a", "b"]);
                assert_eq!(lost.close().unwrap_err().reason, "lease-lost");
            }
            lost.close().unwrap();
        }
        assert_eq!(annals.live().unwrap(), ["b"]);
        annals.flush().unwrap();
        let bound = annals.rebind(Place::new(Backend::Memory)).unwrap();
        assert_eq!(bound.len(), 1);
        drop(kept);
        annals.shutdown().unwrap();
    }
}

// An append outside the loop did not wait for a writer that is done soon.
#[test]
fn an_append_outside_the_loop_waits_for_the_lease() {
    let root = tempfile::tempdir().unwrap();
    let builder = || {
        let builder = Annals::builder().root(root.path());
        builder.out_of_band_type("plugin/note")
    };
    let first = builder().build().unwrap();
    let writer = first.create(options("a")).unwrap();
    let second = builder().lease_wait_ms(20_000).build().unwrap();
    let session = second.create(options("a")).unwrap();
    // holds the lease, and leaves no log
    writer.persist().unwrap();
    std::fs::remove_file(root.path().join("_no-cwd/a.jsonl")).unwrap();
    let waiting = std::thread::spawn(move || {
        let batch = session.append_out_of_band(&event("late"), "{}").unwrap();
        (batch.first_seq, session.next_seq().unwrap())
    });
    std::thread::sleep(Duration::from_millis(300));
    writer.detach().unwrap();
    assert_eq!(waiting.join().unwrap(), (1, 3));
}
