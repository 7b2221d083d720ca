//! Removing.

use std::cell::Cell;
use std::fs;
use std::io::ErrorKind;
use std::rc::Rc;

use annals_jsonl::files::Disk;
use annals_jsonl::upkeep::LitterKind;
use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, Eviction, EvictionReason, SessionSummary};

use crate::support::{HOLDER, Stand, backend, batch, header, lines, refused};
use crate::watched::{Hook, Watched};

#[test]
fn everything_of_the_session_goes_and_nothing_else() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 2);
    stand.stored("s.60", 2);
    let title = SessionSummary {
        title: Some("T".to_owned()),
        first_prompt: None,
    };
    stand.backend.update("s", &title).unwrap();
    stand.backend.update("s.60", &title).unwrap();
    stand.backend.truncate("s", &token, 1).unwrap();
    stand.write("_no-cwd/s.0123456789abcdef.tmp", "left over");
    stand.write("_no-cwd/s.0123456789abcdef.summary.tmp", "left over");
    stand.write("_no-cwd/s.60.61.torn", "of the other one");
    refused(
        stand.backend.delete("s", "9.x"),
        ErrorCode::Busy,
        "lease-lost",
    );
    assert!(stand.backend.has("s").unwrap());
    let token = {
        stand.backend.release(Some("s"), &token).unwrap();
        stand.acquire("s")
    };
    stand.backend.delete("s", &token).unwrap();
    assert_eq!(
        stand.files(),
        [
            "_no-cwd/s.60.61.torn",
            "_no-cwd/s.60.jsonl",
            "_no-cwd/s.60.summary"
        ]
    );
    assert!(!stand.path("_leases/s.lease").exists());
    assert!(!stand.backend.has("s").unwrap());
    refused(
        stand.backend.delete("s", &token),
        ErrorCode::NotFound,
        "session-not-found",
    );
    stand.stored("s", 1);
    assert_eq!(
        stand.backend.list(None, 1).unwrap().sessions[0]
            .summary
            .title,
        None
    );
}

/// An update at the same time left its summary to the next session of that id.
#[test]
fn what_an_update_meanwhile_leaves_goes_with_the_log() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let bucket = stand.path("_no-cwd");
    let hook: Hook = Rc::new(move |operation, path| {
        let is_log = path.to_string_lossy().ends_with(".deleted") && operation == "rename";
        // right before the log goes: an update that is stopped before it looks whether there is one
        if is_log && !bucket.join("s.summary").exists() && bucket.join("s.jsonl").exists() {
            fs::write(bucket.join("s.summary"), r#"{"title":"T"}"#).unwrap();
            fs::write(bucket.join("s.summary.lock"), "0123456789abcdef").unwrap();
        }
        Ok(())
    });
    let mut backend = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    backend.delete("s", &token).unwrap();
    assert_eq!(stand.files(), [""; 0]);
    assert!(!stand.path("_leases/s.lease").exists());
}

/// An update that begins to write after that has no log to write beside.
#[test]
fn an_update_that_comes_after_a_delete_writes_nothing() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let root = stand.root.path().to_owned();
    let hook: Hook = Rc::new(move |operation, path| {
        assert!(!path.to_string_lossy().ends_with(".summary.tmp"));
        if operation == "open"
            && path.ends_with("s.summary.lock")
            && root.join("_no-cwd/s.jsonl").exists()
        {
            let mut other = backend(&root, Rc::new(Disk), &[]);
            other.delete("s", &token).unwrap();
        }
        Ok(())
    });
    let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    let title = SessionSummary {
        title: Some("T".to_owned()),
        first_prompt: None,
    };
    refused(
        late.update("s", &title),
        ErrorCode::NotFound,
        "session-not-found",
    );
    assert_eq!(stand.files(), [""; 0]);
}

const TO_DELETE: &str = r#"{"host":"h","pid":2,"task":"delete"}"#;

/// A medium on which nothing new can be made or written; what is there can be written over and removed. Where `is_packed`,
/// no directory has room for another name either, before a file was cut.
fn full(is_packed: bool) -> Watched {
    let is_packed = Cell::new(is_packed);
    Watched(Rc::new(move |operation, path| {
        let full = || Err(ErrorKind::StorageFull.into());
        match operation {
            "make directory" | "link" | "open new" => full(),
            "write" if !path.to_string_lossy().contains(".lease/") => full(),
            "rename" if is_packed.get() => full(),
            "set bytes" => {
                is_packed.set(false);
                Ok(())
            }
            _ => Ok(()),
        }
    }))
}

/// People delete to make room, and a delete needed room for its lease.
#[test]
fn a_full_medium_takes_a_delete() {
    for is_packed in [false, true] {
        for is_leased in [false, true] {
            let mut stand = Stand::new();
            let token = stand.stored("s", 2);
            stand.backend.release(Some("s"), &token).unwrap();
            stand.write("_no-cwd/s.summary", "{}");
            if !is_leased {
                fs::remove_dir_all(stand.path("_leases")).unwrap();
            }
            let mut late = backend(stand.root.path(), Rc::new(full(is_packed)), &[]);
            let own = late.acquire(Some("s"), TO_DELETE, None).unwrap();
            let written = late.append("s", &own, &batch(2, 1)).unwrap_err();
            let codes = [ErrorCode::Busy, ErrorCode::NoSpace];
            assert!(codes.contains(&written.code), "{written:?}");
            let deleted = late.delete("s", &own);
            late.release(Some("s"), &own).unwrap();
            if is_packed && !is_leased {
                // nothing can be cut that somebody may read
                refused(deleted, ErrorCode::NoSpace, "io-no-space");
                assert_eq!(lines(&mut stand.other(), "s"), batch(0, 2).lines);
                continue;
            }
            deleted.unwrap();
            assert_eq!(stand.files(), [""; 0]);
            assert!(!stand.path("_leases/s.lease").exists());
            // the id is free, and no old token is good
            let mut other = stand.other();
            let next = other.acquire(Some("s"), HOLDER, None).unwrap();
            other.create(&header("s"), &next, &batch(0, 1)).unwrap();
            for old in [&token, &own] {
                let late = late.append("s", old, &batch(1, 1));
                assert_eq!(late.unwrap_err().code, ErrorCode::Busy);
            }
        }
    }
}

/// Who takes the lease meanwhile keeps the session, whatever the delete made do with.
#[test]
fn a_delete_on_a_full_medium_gives_way_to_a_writer() {
    for is_leased in [false, true] {
        for moment in ["acquired", "rename"] {
            let mut stand = Stand::new();
            let token = stand.stored("s", 2);
            stand.backend.release(Some("s"), &token).unwrap();
            if !is_leased {
                fs::remove_dir_all(stand.path("_leases")).unwrap();
            }
            let root = stand.root.path().to_owned();
            let write = move || {
                let mut other = backend(&root, Rc::new(Disk), &[]);
                let busy = other.acquire(Some("s"), HOLDER, None);
                let silent = busy.as_ref().err().map(|busy| {
                    let detail: serde_json::Value = serde_json::from_str(&busy.detail).unwrap();
                    Eviction {
                        token: detail["token"].as_str().unwrap().to_owned(),
                        why: EvictionReason::Silent,
                    }
                });
                let token = match silent {
                    Some(silent) => other.acquire(Some("s"), HOLDER, Some(&silent)).unwrap(),
                    None => busy.unwrap(),
                };
                other.append("s", &token, &batch(2, 1)).unwrap();
            };
            let (full, is_done) = (full(false), Cell::new(false));
            let meanwhile = write.clone();
            let hook: Hook = Rc::new(move |operation, path| {
                let is_due = operation == "rename" && path.to_string_lossy().ends_with(".deleted");
                if moment == "rename" && is_due && !is_done.replace(true) {
                    meanwhile();
                }
                (full.0)(operation, path)
            });
            let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
            let own = late.acquire(Some("s"), TO_DELETE, None).unwrap();
            if moment == "acquired" {
                write();
            }
            refused(late.delete("s", &own), ErrorCode::Busy, "lease-lost");
            let mut other = stand.other();
            assert_eq!(lines(&mut other, "s"), batch(0, 3).lines, "{is_leased}");
        }
    }
}

/// A lease that is held is waited for on a full medium too, and one of the dead is taken.
#[test]
fn a_full_medium_evicts_nobody() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 2);
    let mut late = backend(stand.root.path(), Rc::new(full(false)), &[]);
    let busy = late.acquire(Some("s"), TO_DELETE, None);
    refused(busy, ErrorCode::Busy, "lease-held");
    stand.backend.append("s", &token, &batch(2, 1)).unwrap();
    let silent = Eviction {
        token: token.clone(),
        why: EvictionReason::Silent,
    };
    let own = late.acquire(Some("s"), TO_DELETE, Some(&silent)).unwrap();
    let woken = stand.backend.append("s", &token, &batch(3, 1));
    refused(woken, ErrorCode::Busy, "lease-lost");
    late.delete("s", &own).unwrap();
    assert_eq!(stand.files(), [""; 0]);
}

/// A delete that was stopped while it waited for its lease removed what others had stored meanwhile.
#[test]
fn what_was_stored_since_it_was_asked_for_is_not_deleted() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 2);
    let mut late = stand.other();
    let wait = |late: &mut annals_jsonl::Jsonl, holder: &str| {
        let busy = late.acquire(Some("s"), holder, None);
        let busy = refused(busy, ErrorCode::Busy, "lease-held");
        let detail: serde_json::Value = serde_json::from_str(&busy.detail).unwrap();
        let stored = detail["stored"].as_str().unwrap();
        format!(r#"{{"pid":2,"task":"delete","stored":"{stored}"}}"#)
    };
    let waiting = wait(&mut late, TO_DELETE);
    // renewed, closed and opened again, but not written
    stand.backend.release(Some("s"), &token).unwrap();
    let token = stand.acquire("s");
    assert_eq!(wait(&mut late, &waiting), waiting);
    stand.backend.append("s", &token, &batch(2, 1)).unwrap();
    stand.backend.release(Some("s"), &token).unwrap();
    let changed = late.acquire(Some("s"), &waiting, None);
    refused(changed, ErrorCode::Busy, "session-changed");
    assert_eq!(lines(&mut late, "s"), batch(0, 3).lines);
    // nobody has to wait for who was refused
    let token = stand.acquire("s");
    stand.backend.release(Some("s"), &token).unwrap();
    let own = late.acquire(Some("s"), TO_DELETE, None).unwrap();
    late.delete("s", &own).unwrap();
}

/// The same for a delete that is stopped before it takes a lease that is free.
#[test]
fn what_is_stored_while_the_lease_is_taken_is_not_deleted() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 2);
    stand.backend.release(Some("s"), &token).unwrap();
    let (root, is_done) = (stand.root.path().to_owned(), Cell::new(false));
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "names" && path.ends_with("s.lease") && !is_done.replace(true) {
            let mut other = backend(&root, Rc::new(Disk), &[]);
            let token = other.acquire(Some("s"), HOLDER, None).unwrap();
            other.append("s", &token, &batch(2, 1)).unwrap();
            other.release(Some("s"), &token).unwrap();
        }
        Ok(())
    });
    let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    let changed = late.acquire(Some("s"), TO_DELETE, None);
    refused(changed, ErrorCode::Busy, "session-changed");
    assert_eq!(lines(&mut late, "s"), batch(0, 3).lines);
}

/// A delete that was killed and a later session of that id left files that were named and never removed.
#[test]
fn what_a_killed_delete_left_goes_with_the_next_session_or_the_next_look() {
    // which rename is the last before the delete is killed: of the summary, of the log
    for (killed_after, is_swept) in [(1, false), (2, false), (1, true), (2, true)] {
        let mut stand = Stand::new();
        let token = stand.stored("s", 2);
        stand.write("_no-cwd/s.summary", "{}");
        let renames = Cell::new(0);
        let hook: Hook = Rc::new(move |operation, _| {
            let is_rename = operation == "rename";
            renames.set(renames.get() + usize::from(is_rename && renames.get() < killed_after));
            match renames.get() == killed_after && !is_rename {
                true => Err(ErrorKind::Other.into()),
                false => Ok(()),
            }
        });
        let mut killed = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
        killed.delete("s", &token).unwrap_err();
        let left = |stand: &Stand| {
            let files = stand.files().into_iter();
            files
                .filter(|name| name.ends_with(".deleted"))
                .collect::<Vec<_>>()
        };
        let [deleted] = &left(&stand)[..] else {
            panic!("{:?}", stand.files());
        };
        let gone = Eviction {
            token,
            why: EvictionReason::Gone,
        };
        if is_swept {
            let next = stand
                .backend
                .acquire(Some("s"), HOLDER, Some(&gone))
                .unwrap();
            if killed_after == 2 {
                stand
                    .backend
                    .create(&header("s"), &next, &batch(0, 1))
                    .unwrap();
            }
            assert_eq!(left(&stand), [""; 0]);
            continue;
        }
        // another process, that clears up nothing
        fs::remove_dir_all(stand.path("_leases/s.lease")).unwrap();
        stand.write("_no-cwd/t.0123456789abcdef.1.deleted", "not what it says");
        if killed_after == 2 {
            let next = stand.acquire("s");
            stand
                .backend
                .create(&header("s"), &next, &batch(0, 1))
                .unwrap();
        }
        let found = stand.backend.inspect(9).unwrap();
        let kind = |place: &str| {
            let found = found.iter().find(|found| found.place == place);
            found.unwrap().kind
        };
        assert_eq!(kind(deleted), LitterKind::Temporary);
        let other = "_no-cwd/t.0123456789abcdef.1.deleted";
        assert_eq!(kind(other), LitterKind::OrphanedCut);
        stand.backend.remove_litter(deleted, None).unwrap();
        stand.backend.remove_litter(other, None).unwrap_err();
        assert_eq!(left(&stand), [other]);
        assert!(stand.backend.has("s").unwrap());
    }
}
