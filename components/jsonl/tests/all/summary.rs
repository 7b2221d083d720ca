//! Titles and first prompts.

use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, SessionSummary};

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
