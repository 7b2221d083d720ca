//! What somebody did to the medium, and a key that is not the one: refused, and nothing is changed.

use std::fs;

use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, SessionSummary};
use annals_store::{OpenMode, Store, StoreOptions};

use crate::support::{
    event, files, header, lines, log_of, mixed, over_files, pages, refused, rewrite, root_with,
    settings, stored, with_other_key,
};

const UNOPENED: &str = "sealed-record-unopened";

fn facts(detail: &str) -> (Option<u64>, Option<u64>) {
    let detail: serde_json::Value = serde_json::from_str(detail).unwrap();
    (detail["line"].as_u64(), detail["seq"].as_u64())
}

#[test]
fn another_key_opens_nothing() {
    let (root, _) = root_with(&mixed());
    let error = refused(
        lines(&mut with_other_key(root.path()), "a"),
        ErrorCode::Corrupt,
        UNOPENED,
    );
    assert!(error.message.contains("OTHER_KEY"), "{}", error.message);
    assert!(error.detail.contains("\"id\":\"a\""), "{}", error.detail);
}

/// Whatever was left of a session, opening it for writing with another key is refused before anything is cut, appended or
/// leased.
#[test]
fn opening_for_writing_with_another_key_changes_no_byte() {
    for (name, spoil) in [
        ("whole", (|_| ()) as fn(&mut Vec<String>)),
        ("header alone", |lines| lines.truncate(1)),
        ("torn end", |lines| lines.last_mut().unwrap().truncate(40)),
        ("nothing but a torn record", |lines| {
            lines.truncate(2);
            lines[1].truncate(40);
        }),
        ("zeros", |lines| lines.push("\0\0\0\n".to_owned())),
    ] {
        let (root, log) = root_with(&mixed());
        rewrite(&log, spoil);
        let before = files(root.path());
        for mode in [OpenMode::Resume, OpenMode::Continue, OpenMode::Inspect] {
            let mut store = Store::new(with_other_key(root.path()), ());
            let other = [("encrypt.key-env", "OTHER_KEY")];
            let settings = settings(root.path(), &other);
            store
                .configure("{}", StoreOptions::default(), Some(settings))
                .unwrap();
            let error = refused(store.open("a", mode), ErrorCode::Corrupt, UNOPENED);
            assert_eq!(facts(&error.detail).0, Some(1), "{name}");
            assert_eq!(files(root.path()), before, "{name}");
        }
        let mut backend = with_other_key(root.path());
        let title = SessionSummary {
            title: Some("t".to_owned()),
            first_prompt: None,
        };
        refused(backend.update("a", &title), ErrorCode::Corrupt, UNOPENED);
        refused(
            backend.acquire(Some("a"), "{}", None),
            ErrorCode::Corrupt,
            UNOPENED,
        );
        refused(backend.truncate("a", "1", 0), ErrorCode::Corrupt, UNOPENED);
        assert_eq!(files(root.path()), before, "{name}");
    }
}

type Spoil = fn(&mut Vec<String>);

/// What was done to a log of a header, the seqs 0 and 1, a row from 2 on, 5 and 6: six lines, here counted from 0; and the
/// line and seq that the error names.
const SPOILED: [(&str, Spoil, u64, Option<u64>); 18] = [
    (
        "a letter of its data",
        |l| l[2] = flipped(&l[2], 60),
        3,
        Some(1),
    ),
    (
        "a letter of the last",
        |l| l[5] = flipped(&l[5], 60),
        6,
        Some(6),
    ),
    (
        "its seq",
        |l| replace(&mut l[2], "\"seq\":1", "\"seq\":9"),
        3,
        Some(9),
    ),
    (
        "its time",
        |l| replace(&mut l[2], "\"time\":1001", "\"time\":1002"),
        3,
        Some(1),
    ),
    (
        "its count",
        |l| replace(&mut l[3], "\"count\":3", "\"count\":4"),
        4,
        Some(2),
    ),
    (
        "a row as an event",
        |l| {
            replace(&mut l[3], "-row", "");
            replace(&mut l[3], "\"count\":3,", "");
        },
        4,
        Some(2),
    ),
    (
        "its spelling",
        |l| replace(&mut l[2], ",\"time\"", ", \"time\""),
        3,
        None,
    ),
    ("no base64", |l| replace(&mut l[2], "\"}", "*\"}"), 3, None),
    ("no data", |l| l[2] = sealed(1, ""), 3, Some(1)),
    ("short data", |l| l[2] = sealed(1, "AAAA"), 3, Some(1)),
    (
        "data of its own",
        |l| l[2] = sealed(1, &"A".repeat(80)),
        3,
        Some(1),
    ),
    (
        "a broken quote",
        |l| replace(&mut l[2], "\"data\"", "\"data'"),
        3,
        None,
    ),
    ("swapped with the next", |l| l.swap(1, 2), 2, Some(1)),
    ("the last two swapped", |l| l.swap(4, 5), 5, Some(6)),
    ("gone", |l| drop(l.remove(2)), 3, Some(2)),
    ("twice", |l| l.insert(2, l[1].clone()), 3, Some(0)),
    ("the last twice", |l| l.push(l[5].clone()), 7, Some(6)),
    (
        "data of another",
        |l| {
            let other = l[1].split("\"data\"").nth(1).unwrap().to_owned();
            let own = l[2].split("\"data\"").next().unwrap().to_owned();
            l[2] = format!("{own}\"data\"{other}");
        },
        3,
        Some(1),
    ),
];

#[test]
fn a_whole_record_that_does_not_open_is_never_handed_on() {
    for (name, spoil, line, seq) in SPOILED {
        let (root, log) = root_with(&mixed());
        rewrite(&log, spoil);
        let error = unopened(root.path(), "a", UNOPENED);
        assert_eq!(
            facts(&error.detail),
            (Some(line), seq),
            "{name}: {}",
            error.message
        );
    }
}

fn replace(line: &mut String, from: &str, to: &str) {
    assert!(line.contains(from), "{line}");
    *line = line.replace(from, to);
}

fn flipped(line: &str, at: usize) -> String {
    let mut bytes = line.as_bytes().to_vec();
    bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).unwrap()
}

fn sealed(seq: u64, data: &str) -> String {
    format!("{{\"type\":\"annals/sealed\",\"seq\":{seq},\"time\":1001,\"data\":\"{data}\"}}\n")
}

/// Reading fails so, with pages of any length, also in a new process; opening in any mode changes no byte.
fn unopened(root: &std::path::Path, id: &str, reason: &str) -> annals_sdk::types::Error {
    let before = files(root);
    let error = refused(lines(&mut over_files(root), id), ErrorCode::Corrupt, reason);
    for bytes_max in [1, 300] {
        let again = refused(
            pages(&mut over_files(root), id, bytes_max),
            ErrorCode::Corrupt,
            reason,
        );
        assert_eq!(again, error);
        // each page by a process of its own
        let mut next = Some(0);
        let again = loop {
            match over_files(root).load(id, next.unwrap(), bytes_max) {
                Ok(page) => next = page.next,
                Err(again) => break again,
            }
        };
        assert_eq!(again, error);
    }
    assert_eq!(files(root), before);
    for mode in [OpenMode::Resume, OpenMode::Continue, OpenMode::Inspect] {
        let mut store = Store::new(over_files(root), ());
        let settings = settings(root, &[]);
        store
            .configure("{}", StoreOptions::default(), Some(settings))
            .unwrap();
        assert_eq!(store.open(id, mode).unwrap_err(), error);
    }
    let logs = |files: std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>| {
        let log = |path: &std::path::PathBuf| !path.to_string_lossy().contains("_leases");
        files
            .into_iter()
            .filter(|(path, _)| log(path))
            .collect::<Vec<_>>()
    };
    assert_eq!(logs(files(root)), logs(before));
    error
}

#[test]
fn a_record_opens_in_its_own_session_only() {
    let (root, log) = root_with(&mixed());
    stored(&mut over_files(root.path()), "b", &mixed());
    let other = crate::support::lines_of(&log_of(root.path(), "b"));
    rewrite(&log, |lines| lines[2] = other[2].clone());
    let error = unopened(root.path(), "a", UNOPENED);
    assert_eq!(facts(&error.detail), (Some(3), Some(1)));
    // all of it, with its header: that names another session, and the records do not open as this one's
    fs::write(&log, other.concat()).unwrap();
    let error = over_files(root.path()).load("a", 0, 1000);
    assert!(error.is_err() || error.unwrap().header.unwrap().id == "b");
}

#[test]
fn a_plain_record_in_a_sealed_log_is_refused() {
    for at in [1, 3, 6] {
        let (root, log) = root_with(&mixed());
        rewrite(&log, |lines| {
            let seq = [0, 0, 0, 2, 0, 0, 7][at];
            lines.insert(at, event(seq));
            lines.truncate(at + 1);
        });
        let error = unopened(root.path(), "a", "record-not-sealed");
        assert_eq!(facts(&error.detail).0, Some(at as u64 + 1));
    }
    let (root, log) = root_with(&mixed());
    rewrite(&log, |lines| {
        replace(&mut lines[2], "annals/sealed", "annals/sealef")
    });
    unopened(root.path(), "a", "record-not-sealed");
}

#[test]
fn a_plain_log_is_not_read_through() {
    let root = tempfile::tempdir().unwrap();
    let mut plain = annals_jsonl::Jsonl::default();
    plain.configure(&settings(root.path(), &[])).unwrap();
    stored(&mut plain, "a", &mixed());
    let error = unopened(root.path(), "a", "log-not-sealed");
    assert!(
        error.message.contains("import it through encrypt"),
        "{}",
        error.message
    );
    refused(
        over_files(root.path()).acquire(Some("a"), "{}", None),
        ErrorCode::Corrupt,
        "log-not-sealed",
    );
}

/// The header is readable and cannot be changed: not a member of it, and not that it is sealed.
#[test]
fn a_header_that_was_altered_is_refused() {
    for (from, to, reason) in [
        ("\"cwd\":\"/w\"", "\"cwd\":\"/v\"", UNOPENED),
        ("\"createdAt\":42", "\"createdAt\":43", UNOPENED),
        ("\"a\":1.0", "\"a\":1", UNOPENED),
        ("\"a\":1.0,", "", UNOPENED),
        ("annals/sealed\":\"", "annals/sealed\":\"A", UNOPENED),
        ("annals/sealed", "annals/sealef", "log-not-sealed"),
    ] {
        let (root, log) = root_with(&mixed());
        rewrite(&log, |lines| replace(&mut lines[0], from, to));
        let error = unopened(root.path(), "a", reason);
        assert_eq!(facts(&error.detail), (Some(1), None));
    }
}

/// A header of another version is the store's to refuse, and one that is none too.
#[test]
fn what_is_no_header_is_handed_on() {
    for line in ["{\"type\":\"session\",\"version\":1}\n", "oops\n", ""] {
        let (root, log) = root_with(&mixed());
        rewrite(&log, |lines| lines[0] = line.to_owned());
        let mut plain = annals_jsonl::Jsonl::default();
        plain.configure(&settings(root.path(), &[])).unwrap();
        let page = plain.load("a", 0, 1000).unwrap();
        let opened = over_files(root.path()).load("a", 0, 1000).unwrap();
        assert_eq!(
            (opened.header, opened.raw),
            (page.header, page.raw),
            "{line:?}"
        );
        // what is behind it still opens
        let rest = over_files(root.path())
            .load("a", page.next.unwrap(), 1 << 20)
            .unwrap();
        assert!(!rest.lines.contains("annals/sealed"));
    }
}

/// One letter of a log of years went bad: with `skip` everything else can be read, and nothing can be written.
#[test]
fn what_does_not_open_can_be_skipped_to_read_the_rest() {
    let (root, log) = root_with(&mixed());
    rewrite(&log, |lines| {
        lines[2] = flipped(&lines[2], 60);
        lines[5] = event(6);
        replace(&mut lines[0], "\"createdAt\":42", "\"createdAt\":43");
    });
    let before = files(root.path());
    let mut backend = over_files(root.path());
    let skip = [("encrypt.unopened", "skip")];
    let info = backend.configure(&settings(root.path(), &skip)).unwrap();
    assert!(info.notes.last().unwrap().contains("skip"));
    let page = backend.load("a", 0, 1 << 20).unwrap();
    assert_eq!(page.header.unwrap().created_at_ms, 43);
    let read: Vec<&str> = page.lines.lines().collect();
    let given = mixed().lines;
    let given: Vec<&str> = given.lines().collect();
    let skipped = "a record that does not open";
    assert_eq!(read, [given[0], skipped, given[2], given[3], skipped]);
    let title = SessionSummary {
        title: Some("t".to_owned()),
        first_prompt: None,
    };
    let read_only = (ErrorCode::ReadOnly, "unopened-skipped");
    let (code, reason) = read_only;
    refused(backend.acquire(Some("a"), "{}", None), code, reason);
    refused(backend.acquire(None, "{}", None), code, reason);
    refused(backend.create(&header("b"), "1", &mixed()), code, reason);
    refused(backend.append("a", "1", &mixed()), code, reason);
    refused(backend.truncate("a", "1", 0), code, reason);
    refused(backend.update("a", &title), code, reason);
    refused(backend.delete("a", "1"), code, reason);
    assert_eq!(files(root.path()), before);
}

/// jsonl gives a header line of more than 16 MiB as bytes, and the store would take them for a header.
#[test]
fn a_header_that_comes_as_bytes_is_held_against_the_key() {
    let (root, log) = root_with(&mixed());
    let room = " ".repeat(17 << 20);
    rewrite(&log, |lines| {
        lines[0] = format!(
            "{}\n",
            format_args!(
                r#"{{"type":"session",{room}"version":0,"id":"a","createdAt":42,"cwd":"/evil"}}"#
            )
        );
    });
    let mut backend = over_files(root.path());
    for bytes_max in [1, 1 << 20] {
        let loaded = backend.load("a", 0, bytes_max);
        refused(loaded, ErrorCode::Corrupt, "log-not-sealed");
    }
    let acquired = backend.acquire(Some("a"), "{}", None);
    refused(acquired, ErrorCode::Corrupt, "log-not-sealed");
}
