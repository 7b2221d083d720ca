//! Dying after every single change to the medium, and going on from there.

use std::rc::Rc;

use annals_jsonl::Jsonl;
use annals_sdk::types::{Eviction, EvictionReason, SessionSummary};
use annals_sdk::{Persistence, Result};

use crate::support::{Fate, Faulty, HOLDER, Stand, backend, batch, header, lines};

/// Runs `work` on a backend that dies at change 0, 1, 2, ... until it comes through, and `check` after each.
fn die_everywhere(
    before: impl Fn(&mut Stand),
    work: impl Fn(&mut Jsonl) -> Result<()>,
    check: impl Fn(&mut Stand, bool),
) {
    for fate in [Fate::Die, Fate::Tear, Fate::Fail] {
        for at in 0.. {
            let mut stand = Stand::new();
            before(&mut stand);
            let files = Rc::new(Faulty::new(at, fate));
            let changes = Rc::clone(&files.changes);
            let is_done = work(&mut backend(stand.root.path(), files, &[])).is_ok();
            stand.backend = stand.other();
            check(&mut stand, is_done);
            if changes.get() <= at {
                assert!(is_done && at > 1);
                break;
            }
        }
    }
}

fn take_over(backend: &mut Jsonl) -> Result<String> {
    let busy = match backend.acquire(Some("s"), HOLDER, None) {
        // who could not settle what it took gave it back
        Ok(token) => return Ok(token),
        Err(busy) => busy,
    };
    let detail: serde_json::Value = serde_json::from_str(&busy.detail).unwrap();
    let token = detail["token"].as_str().unwrap().to_owned();
    let evict = Eviction {
        token,
        why: EvictionReason::Gone,
    };
    backend.acquire(Some("s"), HOLDER, Some(&evict))
}

#[test]
fn a_session_is_stored_whole_or_not_at_all() {
    die_everywhere(
        |stand| {
            stand.acquire("s");
        },
        |backend| {
            let token = take_over(backend)?;
            backend.create(&header("s"), &token, &batch(0, 3))
        },
        |stand, is_done| {
            if is_done || stand.backend.has("s").unwrap() {
                assert_eq!(lines(&mut stand.backend, "s"), batch(0, 3).lines);
            }
            let logs = stand
                .files()
                .into_iter()
                .filter(|name| name.ends_with(".jsonl"))
                .count();
            assert_eq!(logs, usize::from(stand.backend.has("s").unwrap()));
        },
    );
}

#[test]
fn what_was_acknowledged_survives_an_append_that_dies() {
    die_everywhere(
        |stand| {
            stand.stored("s", 2);
        },
        |backend| {
            let token = take_over(backend)?;
            backend.append("s", &token, &batch(2, 2))
        },
        |stand, is_done| {
            let text = stand.text("_no-cwd/s.jsonl");
            let body = text.split_once('\n').unwrap().1;
            assert!(body.starts_with(&batch(0, 2).lines));
            assert!(batch(0, 4).lines.starts_with(body));
            assert!(!is_done || body == batch(0, 4).lines);
        },
    );
}

#[test]
fn a_cut_loses_nothing_wherever_it_dies() {
    die_everywhere(
        |stand| {
            stand.stored("s", 2);
            let good = stand.text("_no-cwd/s.jsonl");
            stand.write("_no-cwd/s.jsonl", format!("{good}torn"));
        },
        |backend| {
            let token = take_over(backend)?;
            backend.truncate("s", &token, 2)
        },
        |stand, is_done| {
            let text = stand.text("_no-cwd/s.jsonl");
            let saved = stand.backend.load_cut("s", 0, 99).unwrap().raw;
            assert!(text.ends_with("torn") || saved.as_deref() == Some(b"torn"));
            assert!(!is_done || !text.ends_with("torn"));
            // and once more, with what the first one left
            let token = take_over(&mut stand.backend).unwrap();
            stand.backend.truncate("s", &token, 2).unwrap();
            assert_eq!(lines(&mut stand.backend, "s"), batch(0, 2).lines);
            let page = stand.backend.load_cut("s", 0, 99).unwrap();
            assert_eq!((page.raw.as_deref(), page.next), (Some(&b"torn"[..]), None));
        },
    );
}

#[test]
fn a_summary_is_the_old_or_the_new_one() {
    let title = |title: &str| SessionSummary {
        title: Some(title.to_owned()),
        first_prompt: None,
    };
    die_everywhere(
        |stand| {
            stand.stored("s", 1);
            stand.backend.update("s", &title("old")).unwrap();
        },
        |backend| backend.update("s", &title("new")),
        |stand, is_done| {
            let found = stand
                .backend
                .list(None, 1)
                .unwrap()
                .sessions
                .remove(0)
                .summary
                .title
                .unwrap();
            assert!(found == "new" || (found == "old" && !is_done), "{found}");
        },
    );
}

#[test]
fn a_fence_that_dies_is_made_up_for_by_the_next() {
    die_everywhere(
        |stand| {
            stand.stored("s", 2);
        },
        |backend| {
            let Err(busy) = backend.acquire(Some("s"), HOLDER, None) else {
                panic!("free")
            };
            let detail: serde_json::Value = serde_json::from_str(&busy.detail).unwrap();
            let token = detail["token"].as_str().unwrap().to_owned();
            let evict = Eviction {
                token,
                why: EvictionReason::Silent,
            };
            backend.acquire(Some("s"), HOLDER, Some(&evict)).map(|_| ())
        },
        |stand, _| {
            assert_eq!(lines(&mut stand.backend, "s"), batch(0, 2).lines);
            if let Ok(token) = stand.backend.acquire(Some("s"), HOLDER, None) {
                stand.backend.append("s", &token, &batch(2, 1)).unwrap();
            } else {
                let token = take_over(&mut stand.backend).unwrap();
                stand.backend.append("s", &token, &batch(2, 1)).unwrap();
            }
            assert_eq!(lines(&mut stand.backend, "s"), batch(0, 3).lines);
        },
    );
}

// A process was killed between making its lease and writing its name into it: nobody could tell whose the lease was, and
// the session stayed busy for everybody. A lease now appears with its holder in it.
#[test]
fn a_lease_that_is_there_names_its_holder() {
    die_everywhere(
        |stand| {
            stand.stored("s", 1);
        },
        |backend| take_over(backend).map(drop),
        |stand, _| {
            if let Err(busy) = stand.backend.acquire(Some("s"), HOLDER, None) {
                let detail: serde_json::Value = serde_json::from_str(&busy.detail).unwrap();
                assert!(detail["holder"].is_object(), "{detail}");
            }
        },
    );
}
