//! Which calls stand behind "ok means that it is on the disk".

use std::path::{Path, PathBuf};

use crate::command::{annals, log_path, turn};
use crate::trace::{Call, trace};

/// A root whose path is spelled as the kernel spells it.
fn root() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("root");
    (folder, root)
}

fn positions(calls: &[Call], wanted: impl Fn(&Call) -> bool) -> Vec<usize> {
    let numbered = calls.iter().enumerate();
    numbered
        .filter(|(_, call)| wanted(call))
        .map(|(n, _)| n)
        .collect()
}

/// The only position of a call that is `wanted`.
fn only(calls: &[Call], what: &str, wanted: impl Fn(&Call) -> bool) -> usize {
    match positions(calls, wanted)[..] {
        [position] => position,
        ref found => panic!("{what}: {} calls instead of one in {calls:#?}", found.len()),
    }
}

fn assert_appended_once(root: &Path, input: &str) {
    let log = log_path(root, "a1");
    let before = log.metadata().unwrap().len();
    let (calls, _) = trace(root, "append a1", input);
    let grown = log.metadata().unwrap().len() - before;

    let write = only(&calls, "writes to the log", |call| {
        call.writes() && call.is_on(&log)
    });
    assert_eq!(
        calls[write].result, grown,
        "the one write is the whole batch"
    );
    let sync = only(&calls, "syncs of the log", |call| {
        call.syncs() && call.is_on(&log)
    });
    assert!(write < sync, "the sync comes after the write");
    let cuts = positions(&calls, |call| call.name == "ftruncate" && call.is_on(&log));
    assert!(cuts.is_empty(), "nothing is cut");
}

#[test]
fn an_append_is_one_write_and_one_sync_of_the_log() {
    let (_folder, root) = root();
    annals(&root, "create --id a1", "");
    annals(&root, "append a1", &turn(1, "hello"));
    assert_appended_once(&root, &turn(2, "and again"));
}

#[test]
fn the_append_to_a_log_without_events_is_one_write_and_one_sync_of_the_log() {
    let (_folder, root) = root();
    annals(&root, "create --id a1", "");
    assert_appended_once(&root, &turn(1, "hello"));
}

/// What the runtime passes on in one write.
const WRITE_BYTES_MAX: u64 = 64 << 10;

#[test]
fn a_batch_longer_than_one_write_takes_still_has_one_sync() {
    let (_folder, root) = root();
    annals(&root, "create --id a1", "");
    let log = log_path(&root, "a1");
    let before = log.metadata().unwrap().len();
    let text = "x".repeat(usize::try_from(3 * WRITE_BYTES_MAX).unwrap());
    let (calls, _) = trace(&root, "append a1", &turn(1, &text));
    let grown = log.metadata().unwrap().len() - before;

    let writes = positions(&calls, |call| call.writes() && call.is_on(&log));
    assert_eq!(writes.len() as u64, grown.div_ceil(WRITE_BYTES_MAX));
    let sync = only(&calls, "syncs of the log", |call| {
        call.syncs() && call.is_on(&log)
    });
    assert!(
        writes.iter().all(|&write| write < sync),
        "all writes come before the sync"
    );
}

/// A temporary file written, synced, linked, then the bucket synced.
fn assert_published(calls: &[Call], log: &Path) {
    let bucket = log.parent().unwrap();
    let name = log.file_name().unwrap().to_str().unwrap();
    let published = format!("\"{name}\"");
    let link = only(calls, "links to the log", |call| {
        call.links() && call.arguments.contains(&published)
    });
    let temporary = calls[link].arguments.split('"').nth(1).unwrap();
    let is_temporary = |call: &Call| {
        let file = call.file.as_deref();
        file.is_some_and(|file| {
            file.parent() == Some(bucket)
                && file.ends_with(Path::new(temporary).file_name().unwrap())
        })
    };
    let write = only(calls, "writes of the temporary file", |call| {
        call.writes() && is_temporary(call)
    });
    let sync = only(calls, "syncs of the temporary file", |call| {
        call.syncs() && is_temporary(call)
    });
    assert!(
        write < sync && sync < link,
        "written, synced, linked, in this order: {calls:#?}"
    );
    assert_eq!(
        calls[write].result,
        log.metadata().unwrap().len(),
        "the one write is the whole log"
    );
    let synced = positions(calls, |call| call.syncs() && call.is_on(bucket));
    assert!(
        synced.iter().any(|&at| at > link),
        "the bucket is synced after the link: {calls:#?}"
    );
}

#[test]
fn the_first_write_is_published_whole() {
    let (_folder, root) = root();
    let (calls, _) = trace(&root, "create --id a1", "");
    let log = log_path(&root, "a1");
    assert_published(&calls, &log);

    let bucket = only(&calls, "the bucket made", |call| {
        call.makes_directory() && call.arguments.contains("_no-cwd\"")
    });
    let synced = positions(&calls, |call| call.syncs() && call.is_on(&root));
    assert!(
        synced.iter().any(|&at| at > bucket),
        "the root is synced after a new bucket"
    );

    let (calls, _) = trace(&root, "create --id a2", "");
    assert_published(&calls, &log_path(&root, "a2"));
}

#[test]
fn an_imported_log_is_published_whole() {
    let (folder, root) = root();
    annals(&root, "create --id a1", "");
    annals(&root, "append a1", &turn(1, "hello"));
    let file = folder.path().join("a2.jsonl");
    let text = std::fs::read_to_string(log_path(&root, "a1")).unwrap();
    std::fs::write(&file, text.replacen("\"a1\"", "\"a2\"", 1)).unwrap();
    let (calls, _) = trace(&root, &format!("import {}", file.display()), "");
    assert_published(&calls, &log_path(&root, "a2"));
}
