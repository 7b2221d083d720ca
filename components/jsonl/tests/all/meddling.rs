//! Others at work on the same files, at the worst moment.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use annals_jsonl::files::Handle;
use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, SessionStatus, SessionSummary};

use crate::support::{Stand, backend, batch, header, lines, refused};
use crate::watched::{Hook, Watched};

fn is_log(path: &Path) -> bool {
    path.ends_with("s.jsonl")
}

fn add_foreign(path: &Path) {
    let mut log = fs::OpenOptions::new().append(true).open(path).unwrap();
    Handle::write_all(&mut log, b"{\"foreign\":1}\n").unwrap();
}

// Another program wrote into the log while an append failed, and taking the batch back took its line along.
#[test]
fn taking_a_batch_back_takes_nobody_elses_bytes() {
    for (moment, fails) in [("write", false), ("write", true), ("sync", true)] {
        let mut stand = Stand::new();
        let token = stand.stored("s", 2);
        let before = stand.text("_no-cwd/s.jsonl");
        let hook: Hook = Rc::new(move |operation, path| {
            if operation == moment && is_log(path) {
                add_foreign(path);
                if fails {
                    return Err(io::ErrorKind::StorageFull.into());
                }
            }
            Ok(())
        });
        let mut backend = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
        let error = backend.append("s", &token, &batch(2, 1)).unwrap_err();
        assert_ne!(error.code, ErrorCode::Busy);
        let after = stand.text("_no-cwd/s.jsonl");
        assert!(after.starts_with(&before), "{moment}");
        assert!(after.contains("foreign"), "{moment}");
    }
}

// What came in after the cut bytes were saved was cut with them, and saved nowhere.
#[test]
fn nothing_is_cut_that_was_not_saved() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 2);
    let good = stand.text("_no-cwd/s.jsonl");
    stand.write("_no-cwd/s.jsonl", format!("{good}torn\n"));
    let log = stand.path("_no-cwd/s.jsonl");
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "link" && path.extension().is_some_and(|suffix| suffix == "torn") {
            add_foreign(&log);
        }
        Ok(())
    });
    let mut meddled = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    let result = meddled.truncate("s", &token, 2);
    refused(result, ErrorCode::Other, "io-length");
    assert!(
        stand
            .text("_no-cwd/s.jsonl")
            .ends_with("torn\n{\"foreign\":1}\n")
    );
    // once they leave it alone
    stand.backend.truncate("s", &token, 2).unwrap();
    assert_eq!(stand.text("_no-cwd/s.jsonl"), good);
}

// The sync of a new log's name hung until the lease was taken for silent, then failed: the log that the next writer had
// gone on with was removed.
#[test]
fn a_create_that_lost_its_lease_removes_nothing() {
    let mut stand = Stand::new();
    let token = stand.acquire("s");
    let leases = stand.path("_leases/s.lease");
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "sync directory" && path.ends_with("_no-cwd") {
            fs::write(leases.join("2"), "").unwrap();
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    });
    let mut meddled = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    let result = meddled.create(&header("s"), &token, &batch(0, 1));
    refused(result, ErrorCode::Busy, "lease-lost");
    assert_eq!(lines(&mut stand.other(), "s"), batch(0, 1).lines);
}

// Without `sync`, cutting and fencing put copies that were nowhere yet in the place of bytes that were long durable.
#[test]
fn copies_of_stored_bytes_are_synced_whatever_sync_says() {
    for sync in ["flush", "never"] {
        let mut stand = Stand::new();
        let token = stand.stored("s", 2);
        let good = stand.text("_no-cwd/s.jsonl");
        stand.write("_no-cwd/s.jsonl", format!("{good}torn\n"));
        let synced: Rc<RefCell<Vec<String>>> = Rc::default();
        let seen = Rc::clone(&synced);
        let hook: Hook = Rc::new(move |operation, path| {
            let suffix = path.extension().unwrap_or_default().to_string_lossy();
            seen.borrow_mut().push(format!("{operation} {suffix}"));
            Ok(())
        });
        let files = Rc::new(Watched(hook));
        let mut backend = backend(stand.root.path(), files, &[("sync", sync)]);
        backend.truncate("s", &token, 2).unwrap();
        let synced = synced.take();
        let at = |what: &str| synced.iter().position(|done| done == what);
        assert!(
            at("sync tmp").is_some() && at("sync tmp") < at("link torn"),
            "{synced:?}"
        );
    }
}

// The root's parent was new as well, and only its own entry was made durable.
#[test]
fn every_new_directory_above_the_root_is_durable() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("a/b/c");
    let synced: Rc<RefCell<Vec<PathBuf>>> = Rc::default();
    let seen = Rc::clone(&synced);
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "sync directory" {
            seen.borrow_mut().push(path.to_owned());
        }
        Ok(())
    });
    let mut backend = backend(&root, Rc::new(Watched(hook)), &[]);
    backend.acquire(Some("s"), "{}", None).unwrap();
    for above in ["", "a", "a/b"] {
        let above = outer.path().join(above);
        let is_synced = synced
            .borrow()
            .iter()
            .any(|path| path.components().eq(above.components()));
        assert!(is_synced, "{above:?} {synced:?}");
    }
}

// The root was made, and making its name durable failed: the next try found the root there and said ok.
#[test]
fn a_new_root_is_not_used_before_its_name_is_durable() {
    let outer = tempfile::tempdir().unwrap();
    let above = outer.path().to_owned();
    let left = std::cell::Cell::new(2);
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "sync directory" && path == above && left.get() > 0 {
            left.set(left.get() - 1);
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    });
    let mut backend = backend(&outer.path().join("root"), Rc::new(Watched(hook)), &[]);
    for _ in 0..2 {
        let acquired = backend.acquire(Some("s"), "{}", None);
        refused(acquired, ErrorCode::Unavailable, "io-unavailable");
    }
    backend.acquire(Some("s"), "{}", None).unwrap();
}

#[test]
fn a_bucket_made_again_is_durable_again() {
    let root = tempfile::tempdir().unwrap();
    let synced: Rc<RefCell<Vec<PathBuf>>> = Rc::default();
    let seen = Rc::clone(&synced);
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "sync directory" {
            seen.borrow_mut().push(path.to_owned());
        }
        Ok(())
    });
    let mut backend = backend(root.path(), Rc::new(Watched(hook)), &[]);
    for id in ["s", "t"] {
        let token = backend.acquire(Some(id), "{}", None).unwrap();
        backend.create(&header(id), &token, &batch(0, 1)).unwrap();
        assert!(synced.take().iter().any(|path| path == root.path()), "{id}");
        fs::remove_dir_all(root.path().join("_no-cwd")).unwrap();
    }
}

// One directory without permissions failed every listing, and every look for a session of another directory.
#[test]
fn a_bucket_that_cannot_be_read_hides_its_own_sessions_only() {
    let mut stand = Stand::new();
    for (cwd, id) in [(None, "plain"), (Some("/w"), "hidden"), (Some("/"), "seen")] {
        let token = stand.acquire(id);
        let mut header = header(id);
        header.cwd = cwd.map(str::to_owned);
        stand.backend.create(&header, &token, &batch(0, 1)).unwrap();
        stand.backend.release(Some(id), &token).unwrap();
    }
    let closed = stand.path(&annals_jsonl::paths::bucket(Some("/w")));
    let name = closed.file_name().unwrap().to_str().unwrap().to_owned();
    let hook: Hook = Rc::new(move |operation, path| {
        let is_closed = match operation {
            "names" => path.starts_with(&closed),
            _ => path.starts_with(&closed) && path != closed,
        };
        if is_closed {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    });
    let mut backend = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    for count_max in [1, 2, 9] {
        let mut entries = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let listing = backend.list(cursor.as_deref(), count_max).unwrap();
            entries.extend(listing.sessions);
            cursor = listing.next;
            if cursor.is_none() {
                break;
            }
        }
        entries.sort_by(|one, other| one.id.cmp(&other.id));
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, [&name, "plain", "seen"]);
        let note = entries[0].note.as_deref().unwrap();
        assert_eq!(entries[0].status, SessionStatus::Damaged);
        assert!(note.contains("permission denied"), "{note}");
    }
    assert!(backend.has("plain").unwrap() && backend.has("seen").unwrap());
    // it may be there: nobody makes a second one
    let error = refused(
        backend.has("hidden"),
        ErrorCode::Other,
        "io-permission-denied",
    );
    assert!(error.message.contains("hidden"), "{}", error.message);
    let token = backend.acquire(Some("new"), "{}", None).unwrap();
    let created = backend.create(&header("new"), &token, &batch(0, 1));
    refused(created, ErrorCode::Other, "io-permission-denied");
}

// Deleted by another process in between, the session was told to have a summary that cannot be replaced.
#[test]
fn an_update_of_a_session_that_goes_meanwhile_finds_none() {
    // the delete saw the temporary file, or was over before it was made
    for has_seen in [true, false] {
        let mut stand = Stand::new();
        stand.stored("s", 1);
        let log = stand.path("_no-cwd/s.jsonl");
        let hook: Hook = Rc::new(move |operation, _| {
            if operation == "rename" {
                fs::remove_file(&log)?;
                if has_seen {
                    return Err(io::ErrorKind::NotFound.into());
                }
            }
            Ok(())
        });
        let mut meddled = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
        let summary = SessionSummary {
            title: Some("T".to_owned()),
            first_prompt: None,
        };
        let updated = meddled.update("s", &summary);
        refused(updated, ErrorCode::NotFound, "session-not-found");
        assert!(stand.files().is_empty(), "{:?}", stand.files());
    }
}

// The log was gone, a sync or the lease's removal failed, and people read that nothing had been deleted.
#[test]
fn a_delete_that_fails_late_says_that_the_session_is_gone() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let hook: Hook = Rc::new(|operation, path| {
        if operation == "sync directory" && path.ends_with("_no-cwd") {
            return Err(io::Error::from_raw_os_error(5));
        }
        Ok(())
    });
    let mut failing = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    let error = refused(
        failing.delete("s", &token),
        ErrorCode::Other,
        "delete-not-durable",
    );
    assert!(error.message.contains("is removed"), "{}", error.message);
    assert!(!error.message.contains("os error"), "{}", error.message);
    assert!(!stand.backend.has("s").unwrap());
    assert!(!stand.path("_leases/s.lease").exists());

    let token = stand.stored("t", 1);
    let hook: Hook = Rc::new(|operation, path| {
        if operation == "remove" && path.ends_with("_leases/t.lease/1") {
            return Err(io::Error::from_raw_os_error(5));
        }
        Ok(())
    });
    let mut failing = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    failing.delete("t", &token).unwrap();
    assert!(!stand.backend.has("t").unwrap());
}
