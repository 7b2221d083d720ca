//! What lies among the leases and is none.

use std::fs;
use std::io;
use std::rc::Rc;

use annals_jsonl::upkeep::LitterKind;
use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, EvictionReason};

use crate::support::{HOLDER, Stand, backend, batch, lines};
use crate::watched::{Hook, Watched};

/// One bad entry ended the whole look.
#[test]
fn each_bad_entry_is_one_find_and_is_moved_away() {
    type Spoil = fn(&Stand);
    let table: [(&str, Spoil); 9] = [
        ("_leases/s.lease/1", |stand| {
            stand.write("_leases/s.lease/1", "garbage")
        }),
        ("_leases/s.lease/1", |stand| {
            stand.write("_leases/s.lease/1", "")
        }),
        ("_leases/s.lease/1", |stand| {
            stand.write("_leases/s.lease/1", [0xFF; 99])
        }),
        ("_leases/s.lease/2", |stand| {
            fs::create_dir_all(stand.path("_leases/s.lease/2/x")).unwrap();
        }),
        ("_leases/s.lease/2", |stand| {
            std::os::unix::fs::symlink("/etc", stand.path("_leases/s.lease/2")).unwrap();
        }),
        ("_leases/s.lease/007", |stand| {
            stand.write("_leases/s.lease/007", "x")
        }),
        ("_leases/s.lease/18446744073709551614", |stand| {
            stand.write("_leases/s.lease/18446744073709551614", "x");
        }),
        ("_leases/notes", |stand| stand.write("_leases/notes", "x")),
        ("_leases/s.lease", |stand| {
            fs::remove_dir_all(stand.path("_leases/s.lease")).unwrap();
            std::os::unix::fs::symlink("/etc", stand.path("_leases/s.lease")).unwrap();
        }),
    ];
    for (place, spoil) in table {
        let mut stand = Stand::new();
        let token = stand.stored("s", 1);
        stand.backend.release(Some("s"), &token).unwrap();
        let token = stand.stored("other", 1);
        spoil(&stand);
        let found = stand.backend.inspect(99).unwrap();
        let kinds: Vec<_> = found
            .iter()
            .filter(|found| found.kind != LitterKind::Lease)
            .map(|found| (found.kind, found.place.as_str()))
            .collect();
        assert_eq!(kinds, [(LitterKind::DamagedLease, place)], "{found:?}");
        let damaged = found.iter().find(|found| found.place == place).unwrap();
        let is_number = damaged.token.is_some();
        let is_empty = fs::read(stand.path(place)).is_ok_and(|bytes| bytes.is_empty());
        for _ in 0..2 {
            let removed = stand.backend.remove_litter(place, damaged.token.as_deref());
            removed.unwrap_or_else(|error| assert!(is_number, "{error:?}"));
        }
        let found = stand.backend.inspect(99).unwrap();
        // named, unless there was nothing in it
        let is_kept = |found: &&annals_jsonl::upkeep::Litter| found.kind == LitterKind::Kept;
        let kept: Vec<_> = found.iter().filter(is_kept).collect();
        assert!(kept.iter().all(|kept| kept.place.ends_with(".bad")));
        assert_eq!(kept.len(), usize::from(!is_empty), "{found:?}");
        assert!(
            found
                .iter()
                .all(|found| found.kind == LitterKind::Lease || is_kept(&found)),
            "{found:?}"
        );
        for kept in kept {
            let removed = stand.backend.remove_litter(&kept.place, None);
            assert_eq!(removed.unwrap_err().code, ErrorCode::Invalid);
        }
        // nobody is in the way, and nobody else lost anything
        let mut other = stand.other();
        let own = other.acquire(Some("s"), HOLDER, None).unwrap();
        other.append("s", &own, &batch(1, 1)).unwrap();
        assert_eq!(lines(&mut other, "s"), batch(0, 2).lines);
        stand.backend.append("other", &token, &batch(1, 1)).unwrap();
    }
}

/// The one that a damaged lease was of may wake up: what it writes then ends up where nobody reads.
#[test]
fn a_damaged_lease_is_followed_by_a_fence() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let log = stand.path("_no-cwd/s.jsonl");
    let mut late = fs::OpenOptions::new().append(true).open(&log).unwrap();
    stand.write("_leases/s.lease/1", "garbage");
    let found = stand.backend.inspect(9).unwrap();
    let now = found[0].token.as_deref();
    let mut other = stand.other();
    let stale = other
        .remove_litter("_leases/s.lease/1", Some("1.x"))
        .unwrap_err();
    assert_eq!(stale.code, ErrorCode::Busy);
    other.remove_litter("_leases/s.lease/1", now).unwrap();
    let error = stand.backend.append("s", &token, &batch(1, 1)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Busy);
    let own = other.acquire(Some("s"), HOLDER, None).unwrap();
    io::Write::write_all(&mut late, b"late").unwrap();
    other.append("s", &own, &batch(1, 1)).unwrap();
    assert_eq!(lines(&mut other, "s"), batch(0, 2).lines);
}

/// What is no lease is waited for like a holder that nobody knows.
#[test]
fn a_directory_in_the_place_of_a_lease_is_overtaken() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    stand.backend.release(Some("s"), &token).unwrap();
    fs::create_dir_all(stand.path("_leases/s.lease/2")).unwrap();
    let busy = stand.backend.acquire(Some("s"), HOLDER, None).unwrap_err();
    assert_eq!(
        (busy.code, busy.reason.as_str()),
        (ErrorCode::Busy, "lease-held")
    );
    let detail: serde_json::Value = serde_json::from_str(&busy.detail).unwrap();
    let silent = annals_sdk::types::Eviction {
        token: detail["token"].as_str().unwrap().to_owned(),
        why: EvictionReason::Silent,
    };
    let token = stand
        .backend
        .acquire(Some("s"), HOLDER, Some(&silent))
        .unwrap();
    stand.backend.append("s", &token, &batch(1, 1)).unwrap();
}

#[test]
fn a_directory_that_cannot_be_read_is_one_find() {
    for closed in ["_leases", "_leases/s.lease", "_leases/s.lease/1"] {
        let mut stand = Stand::new();
        stand.stored("s", 1);
        stand.stored("t", 1);
        let path = stand.path(closed);
        let hook: Hook = Rc::new(move |operation, at| match operation {
            "names" | "open" if at == path => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(()),
        });
        let mut other = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
        let found = other.inspect(9).unwrap();
        let damaged: Vec<_> = found
            .iter()
            .filter(|found| found.kind == LitterKind::DamagedLease)
            .collect();
        assert_eq!(damaged.len(), 1, "{found:?}");
        assert!(
            closed.starts_with(&damaged[0].place),
            "{}",
            damaged[0].place
        );
        assert!(
            damaged[0].note.contains("permission denied"),
            "{}",
            damaged[0].note
        );
        let is_seen = found.iter().any(|found| found.place == "_leases/t.lease");
        assert_eq!(is_seen, closed != "_leases");
        // only who may read it can tell whether somebody has it
        assert!(other.remove_litter(&damaged[0].place, None).is_err());
    }
}
