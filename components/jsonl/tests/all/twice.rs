//! One session in two places: copied by hand, with its directory.

use std::fs;

use annals_jsonl::paths;
use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, SessionStatus, SessionSummary};

use crate::support::{HOLDER, Stand, batch, event, header, lines, refused};

fn title(title: &str) -> SessionSummary {
    SessionSummary {
        title: Some(title.to_owned()),
        first_prompt: None,
    }
}

/// After `cp -r cwd-x cwd-y` both logs were listed, appends went to the copy, and a delete uncovered the other one.
#[test]
fn the_one_in_its_place_is_read_and_none_is_written() {
    // the copy comes before or after it in the order of names
    for (cwd, copy) in [
        (Some("/w"), "_no-cwd"),
        (Some("/w"), "cwd-zzz"),
        (None, "cwd-000000000000"),
    ] {
        let mut stand = Stand::new();
        let token = stand.acquire("s");
        let mut header = header("s");
        header.cwd = cwd.map(str::to_owned);
        stand.backend.create(&header, &token, &batch(0, 2)).unwrap();
        stand.backend.release(Some("s"), &token).unwrap();
        let token = stand.acquire("s");
        let own = format!("{}/s.jsonl", paths::bucket(cwd));
        let copied = format!("{copy}/s.jsonl");
        stand.write(&copied, format!("{}{}", stand.text(&own), event(2)));
        stand.write(&format!("{copy}/s.summary"), r#"{"title":"of the copy"}"#);
        let before = stand.files();

        let mut other = stand.other();
        assert!(other.has("s").unwrap());
        assert_eq!(lines(&mut other, "s"), batch(0, 2).lines);
        for count_max in [1, 9] {
            let listing = other.list(None, count_max).unwrap();
            let [entry] = listing.sessions.as_slice() else {
                panic!("{listing:?}");
            };
            let note = entry.note.as_deref().unwrap();
            assert!(note.contains(&own) && note.contains(&copied), "{note}");
            assert_eq!(entry.status, SessionStatus::Damaged);
            assert_eq!(
                (entry.updated_at_ms, &entry.summary.title),
                (Some(1001), &None)
            );
        }
        let twice = |result| {
            let error = refused(result, ErrorCode::Corrupt, "log-duplicate");
            let message = &error.message;
            assert!(
                message.contains(&own) && message.contains(&copied),
                "{message}"
            );
            assert!(message.contains("move"), "{message}");
        };
        twice(other.acquire(Some("s"), HOLDER, None).map(drop));
        twice(other.append("s", &token, &batch(2, 1)));
        twice(other.truncate("s", &token, 1));
        twice(other.update("s", &title("T")));
        twice(other.delete("s", &token));
        let again = other.create(&header, &token, &batch(0, 1));
        refused(again, ErrorCode::AlreadyExists, "session-already-exists");
        assert_eq!(stand.files(), before);
        other.release(Some("s"), &token).unwrap();

        // once it is moved away everything goes on, in the same process too
        fs::rename(stand.path(copy), stand.path("elsewhere")).unwrap();
        let token = other.acquire(Some("s"), HOLDER, None).unwrap();
        other.append("s", &token, &batch(2, 1)).unwrap();
        other.update("s", &title("T")).unwrap();
        assert_eq!(lines(&mut stand.other(), "s"), batch(0, 3).lines);
        other.delete("s", &token).unwrap();
        assert!(!stand.other().has("s").unwrap());
    }
}

/// Of two that both are out of place the first is read, always.
#[test]
fn copies_that_fit_nowhere_are_read_in_the_order_of_their_places() {
    let mut stand = Stand::new();
    stand.stored("s", 1);
    let text = stand.text("_no-cwd/s.jsonl");
    fs::remove_dir_all(stand.path("_no-cwd")).unwrap();
    stand.write("cwd-b/s.jsonl", &text);
    stand.write("cwd-a/s.jsonl", format!("{text}{}", event(1)));
    let mut other = stand.other();
    assert_eq!(lines(&mut other, "s"), batch(0, 2).lines);
    assert_eq!(other.list(None, 9).unwrap().sessions.len(), 1);
}

/// Messages had no bound where an id had none.
#[test]
fn no_message_grows_with_an_id() {
    let mut stand = Stand::new();
    let id = "i".repeat(100_000);
    let token = stand.stored(&id, 1);
    let mut errors = vec![
        stand.backend.acquire(Some(&id), HOLDER, None).unwrap_err(),
        stand.backend.append(&id, "1.x", &batch(1, 1)).unwrap_err(),
        stand.backend.append(&id, &token, &batch(7, 1)).unwrap_err(),
        stand.backend.truncate(&id, &token, 9).unwrap_err(),
        stand.backend.load(&id, 3, 1).unwrap_err(),
        stand.backend.list(Some(&id), 1).unwrap_err(),
        stand.backend.remove_litter(&id, None).unwrap_err(),
        stand
            .backend
            .update(&id.replace('i', "j"), &title("T"))
            .unwrap_err(),
        stand
            .backend
            .configure(&[(id.clone(), id.clone())])
            .unwrap_err(),
        stand
            .backend
            .configure(&[
                ("root".to_owned(), "r".to_owned()),
                ("sync".to_owned(), id.clone()),
            ])
            .unwrap_err(),
    ];
    let log = stand
        .files()
        .into_iter()
        .find(|path| path.ends_with(".jsonl"));
    let log = log.unwrap();
    stand.write(&log, format!("{}torn", stand.text(&log)));
    let mut other = stand.other();
    errors.push(other.append(&id, &token, &batch(1, 1)).unwrap_err());
    stand.write(
        &format!("cwd-x/{}", log.split_once('/').unwrap().1),
        stand.text(&log),
    );
    errors.push(other.acquire(Some(&id), HOLDER, None).unwrap_err());
    for error in errors {
        assert!(error.message.chars().count() < 1000, "{}", error.reason);
    }
    let note = other
        .list(None, 9)
        .unwrap()
        .sessions
        .remove(0)
        .note
        .unwrap();
    assert!(note.chars().count() < 1000);
}
