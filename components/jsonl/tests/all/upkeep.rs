//! What lies besides sessions: named, and removed only where nothing can be lost.

use std::fs;

use annals_jsonl::upkeep::{Litter, LitterKind};
use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, Eviction, EvictionReason};

use crate::support::{HOLDER, Stand, batch, header};

fn found(stand: &mut Stand) -> Vec<Litter> {
    stand.backend.inspect(100).unwrap()
}

fn kinds(found: &[Litter]) -> Vec<(LitterKind, &str, Option<&str>)> {
    found
        .iter()
        .map(|litter| (litter.kind, litter.place.as_str(), litter.id.as_deref()))
        .collect()
}

#[test]
fn a_clean_root_holds_nothing_else() {
    let mut stand = Stand::new();
    assert_eq!(found(&mut stand), []);
    let token = stand.stored("a", 3);
    stand.backend.truncate("a", &token, 1).unwrap();
    let held = found(&mut stand);
    assert_eq!(
        kinds(&held),
        [(LitterKind::Lease, "_leases/a.lease", Some("a"))]
    );
    assert_eq!(held[0].holder.as_deref(), Some(HOLDER));
    stand.backend.release(Some("a"), &token).unwrap();
    assert_eq!(found(&mut stand), []);
}

#[test]
fn what_dead_writers_left_is_named_and_removed() {
    let mut stand = Stand::new();
    let token = stand.stored("A", 1);
    stand.backend.release(Some("A"), &token).unwrap();
    stand.write("_no-cwd/A.0123456789abcdef.tmp", "half");
    stand.write("_no-cwd/A.0123456789abcdef.new", "half");
    stand.write("_no-cwd/A.0123456789abcdef.summary.tmp", "half");
    stand.write("_no-cwd/gone.0123456789abcdef.tmp", "half");
    // a creation that the next one could go on with, where there are no hard links
    stand.write("_no-cwd/coming.jsonl", "");
    stand.write("_no-cwd/coming.0123456789abcdef.new", "half");
    stand.write("_no-cwd/gone.summary", "{}");
    stand.write("_no-cwd/gone.123.torn", "cut");
    stand.write("_no-cwd/gone.123.7.torn", "cut");
    stand.write("_leases/~0041.lease/9.0123456789abcdef.tmp", "half");
    stand.write("_no-cwd/notes.txt", "mine");
    let all = found(&mut stand);
    let expected = [
        (
            LitterKind::Temporary,
            "_no-cwd/A.0123456789abcdef.new",
            Some("A"),
        ),
        (
            LitterKind::Temporary,
            "_no-cwd/A.0123456789abcdef.summary.tmp",
            Some("A"),
        ),
        (
            LitterKind::Temporary,
            "_no-cwd/A.0123456789abcdef.tmp",
            Some("A"),
        ),
        (
            LitterKind::Temporary,
            "_no-cwd/coming.0123456789abcdef.new",
            Some("coming"),
        ),
        (
            LitterKind::Temporary,
            "_no-cwd/gone.0123456789abcdef.tmp",
            Some("gone"),
        ),
        (
            LitterKind::OrphanedCut,
            "_no-cwd/gone.123.7.torn",
            Some("gone"),
        ),
        (
            LitterKind::OrphanedCut,
            "_no-cwd/gone.123.torn",
            Some("gone"),
        ),
        (LitterKind::Orphan, "_no-cwd/gone.summary", Some("gone")),
        (
            LitterKind::Temporary,
            "_leases/~0041.lease/9.0123456789abcdef.tmp",
            Some("A"),
        ),
    ];
    assert_eq!(kinds(&all), expected);
    assert!(all.iter().all(|litter| litter.holder.is_none()));
    assert_eq!(stand.backend.inspect(2).unwrap(), all[..2]);
    for litter in &all {
        stand.backend.remove_litter(&litter.place, None).unwrap();
        stand.backend.remove_litter(&litter.place, None).unwrap();
    }
    assert_eq!(found(&mut stand), []);
    assert_eq!(stand.files(), ["_no-cwd/A.jsonl", "_no-cwd/notes.txt"]);
}

/// A writer that was killed before its session was stored left a lease that nothing cleared.
#[test]
fn a_lease_of_a_session_that_never_was_goes_with_its_token_only() {
    let mut stand = Stand::new();
    let token = stand.acquire("never");
    let all = found(&mut stand);
    assert_eq!(
        kinds(&all),
        [(LitterKind::Lease, "_leases/never.lease", Some("never"))]
    );
    assert_eq!(all[0].token.as_deref(), Some(token.as_str()));
    let place = all[0].place.as_str();
    let busy = stand.backend.remove_litter(place, Some("1.x")).unwrap_err();
    assert_eq!(busy.code, ErrorCode::Busy);
    // somebody took over meanwhile
    let evict = Eviction {
        token: token.clone(),
        why: EvictionReason::Gone,
    };
    let other = r#"{"pid":2}"#;
    let next = stand
        .other()
        .acquire(Some("never"), other, Some(&evict))
        .unwrap();
    let busy = stand
        .backend
        .remove_litter(place, Some(&token))
        .unwrap_err();
    assert_eq!(busy.code, ErrorCode::Busy);
    stand.backend.remove_litter(place, Some(&next)).unwrap();
    assert!(!stand.path("_leases/never.lease").exists());
    stand.acquire("never");
}

#[test]
fn an_id_that_is_too_long_for_a_name_is_known_by_its_log() {
    let mut stand = Stand::new();
    let long = "L".repeat(300);
    stand.stored(&long, 1);
    let all = found(&mut stand);
    assert_eq!((all.len(), all[0].id.as_deref()), (1, Some(long.as_str())));
    fs::remove_dir_all(stand.path("_no-cwd")).unwrap();
    let all = found(&mut stand);
    assert_eq!((all.len(), all[0].id.as_deref()), (1, None));
}

#[test]
fn one_id_in_two_places_is_named_and_never_removed() {
    let mut stand = Stand::new();
    let token = stand.acquire("a");
    let mut header = header("a");
    header.cwd = Some("/w".to_owned());
    stand.backend.create(&header, &token, &batch(0, 2)).unwrap();
    stand.backend.release(Some("a"), &token).unwrap();
    let log = stand.files().remove(0);
    stand.write("_no-cwd/a.jsonl", stand.text(&log));
    let all = found(&mut stand);
    assert_eq!(
        kinds(&all),
        [(LitterKind::Duplicate, "_no-cwd/a.jsonl", Some("a"))]
    );
    assert!(all[0].note.contains(&log), "{}", all[0].note);
    for place in [
        log.as_str(),
        "_no-cwd/a.jsonl",
        "_leases/a.lease",
        "_leases",
    ] {
        let error = stand.backend.remove_litter(place, None).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid, "{place}");
    }
}

#[test]
fn nothing_outside_is_ever_removed() {
    let mut stand = Stand::new();
    let token = stand.stored("a", 2);
    stand.backend.truncate("a", &token, 1).unwrap();
    stand.write("_no-cwd/a.summary", "{}");
    stand.write("x.0123456789abcdef.tmp", "x");
    stand.write("elsewhere/x.0123456789abcdef.tmp", "x");
    std::os::unix::fs::symlink(stand.path("elsewhere"), stand.path("cwd-link")).unwrap();
    let before = stand.files();
    for place in [
        "",
        "a",
        "../x",
        "/etc/passwd",
        "x.0123456789abcdef.tmp",
        "_no-cwd/../x.0123456789abcdef.tmp",
        "_no-cwd/a.summary",
        "_no-cwd/a.jsonl",
        "_no-cwd",
        "_leases/../_no-cwd/a.jsonl",
        "_leases/a.lease/1",
        "cwd-link/x.0123456789abcdef.tmp",
    ] {
        assert!(stand.backend.remove_litter(place, None).is_err(), "{place}");
    }
    assert_eq!(stand.files(), before);
}

/// Without any lease somebody may have gone on and left again: what a delete had in hand may be the only copy.
#[test]
fn what_a_delete_had_in_hand_is_removed_under_its_own_lease_only() {
    for (number, kind) in [
        (0, LitterKind::OrphanedCut),
        (1, LitterKind::OrphanedCut),
        (2, LitterKind::Temporary),
        (3, LitterKind::OrphanedCut),
    ] {
        let mut stand = Stand::new();
        let place = "_no-cwd/s.0123456789abcdef.2.deleted";
        stand.write(place, "log");
        if number > 0 {
            stand.write(&format!("_leases/s.lease/{number}"), "");
        }
        let all = found(&mut stand);
        assert_eq!(kinds(&all)[0], (kind, place, Some("s")), "{number}");
        let removed = stand.backend.remove_litter(place, None);
        assert_eq!(removed.is_ok(), kind == LitterKind::Temporary, "{number}");
    }
}
