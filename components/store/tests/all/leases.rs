//! One writer a session: taking, losing, sharing and evicting leases.

use annals_sdk::types::{ErrorCode, Eviction, EvictionReason, LeaseScope};
use annals_store::OpenMode;

use crate::support::*;

fn token_of(error: &annals_sdk::types::Error) -> String {
    let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
    assert_eq!(detail["holder"]["host"], "test");
    detail["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_second_writer_is_busy_until_the_first_has_closed() {
    let medium = Medium::default();
    let (mut one, mut two) = (store_on(&medium), store_on(&medium));
    let key = flushed(&mut one, "a", "hi");
    let error = two.open("a", OpenMode::Resume).unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (ErrorCode::Busy, "lease-held")
    );
    assert_eq!(label(two.delete("a")), "Busy lease-held");
    // reading needs no lease
    let (inspected, _) = two.open("a", OpenMode::Inspect).unwrap();
    two.fork("a", None, None, None, 1).unwrap();
    two.close(inspected).unwrap();
    one.close(key).unwrap();
    two.open("a", OpenMode::Resume).unwrap();
}

#[test]
fn an_eviction_is_for_one_session_and_one_attempt() {
    let medium = Medium::default();
    let (mut one, mut two) = (store_on(&medium), store_on(&medium));
    flushed(&mut one, "a", "hi");
    let b = flushed(&mut one, "b", "hi");
    let token = token_of(&two.open("a", OpenMode::Resume).unwrap_err());
    let eviction = |token: &str| Eviction {
        token: token.to_owned(),
        why: EvictionReason::Gone,
    };
    two.evict("b", eviction(&token)).unwrap();
    assert!(two.open("a", OpenMode::Resume).is_err());
    assert!(two.open("b", OpenMode::Resume).is_err());
    two.evict("a", eviction("99")).unwrap();
    assert!(two.open("a", OpenMode::Resume).is_err());
    two.evict("a", eviction(&token)).unwrap();
    two.open("a", OpenMode::Resume).unwrap();
    assert_eq!(
        label(two.evict("a", eviction(""))),
        "Invalid eviction-token-empty"
    );
    one.close(b).unwrap();
}

#[test]
fn a_writer_that_lost_its_lease_touches_nothing_more() {
    let medium = Medium::default();
    let (mut one, mut two) = (store_on(&medium), store_on(&medium));
    let key = flushed(&mut one, "a", "hi");
    let other = flushed(&mut one, "b", "hi");
    one.append(key, &turn("late"), 2).unwrap();
    let token = token_of(&two.open("a", OpenMode::Resume).unwrap_err());
    two.evict(
        "a",
        Eviction {
            token,
            why: EvictionReason::Silent,
        },
    )
    .unwrap();
    let (taken, _) = two.open("a", OpenMode::Resume).unwrap();
    assert_eq!(label(one.renew()), "Busy lease-lost");
    one.renew().unwrap();
    assert_eq!(label(one.append(key, &turn("x"), 3)), "Busy lease-lost");
    let before = medium.count("append");
    assert_eq!(label(one.flush(key)), "Busy lease-lost");
    assert_eq!(medium.count("append"), before);
    // what it held can still be read, and the others go on
    assert_eq!(one.next_seq(key), Some(6));
    one.append(other, &turn("x"), 3).unwrap();
    one.flush(other).unwrap();
    two.append(taken, &turn("mine"), 4).unwrap();
    two.close(taken).unwrap();
    assert!(!medium.lines("a").contains("late"));
    // what was never stored can be taken along, and closing says once that it is not there
    let child = one
        .fork("a", None, Some("rescued".into()), None, 5)
        .unwrap();
    one.close(child).unwrap();
    assert!(medium.lines("rescued").contains("late"));
    assert_eq!(label(one.close(key)), "Busy lease-lost");
    assert_eq!(one.live(), ["b"]);
    one.close(key).unwrap();
    one.open("a", OpenMode::Resume).unwrap();
}

#[test]
fn a_lease_lost_between_renewals_shows_at_the_flush() {
    let medium = Medium::default();
    let (mut one, mut two) = (store_on(&medium), store_on(&medium));
    let key = flushed(&mut one, "a", "hi");
    let token = token_of(&two.open("a", OpenMode::Resume).unwrap_err());
    two.evict(
        "a",
        Eviction {
            token,
            why: EvictionReason::Gone,
        },
    )
    .unwrap();
    two.open("a", OpenMode::Resume).unwrap();
    one.append(key, &turn("late"), 2).unwrap();
    assert_eq!(label(one.flush(key)), "Busy lease-held");
    assert_eq!(label(one.append(key, &turn("x"), 3)), "Busy lease-lost");
}

#[test]
fn one_lease_that_cannot_be_renewed_stops_no_other() {
    let (mut store, medium, _) = setting();
    let a = flushed(&mut store, "a", "hi");
    flushed(&mut store, "b", "hi");
    medium.fail("renew", Failure::Before, ErrorCode::Unavailable);
    assert_eq!(label(store.renew()), "Unavailable prepared");
    assert_eq!(medium.count("renew"), 2);
    store.append(a, &turn("x"), 2).unwrap();
    store.flush(a).unwrap();
}

#[test]
fn a_close_that_cannot_give_the_lease_back_can_be_tried_again() {
    let (mut store, medium, recorder) = setting();
    let key = flushed(&mut store, "a", "hi");
    medium.fail("release", Failure::Before, ErrorCode::Unavailable);
    assert_eq!(label(store.close(key)), "Unavailable prepared");
    assert_eq!(store.live(), ["a"]);
    store.close(key).unwrap();
    assert_eq!(recorder.take().last().unwrap(), "disposed a");
}

#[test]
fn a_root_lease_is_taken_once_around_everything() {
    let medium = Medium::default();
    medium.0.borrow_mut().promise = Some(Box::new(|mut info| {
        info.lease = LeaseScope::Root;
        info
    }));
    let (mut one, mut two) = (store_on(&medium), store_on(&medium));
    one.list(None, 1).unwrap();
    assert_eq!((medium.count("acquire"), medium.count("release")), (1, 1));
    let a = flushed(&mut one, "a", "hi");
    let b = flushed(&mut one, "b", "hi");
    let acquired = medium.count("acquire");
    one.has("a").unwrap();
    one.delete("zz").unwrap_err();
    one.renew().unwrap();
    assert_eq!(medium.count("acquire"), acquired);
    assert_eq!(medium.count("renew"), 1);
    assert_eq!(label(two.list(None, 1)), "Busy lease-held");
    one.close(a).unwrap();
    one.append(b, &turn("still mine"), 2).unwrap();
    one.flush(b).unwrap();
    assert_eq!(label(two.open("a", OpenMode::Inspect)), "Busy lease-held");
    one.close(b).unwrap();
    two.open("a", OpenMode::Inspect).unwrap();
    two.delete("b").unwrap();
    one.list(None, 9).unwrap();
}
