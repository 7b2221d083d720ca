//! One layer over another, with keys of their own.

use annals_encrypt::{Encrypt, KEY_ENV_SETTING};
use annals_jsonl::Jsonl;
use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, SessionStatus, SessionSummary};

use crate::support::{
    acquire, header, lines, mixed, over_files, pages, refused, settings, stored, surroundings,
};

type Twice = Encrypt<Encrypt<Jsonl>>;

/// The outermost key first.
fn twice(root: &std::path::Path, keys: [&str; 2]) -> Twice {
    let below = Encrypt::over(Jsonl::default(), surroundings());
    let mut backend = Encrypt::over(below, surroundings());
    let keys = keys.map(|key| (KEY_ENV_SETTING, key));
    backend.configure(&settings(root, &keys)).unwrap();
    backend
}

#[test]
fn two_layers_stack() {
    let root = tempfile::tempdir().unwrap();
    let mut backend = twice(root.path(), ["ANNALS_KEY", "OTHER_KEY"]);
    stored(&mut backend, "a", &mixed());
    let title = SessionSummary {
        title: Some("t".to_owned()),
        first_prompt: None,
    };
    backend.update("a", &title).unwrap();
    let token = acquire(&mut backend, "a");
    backend.truncate("a", &token, 6).unwrap();
    backend.release(Some("a"), &token).unwrap();
    let mut again = twice(root.path(), ["ANNALS_KEY", "OTHER_KEY"]);
    let kept: String = mixed().lines.split_inclusive('\n').take(4).collect();
    for bytes_max in [1, 1 << 20] {
        let pages = pages(&mut again, "a", bytes_max).unwrap();
        assert_eq!(pages[0].header, Some(header("a")));
        let read: String = pages.into_iter().map(|page| page.lines).collect();
        assert_eq!(read, kept);
    }
    let entry = again.list(None, 1).unwrap().sessions.remove(0);
    assert_eq!(
        (entry.summary, entry.status, entry.note),
        (title, SessionStatus::Ok, None)
    );
    assert_eq!(entry.header, Some(header("a")));
    let cut = again.load_cut("a", 0, 1 << 20).unwrap().raw.unwrap();
    assert_eq!(String::from_utf8(cut).unwrap(), crate::support::event(6));
}

#[test]
fn layers_in_another_order_or_number_open_nothing() {
    let root = tempfile::tempdir().unwrap();
    stored(
        &mut twice(root.path(), ["ANNALS_KEY", "OTHER_KEY"]),
        "a",
        &mixed(),
    );
    let swapped = lines(&mut twice(root.path(), ["OTHER_KEY", "ANNALS_KEY"]), "a");
    refused(swapped, ErrorCode::Corrupt, "sealed-record-unopened");
    refused(
        lines(&mut over_files(root.path()), "a"),
        ErrorCode::Corrupt,
        "sealed-record-unopened",
    );
    let root = tempfile::tempdir().unwrap();
    stored(&mut over_files(root.path()), "a", &mixed());
    let more = lines(&mut twice(root.path(), ["OTHER_KEY", "ANNALS_KEY"]), "a");
    refused(more, ErrorCode::Corrupt, "log-not-sealed");
}
