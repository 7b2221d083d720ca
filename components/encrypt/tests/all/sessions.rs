//! Whole sessions: a store over sealed files, crashes, repairs, forks, other stores.

use std::fs;
use std::path::Path;

use annals_encrypt::Encrypt;
use annals_jsonl::Jsonl;
use annals_sdk::types::{ErrorCode, SessionSummary};
use annals_sdk::{Persistence, Result};
use annals_store::{CreateOptions, OpenMode, Store, StoreOptions};

use crate::support::{files, lines_of, log_of, over_files, refused, rewrite, settings};

const TURN: &str = concat!(
    r#"{"type":"turn/start","data":{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}}"#,
    "\n",
    r#"{"type":"user/message","data":{"content":"secret","source":{"kind":"user"}},"surfaceOp":"append"}"#,
    "\n",
    r#"{"type":"turn/end","data":{"turn":1,"reason":{"kind":"completed"}}}"#,
    "\n"
);
const OPEN: &str = concat!(
    r#"{"type":"turn/start","data":{"turn":2,"trigger":{"kind":"message","source":{"kind":"user"}}}}"#,
    "\n",
    r#"{"type":"user/message","data":{"content":"secret two","source":{"kind":"user"}},"surfaceOp":"append"}"#,
    "\n"
);

fn store_at(root: &Path) -> Store<Encrypt<Jsonl>, ()> {
    configured(Store::new(over_files(root), ()), root)
}

fn configured<P: Persistence>(mut store: Store<P, ()>, root: &Path) -> Store<P, ()> {
    let settings = settings(root, &[]);
    store
        .configure("{}", StoreOptions::default(), Some(settings))
        .unwrap();
    store
}

fn options(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        cwd: Some("/w".to_owned()),
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        created_at_ms: None,
        seed: None,
        extra: None,
    }
}

/// A root with a session of a finished turn and an open one.
fn recorded() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let mut store = store_at(root.path());
    let key = store.create(options("a"), 1).unwrap();
    for events in [TURN, OPEN] {
        store.append(key, events, 2).unwrap();
        store.flush(key).unwrap();
    }
    store.close(key).unwrap();
    root
}

fn history<P: Persistence>(store: &mut Store<P, ()>, id: &str) -> Result<String> {
    let (key, _) = store.open(id, OpenMode::Inspect)?;
    let messages = store.messages(key, 0, u32::MAX)?;
    store.close(key)?;
    Ok(messages.lines)
}

#[test]
fn a_session_goes_on_in_another_process() {
    let root = recorded();
    let mut store = store_at(root.path());
    let (key, repair) = store.open("a", OpenMode::Resume).unwrap();
    assert_eq!((repair.closers, repair.cut_bytes), (1, 0));
    store
        .append(key, &OPEN.replace("\"turn\":2", "\"turn\":3"), 5)
        .unwrap();
    store.close(key).unwrap();
    let said = history(&mut store_at(root.path()), "a").unwrap();
    assert_eq!(said.matches("secret").count(), 3, "{said}");
    let listed = store.list(None, 10).unwrap().sessions;
    assert_eq!(listed[0].summary.first_prompt.as_deref(), Some("secret"));
    assert_eq!(listed[0].updated_at_ms, Some(5));
}

/// Whatever byte a crash stops at, opening keeps every whole event and cuts the rest, as it does where nothing is sealed.
#[test]
fn a_torn_end_is_repaired_at_every_byte() {
    let root = recorded();
    let log = log_of(root.path(), "a");
    let whole = fs::read(&log).unwrap();
    let lines = lines_of(&log);
    let finished: usize = lines[..4].iter().map(String::len).sum();
    for length in (finished..whole.len()).step_by(if cfg!(debug_assertions) { 7 } else { 1 }) {
        fs::write(&log, &whole[..length]).unwrap();
        let mut store = store_at(root.path());
        let (key, repair) = store.open("a", OpenMode::Resume).unwrap();
        let ends: Vec<usize> = lines
            .iter()
            .scan(0, |at, line| {
                *at += line.len();
                Some(*at)
            })
            .collect();
        let kept = ends.iter().rfind(|end| **end <= length).unwrap();
        assert_eq!(repair.cut_bytes as usize, length - kept, "{length}");
        assert_eq!(repair.closers, u32::from(*kept > finished));
        store.close(key).unwrap();
        let (key, repair) = store.open("a", OpenMode::Resume).unwrap();
        assert_eq!((repair.closers, repair.cut_bytes), (0, 0));
        store.close(key).unwrap();
        forget_cuts(root.path());
    }
}

/// Only so many cuts at one byte are kept apart.
fn forget_cuts(root: &Path) {
    for path in files(root).into_keys() {
        if path.extension().is_some_and(|end| end == "torn") {
            fs::remove_file(path).unwrap();
        }
    }
}

/// A block that a power loss left as zeros is no record, wherever in a line it begins.
#[test]
fn zeros_in_the_last_batch_are_repaired() {
    let root = recorded();
    let log = log_of(root.path(), "a");
    let whole = fs::read(&log).unwrap();
    let last = lines_of(&log).last().unwrap().len();
    let start = whole.len() - last;
    for at in (start..whole.len() - 1).step_by(7) {
        let mut bytes = whole.clone();
        let end = (at + 20).min(whole.len() - 1);
        bytes[at..end].fill(0);
        fs::write(&log, &bytes).unwrap();
        let mut store = store_at(root.path());
        let (key, repair) = store.open("a", OpenMode::Resume).unwrap();
        assert_eq!(repair.cut_bytes as usize, last, "{at}");
        store.close(key).unwrap();
    }
}

/// Bytes that are no UTF-8 do not hide that a record was altered.
#[test]
fn a_record_with_invalid_utf_8_was_altered() {
    let root = recorded();
    let log = log_of(root.path(), "a");
    let mut bytes = fs::read(&log).unwrap();
    let at = bytes.len() - 20;
    bytes[at] |= 0x80;
    fs::write(&log, &bytes).unwrap();
    let opened = store_at(root.path()).open("a", OpenMode::Resume);
    refused(opened, ErrorCode::Corrupt, "sealed-record-unopened");
    assert_eq!(fs::read(&log).unwrap(), bytes);
}

#[test]
fn a_fork_is_sealed_for_itself() {
    let root = recorded();
    let mut store = store_at(root.path());
    let (parent, _) = store.open("a", OpenMode::Resume).unwrap();
    store.close(parent).unwrap();
    let child = store
        .fork("a", None, Some("b".to_owned()), None, 9)
        .unwrap();
    store.close(child).unwrap();
    let mut store = store_at(root.path());
    assert_eq!(
        history(&mut store, "b").unwrap(),
        history(&mut store, "a").unwrap()
    );
    let (parent, child) = (log_of(root.path(), "a"), log_of(root.path(), "b"));
    assert!(
        lines_of(&parent)
            .iter()
            .all(|line| !lines_of(&child).contains(line))
    );
}

/// Without the middleware a sealed log is left alone, and a header cannot be made to look like one.
#[test]
fn a_store_without_the_middleware_leaves_a_sealed_log_alone() {
    let root = recorded();
    let mut store = configured(Store::new(Jsonl::default(), ()), root.path());
    let log = fs::read(log_of(root.path(), "a")).unwrap();
    for mode in [OpenMode::Resume, OpenMode::Continue, OpenMode::Inspect] {
        let error = refused(
            store.open("a", mode),
            ErrorCode::UnsupportedVersion,
            "log-sealed",
        );
        assert!(error.message.contains("encrypt"), "{}", error.message);
    }
    let title = SessionSummary {
        title: Some("t".to_owned()),
        first_prompt: None,
    };
    let updated = store.update("a", &title);
    refused(updated, ErrorCode::UnsupportedVersion, "log-sealed");
    assert_eq!(fs::read(log_of(root.path(), "a")).unwrap(), log);
    let listed = store.list(None, 10).unwrap().sessions;
    assert_eq!(listed[0].summary.title, None);
    assert!(
        listed[0]
            .summary
            .first_prompt
            .as_deref()
            .unwrap()
            .starts_with("annals/sealed:")
    );
    let extra = Some("{\"annals/sealed\":\"x\"}".to_owned());
    let created = store.create(
        CreateOptions {
            extra,
            ..options("b")
        },
        1,
    );
    refused(created, ErrorCode::Invalid, "log-sealed");
}

/// A live session whose last answer was lost meets what it stored.
#[test]
fn events_that_are_stored_already_are_not_stored_twice() {
    let root = recorded();
    let mut store = store_at(root.path());
    let (key, _) = store.open("a", OpenMode::Resume).unwrap();
    store
        .append(key, &OPEN.replace("\"turn\":2", "\"turn\":3"), 5)
        .unwrap();
    // the medium gets them behind the store's back, the last one torn
    let plain: Vec<String> = store
        .events(key, 6, u32::MAX)
        .unwrap()
        .lines
        .lines()
        .map(|line| format!("{line}\n"))
        .collect();
    let mut other = over_files(root.path());
    let token = lease_of(root.path());
    for (at, line) in plain.iter().enumerate() {
        let batch = annals_sdk::types::Batch {
            first_seq: 6 + at as u64,
            count: 1,
            last_time_ms: 5,
            lines: line.clone(),
        };
        other.append("a", &token, &batch).unwrap();
    }
    let log = log_of(root.path(), "a");
    rewrite(&log, |lines| lines.last_mut().unwrap().truncate(30));
    store.flush(key).unwrap();
    store.close(key).unwrap();
    let said = history(&mut store_at(root.path()), "a").unwrap();
    assert_eq!(said.matches("secret two").count(), 2, "{said}");
}

fn lease_of(root: &Path) -> String {
    let error = over_files(root).acquire(Some("a"), "{}", None).unwrap_err();
    let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
    detail["token"].as_str().unwrap().to_owned()
}
