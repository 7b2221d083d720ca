//! Writers that are stopped for long in the middle of something, and go on when others have gone on long since.

use std::cell::{Cell, RefCell};
use std::fs;
use std::rc::Rc;
use std::thread;

use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, Eviction, EvictionReason, SessionSummary};

use crate::support::{HOLDER, Stand, backend, batch, header, lines, refused};
use crate::watched::{Hook, Watched};

fn summary(title: Option<&str>, first_prompt: Option<&str>) -> SessionSummary {
    SessionSummary {
        title: title.map(str::to_owned),
        first_prompt: first_prompt.map(str::to_owned),
    }
}

fn once(moment: &'static str, suffix: &'static str, then: impl Fn() + 'static) -> Hook {
    let is_done = Cell::new(false);
    Rc::new(move |operation, path| {
        let is_due = operation == moment && path.to_string_lossy().ends_with(suffix);
        if is_due && !is_done.replace(true) {
            then();
        }
        Ok(())
    })
}

/// A delete that was stopped for longer than the time to live, and overtaken, removed the log, the summary and the cut
/// bytes of its successor.
#[test]
fn a_late_delete_removes_nothing_of_its_successor() {
    // stopped before each rename, the first of which is of what is beside the log
    for moment in 0..4 {
        let mut stand = Stand::new();
        let token = stand.stored("s", 2);
        stand.write("_no-cwd/s.60.torn", "cut");
        stand
            .backend
            .update("s", &summary(Some("T"), None))
            .unwrap();
        let root = stand.root.path().to_owned();
        let stale = token.clone();
        let renames = Cell::new(0);
        let hook: Hook = Rc::new(move |operation, path| {
            if operation != "rename" || !path.to_string_lossy().ends_with(".deleted") {
                return Ok(());
            }
            if renames.replace(renames.get() + 1) != moment {
                return Ok(());
            }
            let mut other = backend(&root, Rc::new(annals_jsonl::files::Disk), &[]);
            let silent = Eviction {
                token: stale.clone(),
                why: EvictionReason::Silent,
            };
            let token = other.acquire(Some("s"), HOLDER, Some(&silent)).unwrap();
            other.append("s", &token, &batch(2, 1)).unwrap();
            other.update("s", &summary(Some("new"), None)).unwrap();
            Ok(())
        });
        let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
        let deleted = late.delete("s", &token);
        if moment == 3 {
            // there are three
            deleted.unwrap();
            assert_eq!(stand.files(), [""; 0]);
            continue;
        }
        refused(deleted, ErrorCode::Busy, "lease-lost");
        let mut other = stand.other();
        assert_eq!(lines(&mut other, "s"), batch(0, 3).lines);
        let entry = other.list(None, 1).unwrap().sessions.remove(0);
        assert_eq!(entry.summary.title.as_deref(), Some("new"));
        assert!(stand.files().iter().all(|path| !path.ends_with(".deleted")));
    }
}

/// Somebody else has the name by the time that it is given back: both contents are kept.
#[test]
fn what_a_late_delete_gives_back_replaces_nothing() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let (root, log) = (stand.path("_leases/s.lease"), stand.path("_no-cwd/s.jsonl"));
    let hook: Hook = Rc::new(move |operation, path| {
        if operation == "kind" && path.ends_with("_leases/s.lease/2") && !log.exists() {
            fs::write(root.join("2"), "").unwrap();
            fs::write(&log, "of somebody").unwrap();
        }
        Ok(())
    });
    let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    refused(late.delete("s", &token), ErrorCode::Busy, "lease-lost");
    assert_eq!(stand.text("_no-cwd/s.jsonl"), "of somebody");
    let kept = stand
        .files()
        .into_iter()
        .find(|path| path.ends_with(".deleted"));
    assert!(stand.text(&kept.unwrap()).ends_with(&batch(0, 1).lines));
    let found = stand.backend.inspect(9).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|found| (found.kind, found.id.as_deref()))
        .collect();
    let kind = annals_jsonl::upkeep::LitterKind::OrphanedCut;
    assert!(found.contains(&(kind, Some("s"))), "{found:?}");
}

/// Two updates of two fields at one moment: whoever renamed first was lost.
#[test]
fn of_two_updates_at_once_both_are_kept() {
    for (moment, suffix) in [
        ("rename", "s.summary"),
        ("kind", "s.summary"),
        ("write", ".summary.tmp"),
        ("sync", ".summary.tmp"),
    ] {
        let mut stand = Stand::new();
        stand.stored("s", 1);
        let root = stand.root.path().to_owned();
        let hook = once(moment, suffix, move || {
            let mut other = backend(&root, Rc::new(Watched(Rc::new(|_, _| Ok(())))), &[]);
            other.update("s", &summary(Some("T"), None)).unwrap();
        });
        let mut first = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
        first.update("s", &summary(None, Some("P"))).unwrap();
        let entry = stand.backend.list(None, 1).unwrap().sessions.remove(0);
        assert_eq!(entry.summary, summary(Some("T"), Some("P")), "{moment}");
        assert_eq!(stand.files(), ["_no-cwd/s.jsonl", "_no-cwd/s.summary"]);
    }
}

#[test]
fn many_updates_at_once_are_all_kept() {
    let mut stand = Stand::new();
    stand.stored("s", 1);
    let root = stand.root.path();
    thread::scope(|scope| {
        for is_title in [true, false] {
            scope.spawn(move || {
                let mut backend = backend(root, Rc::new(annals_jsonl::files::Disk), &[]);
                for round in 0..20 {
                    let text = round.to_string();
                    let change = match is_title {
                        true => summary(Some(&text), None),
                        false => summary(None, Some(&text)),
                    };
                    backend.update("s", &change).unwrap();
                    let entry = backend.list(None, 1).unwrap().sessions.remove(0);
                    let now = match is_title {
                        true => entry.summary.title,
                        false => entry.summary.first_prompt,
                    };
                    assert_eq!(now, Some(text));
                }
            });
        }
    });
    let entry = stand.backend.list(None, 1).unwrap().sessions.remove(0);
    assert_eq!(entry.summary, summary(Some("19"), Some("19")));
}

/// Who dies while it updates is in nobody's way for long.
#[test]
fn a_lock_that_is_left_is_broken() {
    for holder in ["", "0123456789abcdef", "nobody's"] {
        let mut stand = Stand::new();
        stand.stored("s", 1);
        stand.write("_no-cwd/s.summary.lock", holder);
        stand.write("_no-cwd/s.0123456789abcdef.summary.tmp", "{}");
        let files = Rc::new(Watched(Rc::new(|_, _| Ok(()))));
        let mut other = backend(stand.root.path(), files, &[]);
        other.update("s", &summary(Some("T"), None)).unwrap();
        let entry = other.list(None, 1).unwrap().sessions.remove(0);
        assert_eq!(entry.summary.title.as_deref(), Some("T"));
        assert!(!stand.path("_no-cwd/s.summary.lock").exists());
    }
}

/// Numbers begin again at 1 after a delete: the cached token of a writer that was overtaken before it became good again.
#[test]
fn a_token_of_before_a_delete_is_not_good_after_it() {
    let mut stand = Stand::new();
    let old = stand.stored("s", 1);
    let silent = Eviction {
        token: old.clone(),
        why: EvictionReason::Silent,
    };
    let mut second = stand.other();
    let token = second.acquire(Some("s"), HOLDER, Some(&silent)).unwrap();
    second.delete("s", &token).unwrap();
    let mut third = stand.other();
    let token = third.acquire(Some("s"), r#"{"pid":3}"#, None).unwrap();
    third.create(&header("s"), &token, &batch(0, 1)).unwrap();

    let appended = stand.backend.append("s", &old, &batch(1, 1));
    refused(appended, ErrorCode::Busy, "lease-lost");
    let renewed = stand.backend.renew(Some("s"), &old);
    refused(renewed, ErrorCode::Busy, "lease-lost");
    assert_eq!(lines(&mut stand.other(), "s"), batch(0, 1).lines);
    third.append("s", &token, &batch(1, 1)).unwrap();
}

/// The same while the late writer is in the middle of a renewal or an append.
#[test]
fn a_token_is_compared_once_more_before_an_ok() {
    for (moment, suffix) in [("write", "s.lease/1"), ("sync", "s.jsonl")] {
        let mut stand = Stand::new();
        stand.stored("s", 1);
        let lease = stand.path("_leases/s.lease/1");
        let hook = once(moment, suffix, move || {
            fs::write(&lease, format!("{:020} held done\n{{}}", 0)).unwrap();
        });
        let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
        fs::remove_dir_all(stand.path("_leases/s.lease")).unwrap();
        let token = late.acquire(Some("s"), HOLDER, None).unwrap();
        let late = match moment {
            "write" => late.renew(Some("s"), &token),
            _ => late.append("s", &token, &batch(1, 1)),
        };
        refused(late, ErrorCode::Busy, "lease-lost");
    }
}

/// A late delete gave its successor's log back, and a power loss could take both names of it.
#[test]
fn what_a_late_delete_gives_back_is_durable_before_its_other_name_goes() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let next = stand.path("_leases/s.lease/2");
    let seen = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&seen);
    let hook: Hook = Rc::new(move |operation, path| {
        let name = path.to_string_lossy();
        match operation {
            "rename" if name.ends_with(".deleted") => fs::write(&next, "").unwrap(),
            "link" | "remove" | "sync directory" => noted.borrow_mut().push(operation.to_owned()),
            _ => {}
        }
        Ok(())
    });
    let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    refused(late.delete("s", &token), ErrorCode::Busy, "lease-lost");
    let expected = ["link", "sync directory", "remove", "sync directory"];
    assert_eq!(*seen.borrow(), expected);
    assert_eq!(stand.files(), ["_no-cwd/s.jsonl"]);
}

/// Who breaks a lock may be stopped before it removes the holder's file; that file then replaced a later update.
#[test]
fn an_update_whose_lock_is_just_being_broken_begins_again() {
    let mut stand = Stand::new();
    stand.stored("s", 1);
    let root = stand.root.path().to_owned();
    let hook = once("rename", "s.summary", move || {
        fs::remove_file(root.join("_no-cwd/s.summary.lock")).unwrap();
        let mut other = backend(&root, Rc::new(annals_jsonl::files::Disk), &[]);
        other.update("s", &summary(Some("T"), None)).unwrap();
    });
    let mut first = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    first.update("s", &summary(None, Some("P"))).unwrap();
    let entry = stand.backend.list(None, 1).unwrap().sessions.remove(0);
    assert_eq!(entry.summary, summary(Some("T"), Some("P")));
    assert_eq!(stand.files(), ["_no-cwd/s.jsonl", "_no-cwd/s.summary"]);
}

/// Nothing is renewed while an update waits: it lost the lease of who wrote the first prompt down.
#[test]
fn an_update_waits_for_less_than_half_the_time_to_live() {
    for ttl_ms in [60, 1000, 10_000] {
        for is_changing in [false, true] {
            let mut stand = Stand::new();
            stand.stored("s", 1);
            let lock = stand.path("_no-cwd/s.summary.lock");
            fs::write(&lock, "0123456789abcdef").unwrap();
            let pauses = Rc::new(Cell::new(0));
            let counted = Rc::clone(&pauses);
            let hook: Hook = Rc::new(move |operation, _| {
                if operation == "pause" {
                    counted.set(counted.get() + 1);
                    if is_changing {
                        fs::write(&lock, format!("{:016x}", counted.get())).unwrap();
                    }
                }
                Ok(())
            });
            let ttl = [("lease-ttl-ms", &*ttl_ms.to_string())];
            let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &ttl);
            let updated = late.update("s", &summary(Some("T"), None));
            match is_changing {
                true => drop(refused(updated, ErrorCode::Busy, "summary-contended")),
                false => updated.unwrap(),
            }
            // of five milliseconds each
            assert!(pauses.get() * 5 < ttl_ms / 2, "{ttl_ms} {}", pauses.get());
        }
    }
}

/// The same holder had the same token again after a delete, and a delete that was stopped right before its lease went took
/// the lease of the next session of that id along.
#[test]
fn a_late_delete_leaves_the_lease_of_the_next_session() {
    for (moment, suffix) in [
        ("kind", "s.lease/1"),
        ("rename", ".tmp"),
        ("remove", ".tmp"),
    ] {
        let mut stand = Stand::new();
        let old = stand.stored("s", 1);
        let root = stand.root.path().to_owned();
        let tokens = Rc::new(RefCell::new(Vec::new()));
        let taken = Rc::clone(&tokens);
        let is_done = Cell::new(false);
        let hook: Hook = Rc::new(move |operation, path| {
            let name = path.to_string_lossy();
            let is_due =
                operation == moment && name.contains("s.lease/1") && name.ends_with(suffix);
            if !is_due || root.join("_no-cwd/s.jsonl").exists() || is_done.replace(true) {
                return Ok(());
            }
            let _ = fs::remove_dir_all(root.join("_leases/s.lease"));
            let mut other = backend(&root, Rc::new(annals_jsonl::files::Disk), &[]);
            let token = other.acquire(Some("s"), HOLDER, None).unwrap();
            other.create(&header("s"), &token, &batch(0, 1)).unwrap();
            taken.borrow_mut().push(token);
            Ok(())
        });
        let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
        let _ = late.delete("s", &old);
        let token = tokens.borrow_mut().pop().unwrap();
        assert_ne!(token, old, "{moment}");
        let mut other = stand.other();
        other.append("s", &token, &batch(1, 1)).unwrap();
        assert_eq!(lines(&mut other, "s"), batch(0, 2).lines, "{moment}");
    }
}

/// A batch whose sync had failed was taken back out of a log that somebody had taken over meanwhile, with the batch: the
/// writer was told of the failure as if nothing were stored, and the batch given again was there twice.
#[test]
fn a_late_roll_back_says_that_it_was_overtaken() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 2);
    let root = stand.root.path().to_owned();
    let stale = token.clone();
    let (has_failed, is_overtaken) = (Cell::new(false), Cell::new(false));
    let hook: Hook = Rc::new(move |operation, path| {
        if !path.to_string_lossy().ends_with("s.jsonl") {
            return Ok(());
        }
        if operation == "sync" && !has_failed.replace(true) {
            return Err(std::io::ErrorKind::Other.into());
        }
        if operation == "set bytes" && !is_overtaken.replace(true) {
            let mut other = backend(&root, Rc::new(annals_jsonl::files::Disk), &[]);
            let silent = Eviction {
                token: stale.clone(),
                why: EvictionReason::Silent,
            };
            other.acquire(Some("s"), HOLDER, Some(&silent)).unwrap();
        }
        Ok(())
    });
    let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    let appended = late.append("s", &token, &batch(2, 1));
    refused(appended, ErrorCode::Busy, "lease-lost");
    assert_eq!(lines(&mut stand.other(), "s"), batch(0, 3).lines);
}
