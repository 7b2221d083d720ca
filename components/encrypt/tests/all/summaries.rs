//! Title and first prompt, and listings.

use annals_jsonl::Jsonl;
use annals_sdk::Persistence;
use annals_sdk::types::{SessionStatus, SessionSummary};

use crate::support::{
    batch, lines_of, log_of, over_files, over_memory, rewrite, root_with, settings, stored,
    with_other_key,
};

fn summary(title: Option<&str>, first_prompt: Option<&str>) -> SessionSummary {
    SessionSummary {
        title: title.map(str::to_owned),
        first_prompt: first_prompt.map(str::to_owned),
    }
}

#[test]
fn a_summary_is_listed_opened() {
    let mut backend = over_memory();
    stored(&mut backend, "a", &batch(0, 1));
    let long = "é".repeat(200);
    for (given, listed) in [
        (summary(Some("t"), None), summary(Some("t"), None)),
        (summary(None, Some(&long)), summary(Some("t"), Some(&long))),
        (summary(Some(""), None), summary(None, Some(&long))),
        (summary(Some("u"), Some("")), summary(Some("u"), None)),
    ] {
        backend.update("a", &given).unwrap();
        let entry = backend.list(None, 1).unwrap().sessions.remove(0);
        assert_eq!((entry.summary, entry.status), (listed, SessionStatus::Ok));
        assert_eq!(entry.updated_at_ms, Some(1000));
    }
}

#[test]
fn with_another_key_sessions_are_listed_as_damaged() {
    let (root, _) = root_with(&batch(0, 1));
    let mut backend = over_files(root.path());
    backend.update("a", &summary(Some("t"), Some("p"))).unwrap();
    stored(&mut with_other_key(root.path()), "b", &batch(0, 1));
    let listed = with_other_key(root.path()).list(None, 10).unwrap().sessions;
    let [one, other] = listed.as_slice() else {
        panic!("{listed:?}");
    };
    assert_eq!((one.id.as_str(), one.status), ("a", SessionStatus::Damaged));
    let note = one.note.as_deref().unwrap();
    assert!(
        note.contains("another key") && note.contains("title and firstPrompt"),
        "{note}"
    );
    assert_eq!(one.summary, summary(None, None));
    assert_eq!(one.header.as_ref().unwrap().cwd.as_deref(), Some("/w"));
    assert_eq!((other.id.as_str(), other.status), ("b", SessionStatus::Ok));
}

/// A title belongs to its session, and is a title.
#[test]
fn summaries_that_were_moved_or_written_without_a_key_are_not_shown() {
    let (root, log) = root_with(&batch(0, 1));
    stored(&mut over_files(root.path()), "b", &batch(0, 1));
    over_files(root.path())
        .update("b", &summary(Some("t"), Some("p")))
        .unwrap();
    let of = |id: &str| log_of(root.path(), id).with_extension("summary");
    let text = std::fs::read_to_string(of("b")).unwrap();
    std::fs::write(log.with_extension("summary"), &text).unwrap();
    let swapped = text
        .replace("title", "x")
        .replace("firstPrompt", "title")
        .replace("\"x\"", "\"firstPrompt\"");
    std::fs::write(of("b"), swapped).unwrap();
    let mut plain = Jsonl::default();
    plain.configure(&settings(root.path(), &[])).unwrap();
    let look = || over_files(root.path()).list(None, 10).unwrap().sessions;
    for entry in look() {
        assert_eq!(entry.status, SessionStatus::Damaged);
        assert_eq!(
            entry.note.as_deref(),
            Some("its title and firstPrompt cannot be opened")
        );
        assert_eq!(entry.summary, summary(None, None));
    }
    plain
        .update("a", &summary(Some("plain"), Some("")))
        .unwrap();
    assert_eq!(
        look()[0].note.as_deref(),
        Some("its title cannot be opened")
    );
    assert_eq!(look()[0].summary, summary(None, None));
}

#[test]
fn a_session_that_cannot_be_read_fails_no_listing() {
    let (root, log) = root_with(&batch(0, 2));
    rewrite(&log, |lines| lines[0] = "oops\n".to_owned());
    stored(&mut over_files(root.path()), "b", &batch(0, 1));
    rewrite(&log_of(root.path(), "b"), |lines| lines[1].truncate(50));
    let mut plain = Jsonl::default();
    plain.configure(&settings(root.path(), &[])).unwrap();
    stored(&mut plain, "c", &batch(0, 1));
    let listed = over_files(root.path()).list(None, 10).unwrap().sessions;
    let notes: Vec<_> = listed
        .iter()
        .map(|entry| (entry.status, entry.note.as_deref().unwrap()))
        .collect();
    assert_eq!(notes.len(), 3);
    assert!(
        notes
            .iter()
            .all(|(status, _)| *status == SessionStatus::Damaged)
    );
    let expected = ["last line", "not sealed"];
    for (entry, due) in listed
        .iter()
        .filter(|entry| entry.header.is_some())
        .zip(expected)
    {
        assert!(entry.note.as_deref().unwrap().contains(due), "{entry:?}");
    }
}

#[test]
fn a_header_of_another_session_is_no_own_one() {
    let (root, log) = root_with(&batch(0, 1));
    stored(&mut over_files(root.path()), "b", &batch(0, 1));
    let other = lines_of(&log_of(root.path(), "b")).remove(0);
    rewrite(&log, |lines| lines[0] = other);
    let entry = over_files(root.path())
        .list(None, 1)
        .unwrap()
        .sessions
        .remove(0);
    assert_eq!(
        (entry.id.as_str(), entry.status),
        ("a", SessionStatus::Damaged)
    );
    assert!(entry.note.unwrap().contains("that of another session"));
}
