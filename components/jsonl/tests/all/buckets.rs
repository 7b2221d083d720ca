//! What many buckets cost. Asking each of them for each session took minutes after somebody had copied one.

use std::cell::Cell;
use std::fs;
use std::rc::Rc;

use annals_jsonl::Jsonl;
use annals_jsonl::upkeep::LitterKind;
use annals_sdk::Persistence;

use crate::support::{Stand, backend, batch, header};
use crate::watched::Watched;

const SESSIONS: usize = 20;
const COPIED: usize = 10;

/// A root with so many empty buckets beside two, of which one has copies of the other's sessions, and a lease of nobody for each session.
fn copied(buckets: usize) -> Stand {
    let mut stand = Stand::new();
    for at in 0..SESSIONS {
        let id = format!("s{at}");
        let token = stand.acquire(&id);
        let stored = header(&id);
        stand.backend.create(&stored, &token, &batch(0, 1)).unwrap();
        stand.backend.release(Some(&id), &token).unwrap();
        stand.write(&format!("_no-cwd/own{at}.jsonl"), "damaged");
        stand.write(
            &format!("_leases/gone{at}.lease/1"),
            format!("{:020} free done\n{{}}\n", 0),
        );
    }
    let copy = stand.path("cwd-00000000000c");
    fs::create_dir(&copy).unwrap();
    for at in 0..COPIED {
        let name = format!("s{at}.jsonl");
        fs::copy(stand.path("_no-cwd").join(&name), copy.join(&name)).unwrap();
    }
    for at in 0..buckets {
        fs::create_dir(stand.path(&format!("cwd-1{at:011}"))).unwrap();
    }
    stand
}

/// How many operations on files that takes.
fn counted(stand: &Stand, call: impl Fn(&mut Jsonl)) -> usize {
    let count = Rc::new(Cell::new(0));
    let counter = Rc::clone(&count);
    let hook = Rc::new(move |_: &str, _: &std::path::Path| {
        counter.set(counter.get() + 1);
        Ok(())
    });
    call(&mut backend(stand.root.path(), Rc::new(Watched(hook)), &[]));
    count.get()
}

#[test]
fn each_bucket_is_asked_once_and_not_for_each_session() {
    let (few, many) = (copied(5), copied(205));
    type Call = fn(&mut Jsonl);
    let calls: [(&str, Call, usize); 3] = [
        (
            "list",
            |backend| {
                assert_eq!(
                    backend.list(None, 1000).unwrap().sessions.len(),
                    2 * SESSIONS
                )
            },
            1,
        ),
        (
            "inspect",
            |backend| {
                let found = backend.inspect(1000).unwrap();
                let is_double = |kind| kind == LitterKind::Duplicate;
                assert_eq!(
                    found.iter().filter(|found| is_double(found.kind)).count(),
                    COPIED
                );
            },
            1,
        ),
        (
            "read what was listed",
            |backend| {
                for entry in backend.list(None, 1000).unwrap().sessions {
                    // a copy is looked for in earnest
                    if entry.header.is_some() && entry.note.is_none() {
                        backend.load(&entry.id, 0, 1).unwrap();
                    }
                }
            },
            1,
        ),
    ];
    for (name, call, per_bucket) in calls {
        let more = counted(&many, call) - counted(&few, call);
        assert!(
            more <= 200 * per_bucket,
            "{name}: {more} for 200 buckets more"
        );
    }
}

/// Removing one lease read the header of every log.
#[test]
fn a_lease_of_nobody_is_removed_without_reading_logs() {
    let stand = copied(0);
    let all = stand.other().inspect(1000).unwrap();
    let lease = all
        .iter()
        .find(|found| found.place == "_leases/gone7.lease")
        .unwrap();
    assert_eq!(lease.kind, LitterKind::Orphan);
    let operations = counted(&stand, |backend| {
        backend
            .remove_litter(&lease.place, lease.token.as_deref())
            .unwrap();
    });
    assert!(operations < SESSIONS, "{operations}");
    assert!(!stand.path(&lease.place).exists());
}
