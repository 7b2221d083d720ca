//! Removing.

use std::fs;
use std::rc::Rc;

use annals_jsonl::files::Disk;
use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, SessionSummary};

use crate::support::{Stand, backend, refused};
use crate::watched::{Hook, Watched};

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

/// An update at the same time left its summary to the next session of that id.
#[test]
fn what_an_update_meanwhile_leaves_goes_with_the_log() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let bucket = stand.path("_no-cwd");
    let hook: Hook = Rc::new(move |operation, path| {
        let is_log = path.to_string_lossy().ends_with(".deleted") && operation == "rename";
        // right before the log goes: an update that is stopped before it looks whether there is one
        if is_log && !bucket.join("s.summary").exists() && bucket.join("s.jsonl").exists() {
            fs::write(bucket.join("s.summary"), r#"{"title":"T"}"#).unwrap();
            fs::write(bucket.join("s.summary.lock"), "0123456789abcdef").unwrap();
        }
        Ok(())
    });
    let mut backend = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    backend.delete("s", &token).unwrap();
    assert_eq!(stand.files(), [""; 0]);
    assert!(!stand.path("_leases/s.lease").exists());
}

/// An update that begins to write after that has no log to write beside.
#[test]
fn an_update_that_comes_after_a_delete_writes_nothing() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let root = stand.root.path().to_owned();
    let hook: Hook = Rc::new(move |operation, path| {
        assert!(!path.to_string_lossy().ends_with(".summary.tmp"));
        if operation == "open"
            && path.ends_with("s.summary.lock")
            && root.join("_no-cwd/s.jsonl").exists()
        {
            let mut other = backend(&root, Rc::new(Disk), &[]);
            other.delete("s", &token).unwrap();
        }
        Ok(())
    });
    let mut late = backend(stand.root.path(), Rc::new(Watched(hook)), &[]);
    let title = SessionSummary {
        title: Some("T".to_owned()),
        first_prompt: None,
    };
    refused(
        late.update("s", &title),
        ErrorCode::NotFound,
        "session-not-found",
    );
    assert_eq!(stand.files(), [""; 0]);
}
