//! Removing.

use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, SessionSummary};

use crate::support::{Stand, refused};

#[test]
fn everything_of_the_session_goes_and_nothing_else() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 2);
    stand.stored("s.60", 2);
    let title = SessionSummary {
        title: Some("T".to_owned()),
        first_prompt: None,
    };
    stand.backend.update("s", &title).unwrap();
    stand.backend.update("s.60", &title).unwrap();
    stand.backend.truncate("s", &token, 1).unwrap();
    stand.write("_no-cwd/s.0123456789abcdef.tmp", "left over");
    stand.write("_no-cwd/s.0123456789abcdef.summary.tmp", "left over");
    stand.write("_no-cwd/s.60.61.torn", "of the other one");
    refused(
        stand.backend.delete("s", "9.x"),
        ErrorCode::Busy,
        "lease-lost",
    );
    assert!(stand.backend.has("s").unwrap());
    let token = {
        stand.backend.release(Some("s"), &token).unwrap();
        stand.acquire("s")
    };
    stand.backend.delete("s", &token).unwrap();
    assert_eq!(
        stand.files(),
        [
            "_no-cwd/s.60.61.torn",
            "_no-cwd/s.60.jsonl",
            "_no-cwd/s.60.summary"
        ]
    );
    assert!(!stand.path("_leases/s.lease").exists());
    assert!(!stand.backend.has("s").unwrap());
    refused(
        stand.backend.delete("s", &token),
        ErrorCode::NotFound,
        "session-not-found",
    );
    stand.stored("s", 1);
    assert_eq!(
        stand.backend.list(None, 1).unwrap().sessions[0]
            .summary
            .title,
        None
    );
}
