//! The store over real files: what a crash leaves is opened, closed and gone on with.

use std::fs;
use std::path::{Path, PathBuf};

use annals_jsonl::Jsonl;
use annals_sdk::types::ErrorCode;
use annals_store::{OpenMode, Store, StoreOptions};

use crate::support::{END, START, label, options, turn, user};

fn store_at(root: &Path) -> Store<Jsonl, ()> {
    let mut store = Store::new(Jsonl::default(), ());
    let settings = [("root", root.to_str().unwrap()), ("sync", "never")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    store
        .configure(
            "{\"host\":\"test\"}",
            StoreOptions::default(),
            Some(settings.into()),
        )
        .unwrap();
    store
}

/// The one log under a root.
fn log_of(root: &Path) -> PathBuf {
    let buckets = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = buckets
        .filter(|path| path.is_dir())
        .flat_map(|path| fs::read_dir(path).unwrap());
    let mut logs = files.map(|entry| entry.unwrap().path()).filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "jsonl")
    });
    let log = logs.next().unwrap();
    assert_eq!(logs.next(), None);
    log
}

/// A root with one log whose last turn is open, and the log's path and bytes.
fn recorded() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let root = tempfile::tempdir().unwrap();
    let mut store = store_at(root.path());
    let key = store.create(options("a"), 1).unwrap();
    store.append(key, &turn("one é"), 2).unwrap();
    store.flush(key).unwrap();
    let open = START.replace("\"turn\":1", "\"turn\":2");
    store
        .append(key, &format!("{open}\n{}\n", user("two")), 3)
        .unwrap();
    store.close(key).unwrap();
    let log = log_of(root.path());
    let bytes = fs::read(&log).unwrap();
    (root, log, bytes)
}

/// Whatever byte a crash stops at, every whole event is kept, the rest is cut, and the next open finds nothing to do.
#[test]
fn a_log_cut_anywhere_opens_with_every_whole_event() {
    let (_root, log, bytes) = recorded();
    let header_bytes = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    // every border with its neighbours, and every seventh byte between them
    let near_border =
        |at: &usize| bytes[at.saturating_sub(2)..(at + 1).min(bytes.len())].contains(&b'\n');
    for length in (0..=bytes.len()).filter(|at| at % 7 == 0 || near_border(at)) {
        let root = tempfile::tempdir().unwrap();
        let kept = bytes.get(..length).unwrap();
        let path = root.path().join("_no-cwd").join(log.file_name().unwrap());
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, kept).unwrap();
        let mut store = store_at(root.path());
        let opened = store.open("a", OpenMode::Resume);
        if length < header_bytes {
            assert_eq!(
                opened.err().unwrap().code,
                ErrorCode::Corrupt,
                "at {length}"
            );
            assert_eq!(fs::read(&path).unwrap(), kept);
            continue;
        }
        let (key, repair) = opened.unwrap();
        let whole = kept.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(repair.cut_bytes, (length - whole) as u64, "at {length}");
        let after = fs::read(&path).unwrap();
        assert_eq!(after.get(..whole), kept.get(..whole));
        assert_eq!(after.len() == whole, repair.closers == 0);
        store.append(key, &turn("next"), 9).unwrap();
        store.close(key).unwrap();
        let (_, repair) = store.open("a", OpenMode::Resume).unwrap();
        assert_eq!((repair.cut_bytes, repair.closers), (0, 0), "at {length}");
    }
}

#[test]
fn two_stores_on_one_root_take_turns() {
    let (root, _, _) = recorded();
    let (mut one, mut two) = (store_at(root.path()), store_at(root.path()));
    let (key, _) = one.open("a", OpenMode::Continue).unwrap();
    assert_eq!(
        two.open("a", OpenMode::Continue).err().unwrap().code,
        ErrorCode::Busy
    );
    one.append(key, &END.replace("\"turn\":1", "\"turn\":2"), 9)
        .unwrap();
    one.close(key).unwrap();
    let (key, repair) = two.open("a", OpenMode::Resume).unwrap();
    assert_eq!((two.next_seq(key), repair.closers), (Some(6), 0));
    let child = two.fork("a", Some(2), Some("b".into()), None, 10).unwrap();
    two.close(child).unwrap();
    two.close(key).unwrap();
    one.delete("a").unwrap();
    let listing = one.list(None, 10).unwrap();
    let ids: Vec<_> = listing
        .sessions
        .iter()
        .map(|entry| entry.id.as_str())
        .collect();
    assert_eq!(ids, ["b"]);
    assert_eq!(
        listing.sessions[0].summary.first_prompt.as_deref(),
        Some("one é")
    );
}

#[test]
fn looking_changes_nothing_on_disk() {
    let (root, log, bytes) = recorded();
    let mut store = store_at(root.path());
    let names = |root: &Path| {
        let mut names: Vec<_> = fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let before = names(root.path());
    let (key, repair) = store.open("a", OpenMode::Inspect).unwrap();
    assert_eq!(repair.closers, 1);
    assert_eq!(store.messages(key, 0, 1000).unwrap().total, 2);
    store.close(key).unwrap();
    store.read("a", 0, 100).unwrap();
    assert_eq!(
        label(store.open("../a", OpenMode::Resume)),
        "NotFound session-not-found"
    );
    assert_eq!(label(store.delete("../a")), "NotFound session-not-found");
    assert_eq!(fs::read(&log).unwrap(), bytes);
    assert_eq!(names(root.path()), before);
}
