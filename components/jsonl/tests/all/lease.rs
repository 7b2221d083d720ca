//! Leases.

use std::fs;

use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, Eviction, EvictionReason};

use crate::support::{HOLDER, Stand, batch, header, lines, refused};

const OTHER: &str = r#"{"host":"other","pid":2}"#;

fn evict(token: &str, why: EvictionReason) -> Option<Eviction> {
    Some(Eviction {
        token: token.to_owned(),
        why,
    })
}

// PI#9596: two processes continued one session, and neither knew of the other.
#[test]
fn the_second_writer_is_told_who_the_first_is() {
    let mut stand = Stand::new();
    let token = stand.acquire("s");
    let mut other = stand.other();
    let error = refused(
        other.acquire(Some("s"), OTHER, None),
        ErrorCode::Busy,
        "lease-held",
    );
    assert!(
        error.message.contains(r#"host "h", pid 1, since "noon""#),
        "{}",
        error.message
    );
    let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
    assert_eq!(detail["holder"].to_string(), HOLDER);
    assert_eq!(
        (detail["token"].as_str(), detail["renewals"].as_u64()),
        (Some(&*token), Some(0))
    );
    for renewals in 1..4 {
        stand.backend.renew(Some("s"), &token).unwrap();
        let error = refused(
            other.acquire(Some("s"), OTHER, None),
            ErrorCode::Busy,
            "lease-held",
        );
        let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
        assert_eq!(detail["renewals"].as_u64(), Some(renewals));
        assert_eq!(detail["token"].as_str(), Some(&*token));
    }
    // another session, and the root, are nobody's
    other.acquire(Some("t"), OTHER, None).unwrap();
    other.acquire(None, OTHER, None).unwrap();
    stand.backend.release(Some("s"), &token).unwrap();
    other.acquire(Some("s"), OTHER, None).unwrap();
}

#[test]
fn an_old_token_never_becomes_good_again() {
    let mut stand = Stand::new();
    let mut tokens = vec![stand.stored("s", 1)];
    for _ in 0..5 {
        stand
            .backend
            .release(Some("s"), tokens.last().unwrap())
            .unwrap();
        let token = stand.acquire("s");
        for old in &tokens {
            assert_ne!(*old, token);
            refused(
                stand.backend.renew(Some("s"), old),
                ErrorCode::Busy,
                "lease-lost",
            );
            refused(
                stand.backend.append("s", old, &batch(1, 1)),
                ErrorCode::Busy,
                "lease-lost",
            );
            // no effect on who holds now
            stand.backend.release(Some("s"), old).unwrap();
        }
        stand.backend.renew(Some("s"), &token).unwrap();
        tokens.push(token);
    }
    assert_eq!(
        fs::read_dir(stand.path("_leases/s.lease")).unwrap().count(),
        1
    );
    for forged in ["", "x", "7", "7.", "18446744073709551615.x", "-1.x"] {
        refused(
            stand.backend.renew(Some("s"), forged),
            ErrorCode::Busy,
            "lease-lost",
        );
    }
}

#[test]
fn only_the_holder_that_was_named_is_evicted() {
    let mut stand = Stand::new();
    let first = stand.stored("s", 1);
    let mut other = stand.other();
    let wrong = evict("9.abc", EvictionReason::Gone);
    refused(
        other.acquire(Some("s"), OTHER, wrong.as_ref()),
        ErrorCode::Busy,
        "lease-held",
    );
    let right = evict(&first, EvictionReason::Gone);
    let second = other.acquire(Some("s"), OTHER, right.as_ref()).unwrap();
    refused(
        other.acquire(Some("s"), OTHER, right.as_ref()),
        ErrorCode::Busy,
        "lease-held",
    );
    let result = stand.backend.append("s", &first, &batch(1, 1));
    let error = refused(result, ErrorCode::Busy, "lease-lost");
    assert!(
        error.detail.contains("\"host\":\"other\""),
        "{}",
        error.detail
    );
    refused(
        stand.backend.truncate("s", &first, 0),
        ErrorCode::Busy,
        "lease-lost",
    );
    refused(
        stand.backend.delete("s", &first),
        ErrorCode::Busy,
        "lease-lost",
    );
    other.append("s", &second, &batch(1, 1)).unwrap();
    assert_eq!(lines(&mut stand.backend, "s"), batch(0, 2).lines);
}

// A writer that was only silent wakes up after its lease was taken, with the log still open.
#[test]
fn a_late_write_of_a_silent_holder_is_never_read() {
    let mut stand = Stand::new();
    let first = stand.stored("s", 1);
    let mut late = fs::OpenOptions::new()
        .append(true)
        .open(stand.path("_no-cwd/s.jsonl"))
        .unwrap();
    let mut other = stand.other();
    let silent = evict(&first, EvictionReason::Silent);
    let second = other.acquire(Some("s"), OTHER, silent.as_ref()).unwrap();
    std::io::Write::write_all(&mut late, b"late").unwrap();
    other.append("s", &second, &batch(1, 1)).unwrap();
    assert_eq!(lines(&mut stand.other(), "s"), batch(0, 2).lines);
    assert_eq!(stand.files(), ["_no-cwd/s.jsonl"]);
}

#[test]
fn a_successor_that_died_early_leaves_its_debt() {
    let mut stand = Stand::new();
    let first = stand.stored("s", 1);
    // what is left of an acquire that was killed between taking the number and copying the log
    fs::write(stand.path("_leases/s.lease/2"), "").unwrap();
    let mut late = fs::OpenOptions::new()
        .append(true)
        .open(stand.path("_no-cwd/s.jsonl"))
        .unwrap();
    refused(
        stand.backend.renew(Some("s"), &first),
        ErrorCode::Busy,
        "lease-lost",
    );
    let error = refused(
        stand.backend.acquire(Some("s"), HOLDER, None),
        ErrorCode::Busy,
        "lease-held",
    );
    let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
    assert!(detail["holder"].is_null());
    let gone = evict(detail["token"].as_str().unwrap(), EvictionReason::Gone);
    let third = stand
        .backend
        .acquire(Some("s"), HOLDER, gone.as_ref())
        .unwrap();
    std::io::Write::write_all(&mut late, b"late").unwrap();
    stand.backend.append("s", &third, &batch(1, 1)).unwrap();
    assert_eq!(lines(&mut stand.other(), "s"), batch(0, 2).lines);
}

#[test]
fn of_many_contenders_one_wins() {
    let mut stand = Stand::new();
    let first = stand.stored("s", 1);
    let root = stand.root.path().to_owned();
    for round in 0..20 {
        let present = match round {
            0 => first.clone(),
            _ => {
                let error = stand.backend.acquire(Some("s"), HOLDER, None).unwrap_err();
                let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
                detail["token"].as_str().unwrap().to_owned()
            }
        };
        let winners: usize = std::thread::scope(|scope| {
            let contenders: Vec<_> = (0..4)
                .map(|pid| {
                    let (root, present) = (root.clone(), present.clone());
                    scope.spawn(move || {
                        let files = std::rc::Rc::new(annals_jsonl::files::Disk);
                        let mut backend = crate::support::backend(&root, files, &[]);
                        let holder = format!("{{\"pid\":{pid}}}");
                        let evict = evict(&present, EvictionReason::Gone);
                        backend.acquire(Some("s"), &holder, evict.as_ref()).is_ok()
                    })
                })
                .collect();
            contenders
                .into_iter()
                .filter(|_| true)
                .map(|c| usize::from(c.join().unwrap()))
                .sum()
        });
        assert_eq!(winners, 1, "round {round}");
    }
}

#[test]
fn a_session_that_was_never_stored_leaves_nothing() {
    let mut stand = Stand::new();
    let token = stand.acquire("s");
    stand.backend.release(Some("s"), &token).unwrap();
    assert_eq!(fs::read_dir(stand.path("_leases")).unwrap().count(), 0);
    refused(
        stand.backend.renew(Some("s"), &token),
        ErrorCode::Busy,
        "lease-lost",
    );
}

#[test]
fn a_holder_is_a_small_object() {
    let mut stand = Stand::new();
    for holder in ["", "1", "[]", "{oops"] {
        refused(
            stand.backend.acquire(Some("s"), holder, None),
            ErrorCode::Invalid,
            "holder-invalid",
        );
    }
    let frame = "{\"x\":\"\"}".len();
    let longest = format!("{{\"x\":\"{}\"}}", "y".repeat((16 << 10) - frame));
    stand.backend.acquire(Some("s"), &longest, None).unwrap();
    let longer = longest.replace("{\"x", "{\"xx");
    refused(
        stand.backend.acquire(Some("t"), &longer, None),
        ErrorCode::Limit,
        "limit-reached",
    );
    let token = stand
        .backend
        .acquire(Some("u"), "{\n \"a\": 1\n}", None)
        .unwrap();
    stand
        .backend
        .create(&header("u"), &token, &batch(0, 1))
        .unwrap();
    refused(
        stand.backend.acquire(Some(""), HOLDER, None),
        ErrorCode::Invalid,
        "empty-path-segment",
    );
}

// Whoever may write into the root can leave any number there: the next one after the last overflowed.
#[test]
fn numbers_at_the_end_of_all_numbers_are_no_trap() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let last = format!("_leases/s.lease/{}", u64::MAX);
    stand.write(&last, "");
    stand.backend.renew(Some("s"), &token).unwrap();
    let mut other = stand.other();
    let error = refused(
        other.acquire(Some("s"), OTHER, None),
        ErrorCode::Busy,
        "lease-held",
    );
    assert!(error.detail.contains(&token), "{}", error.detail);
    let mine = stand.text("_leases/s.lease/1");
    let (_, rest) = mine.split_at(20);
    stand.write("_leases/s.lease/1", format!("{}{rest}", u64::MAX));
    other.renew(Some("s"), &token).unwrap();
}

// What a killed writer had half written stayed for ever, one file for each kill.
#[test]
fn who_takes_over_from_the_dead_clears_up_after_them() {
    let mut stand = Stand::new();
    let first = stand.stored("s", 1);
    let mine = "_no-cwd/s.0123456789abcdef.tmp";
    let of_another = "_no-cwd/s.60.0123456789abcdef.tmp";
    let in_use = "_no-cwd/s.0123456789abcdef.summary.tmp";
    for litter in [mine, of_another, in_use] {
        stand.write(litter, "half");
    }
    let gone = evict(&first, EvictionReason::Gone);
    let mut other = stand.other();
    let second = other.acquire(Some("s"), OTHER, gone.as_ref()).unwrap();
    assert_eq!(stand.files(), [in_use, of_another, "_no-cwd/s.jsonl"]);

    // one that was given back was no death
    other.release(Some("s"), &second).unwrap();
    stand.write(mine, "half");
    stand.acquire("s");
    assert!(stand.path(mine).exists());
}

// The same before anything was stored: the next one to store the session clears up.
#[test]
fn who_stores_what_the_dead_did_not_clears_up_after_them() {
    let mut stand = Stand::new();
    let first = stand.acquire("s");
    stand.write("_no-cwd/s.0123456789abcdef.tmp", "half");
    let gone = evict(&first, EvictionReason::Gone);
    let mut other = stand.other();
    let second = other.acquire(Some("s"), OTHER, gone.as_ref()).unwrap();
    other.create(&header("s"), &second, &batch(0, 1)).unwrap();
    assert_eq!(stand.files(), ["_no-cwd/s.jsonl"]);
}
