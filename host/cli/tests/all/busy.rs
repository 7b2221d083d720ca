//! A session that somebody else writes.

use std::fs;

use crate::support::{OPEN_TURN, Place, TURN};

// The holder's time was shown as it is stored, in milliseconds.
#[test]
fn a_holder_is_described_for_people() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let holder = r#"{"host":"elsewhere","pid":7,"since":1783860675270}"#;
    let lease = format!("{:020} held done\n{holder}\n", 3);
    fs::write(place.root().join("_leases/a1.lease/9"), lease).unwrap();
    for args in [&["resume", "a1"][..], &["append", "a1"], &["delete", "a1"]] {
        let ran = place.feed(args, b"{\"type\":\"turn/start\",\"data\":{\"turn\":1}}\n");
        ran.fails(
            1,
            &["a1", "elsewhere", "pid 7", "since 2026-07-12T12:51:15Z"],
        );
    }
}

/// A `busy` offered a fork that an open turn refuses.
#[test]
fn who_may_not_write_is_offered_what_works() {
    let place = Place::new();
    place.ok(&["create", "--id", "a b"]);
    let hold = || {
        let holder = r#"{"host":"elsewhere","pid":7,"since":1783860675270}"#;
        let lease = format!("{:020} held done\n{holder}\n", 3);
        let leases = place.root().join("_leases/a~0020b.lease");
        fs::remove_dir_all(&leases).unwrap();
        fs::create_dir(&leases).unwrap();
        fs::write(leases.join("99999"), lease).unwrap();
    };
    let release = || fs::remove_dir_all(place.root().join("_leases/a~0020b.lease")).unwrap();
    let steps = [
        ("", None),
        (OPEN_TURN, Some("annals salvage 'a b' --fork NEW makes")),
        (TURN, Some("annals fork 'a b' makes")),
        (OPEN_TURN, Some("annals fork 'a b' --at ")),
    ];
    for (number, (events, offered)) in steps.into_iter().enumerate() {
        if !events.is_empty() {
            place.append("a b", events);
        }
        hold();
        let ran = place.run(&["resume", "a b", "--wait", "0"]);
        ran.fails(1, &["a b", "elsewhere"]);
        assert!(!ran.err.contains("or fork it"), "{}", ran.err);
        let Some(offered) = offered else {
            assert!(!ran.err.contains("makes a copy"), "{}", ran.err);
            release();
            continue;
        };
        assert!(ran.err.contains(offered), "{}", ran.err);
        // what is offered works as it is written
        let (_, command) = ran.err.split_once("; annals ").unwrap();
        let (command, _) = command.split_once(" makes").unwrap();
        let new = format!("copy{number}");
        let command = command.replace("NEW", &new);
        let shell = format!("exec \"$0\" \"$@\" {command}");
        let ran = place.under(&["sh", "-c", &shell], &[], b"");
        assert_eq!(ran.code, 0, "{command}: {}", ran.err);
        release();
    }
}

/// A signal during the wait was answered by one of two threads, whichever was first.
#[test]
#[cfg(unix)]
fn a_signal_that_ends_a_wait_is_one_line() {
    use std::process::{Command, Stdio};
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let holder = r#"{"host":"elsewhere","pid":7,"since":1783860675270}"#;
    let lease = format!("{:020} held done\n{holder}\n", 3);
    fs::write(place.root().join("_leases/a1.lease/9"), lease).unwrap();
    let root = place.root().display().to_string();
    for round in 0..12 {
        let (name, code) = [("TERM", 143), ("HUP", 129), ("INT", 130)][round % 3];
        let args: &[&str] = [&["resume", "a1"][..], &["delete", "a1"]][round % 2];
        // what the tests were started to ignore is not to be ignored here
        let waiting = Command::new("env")
            .arg("--default-signal=HUP,INT,TERM")
            .arg(env!("CARGO_BIN_EXE_annals"))
            .args(["--root", &root, "--wait", "5000"])
            .args(args)
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(400));
        let pid = waiting.id().to_string();
        let killed = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(killed.unwrap().success());
        let ended = waiting.wait_with_output().unwrap();
        let line =
            format!("annals: session \"a1\": SIG{name} ended the wait for whoever writes it\n");
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), said), (Some(code), line));
    }
}

// Who was told to fork a session that somebody works in was refused that as well, for its last turn was open.
#[test]
fn a_fork_in_the_middle_of_a_turn_is_told_where_it_can_begin() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", OPEN_TURN);
    let ran = place.run(&["fork", "a1"]);
    ran.fails(1, &["a1"]);
    assert!(!ran.err.contains("--at"), "no turn has ended: {}", ran.err);
    place.ok(&["resume", "a1"]);
    place.append("a1", TURN);
    let ended = place
        .ok(&["show", "a1", "--format", "jsonl"])
        .lines()
        .count()
        - 1;
    place.append("a1", OPEN_TURN);
    let words = format!("--at {ended} forks before the open turn");
    place.run(&["fork", "a1"]).fails(1, &[&words]);
    place.ok(&["fork", "a1", "--at", &ended.to_string()]);
}

/// The listing looked in the middle of a write, reading found nothing wrong, and a healthy session was called damaged.
#[test]
fn a_session_that_is_being_written_is_not_called_damaged() {
    let place = Place::new();
    place.ok(&["create", "--id", "a"]);
    let event = format!(
        "{{\"type\":\"x/y\",\"data\":\"{}\"}}\n",
        "x".repeat(1 << 20)
    );
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            place.append("a", "{\"type\":\"turn/start\",\"data\":{\"turn\":1}}\n");
            (0..12).for_each(|_| drop(place.append("a", &event.repeat(4))));
        });
        while !writer.is_finished() {
            for args in [&["verify"][..], &["verify", "a"]] {
                let ran = place.run(args);
                // an end that reading itself finds torn is said with its line
                let is_torn = ran.out.contains("; line ");
                assert!(ran.code == 0 || is_torn, "{args:?}: {}", ran.out);
            }
            let found = place.run(&["doctor"]).out;
            assert!(!found.contains("damaged"), "{found}");
        }
    });
    place.ok(&["verify"]);
}
