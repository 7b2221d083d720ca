//! Titles and first prompts.

use annals_jsonl::upkeep::LitterKind;
use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, SessionStatus, SessionSummary};

use crate::support::{Stand, refused};

fn summary(title: Option<&str>, first_prompt: Option<&str>) -> SessionSummary {
    SessionSummary {
        title: title.map(str::to_owned),
        first_prompt: first_prompt.map(str::to_owned),
    }
}

#[test]
fn each_field_changes_alone_and_the_log_never() {
    let mut stand = Stand::new();
    stand.stored("s", 1);
    let log = stand.text("_no-cwd/s.jsonl");
    let table = [
        (summary(Some("T"), None), summary(Some("T"), None)),
        (
            summary(None, Some("p\n\"é")),
            summary(Some("T"), Some("p\n\"é")),
        ),
        (summary(None, None), summary(Some("T"), Some("p\n\"é"))),
        (summary(Some(""), None), summary(None, Some("p\n\"é"))),
        (summary(Some("U"), Some("")), summary(Some("U"), None)),
    ];
    for (change, expected) in table {
        stand.backend.update("s", &change).unwrap();
        assert_eq!(
            stand.backend.list(None, 1).unwrap().sessions[0].summary,
            expected
        );
    }
    assert_eq!(stand.text("_no-cwd/s.jsonl"), log);
    assert_eq!(stand.files(), ["_no-cwd/s.jsonl", "_no-cwd/s.summary"]);
    stand.write("_no-cwd/s.summary", r#"{"mine":1.0,"title":"a"}"#);
    stand
        .backend
        .update("s", &summary(Some("b"), None))
        .unwrap();
    assert_eq!(
        stand.text("_no-cwd/s.summary"),
        "{\"mine\":1.0,\"title\":\"b\"}\n"
    );
}

// ruby-sdk#85: renaming an unknown session made one.
#[test]
fn an_unknown_session_is_not_made() {
    let mut stand = Stand::new();
    let result = stand.backend.update("s", &summary(Some("T"), None));
    refused(result, ErrorCode::NotFound, "session-not-found");
    assert!(stand.files().is_empty());
}

#[test]
fn a_summary_has_a_limit() {
    let mut stand = Stand::new();
    stand.stored("s", 1);
    let frame = "{\"title\":\"\"}\n".len();
    let longest = "x".repeat((64 << 10) - frame);
    stand
        .backend
        .update("s", &summary(Some(&longest), None))
        .unwrap();
    let result = stand
        .backend
        .update("s", &summary(Some(&format!("{longest}x")), None));
    refused(result, ErrorCode::Limit, "limit-reached");
    assert_eq!(
        stand.backend.list(None, 1).unwrap().sessions[0]
            .summary
            .title,
        Some(longest)
    );
}

/// Each verb said something else of a damaged summary, and an update wrote over it.
#[test]
fn a_damaged_summary_is_marked_and_kept_beside_the_next_one() {
    let long = format!("{{\"title\":\"{}\"}}", "x".repeat(64 << 10));
    let table: [&[u8]; 8] = [
        b"",
        b"garbage",
        b"[]",
        b"{\"title\":1}",
        b"{\"firstPrompt\":{}}",
        b"{\"title\":\"\xFF\"}",
        b"{\"title\":\"T\"}{",
        long.as_bytes(),
    ];
    for content in table {
        let mut stand = Stand::new();
        let token = stand.stored("s", 1);
        stand.write("_no-cwd/s.summary", content);
        let entry = stand.backend.list(None, 1).unwrap().sessions.remove(0);
        assert_eq!(
            (entry.status, entry.summary),
            (SessionStatus::Damaged, summary(None, None))
        );
        let note = entry.note.unwrap();
        assert!(
            note.contains("summary") && note.contains("doctor --fix"),
            "{note}"
        );
        let found = stand.backend.inspect(9).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|found| (found.kind, found.place.as_str()))
            .collect();
        assert_eq!(found[0], (LitterKind::DamagedSummary, "_no-cwd/s.summary"));
        assert!(
            stand
                .backend
                .remove_litter("_no-cwd/s.summary", None)
                .is_err()
        );

        stand
            .backend
            .update("s", &summary(Some("new"), None))
            .unwrap();
        let entry = stand.backend.list(None, 1).unwrap().sessions.remove(0);
        assert_eq!(
            (entry.status, entry.summary),
            (SessionStatus::Ok, summary(Some("new"), None))
        );
        let files = stand.files();
        let kept: Vec<&String> = files
            .iter()
            .filter(|path| path.ends_with(".summary.bad"))
            .collect();
        assert_eq!(kept.len(), 1, "{files:?}");
        assert_eq!(std::fs::read(stand.path(kept[0])).unwrap(), content);
        stand.backend.delete("s", &token).unwrap();
        assert_eq!(stand.files(), [""; 0]);
    }
}

#[test]
fn what_is_no_file_in_the_place_of_a_summary_is_moved_aside() {
    for is_link in [true, false] {
        let mut stand = Stand::new();
        stand.stored("s", 1);
        let place = stand.path("_no-cwd/s.summary");
        match is_link {
            true => std::os::unix::fs::symlink("/etc/hostname", &place).unwrap(),
            false => std::fs::create_dir_all(place.join("x")).unwrap(),
        }
        let entry = stand.backend.list(None, 1).unwrap().sessions.remove(0);
        assert_eq!(entry.status, SessionStatus::Damaged);
        stand
            .backend
            .update("s", &summary(Some("T"), None))
            .unwrap();
        assert_eq!(stand.text("_no-cwd/s.summary"), "{\"title\":\"T\"}\n");
        let bucket = std::fs::read_dir(stand.path("_no-cwd")).unwrap();
        let names = bucket.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(
            names.filter(|name| name.ends_with(".summary.bad")).count(),
            1
        );
    }
}
