//! Pages: of any length, in any order, of a log that changes.

use annals_sdk::Persistence;
use annals_sdk::types::{Batch, ErrorCode};

use crate::support::{
    acquire, batch, lines, mixed, over_files, over_memory, pages, refused, root_with, stored,
};

#[test]
fn a_log_is_the_same_in_pages_of_any_length() {
    let (root, _) = root_with(&mixed());
    for bytes_max in [1, 100, 200, 300, 500, 1000, u32::MAX] {
        let pages = pages(&mut over_files(root.path()), "a", bytes_max).unwrap();
        let read: String = pages.iter().map(|page| page.lines.as_str()).collect();
        assert_eq!(read, mixed().lines, "{bytes_max}");
        for page in &pages {
            let length = page.lines.len();
            let is_one = page.lines.lines().count() == 1;
            assert!(
                is_one || length <= bytes_max as usize,
                "{length} of {bytes_max}"
            );
            assert!(page.at_byte.is_none() && page.raw.is_none());
        }
    }
    assert_eq!(
        pages(&mut over_files(root.path()), "a", 1).unwrap().len(),
        5
    );
}

/// Nothing has to be remembered: a backend that was started again goes on anywhere.
#[test]
fn every_page_can_be_read_by_itself() {
    let (root, _) = root_with(&mixed());
    let mut cursors = vec![0];
    for page in pages(&mut over_files(root.path()), "a", 1).unwrap() {
        cursors.extend(page.next);
    }
    let mut backend = over_files(root.path());
    for cursor in cursors.iter().rev() {
        for bytes_max in [1, 400, 1 << 20] {
            let page = backend.load("a", *cursor, bytes_max).unwrap();
            let fresh = over_files(root.path())
                .load("a", *cursor, bytes_max)
                .unwrap();
            assert_eq!(page, fresh);
        }
    }
    refused(backend.load("a", 7, 1), ErrorCode::Invalid, "cursor-stale");
    refused(
        backend.load("b", 0, 1),
        ErrorCode::NotFound,
        "session-not-found",
    );
}

/// What was noted of a log that another process changed since is not held against it.
#[test]
fn a_log_that_became_another_one_is_read_as_it_is() {
    let (root, _) = root_with(&mixed());
    let mut reader = over_files(root.path());
    let first = reader.load("a", 0, 1).unwrap();
    let mut other = over_files(root.path());
    let token = acquire(&mut other, "a");
    other.delete("a", &token).unwrap();
    // as long as before, but its first line stands for other events
    let row = crate::support::row(0);
    let again = Batch {
        first_seq: 0,
        count: 4,
        last_time_ms: 1003,
        lines: format!("{row}{}", crate::support::event(3)),
    };
    stored(&mut other, "a", &again);
    let whole = lines(&mut reader, "a").unwrap();
    assert_eq!(whole, again.lines);
    let _ = first;
    let next = reader.load("a", 0, 1).unwrap().next.unwrap();
    assert_eq!(
        reader.load("a", next, 1).unwrap().lines,
        crate::support::event(3)
    );
}

#[test]
fn many_sessions_are_read_side_by_side() {
    let mut backend = over_memory();
    let ids: Vec<String> = (0..100).map(|number| format!("s{number}")).collect();
    for id in &ids {
        stored(&mut backend, id, &batch(0, 3));
    }
    let mut cursors = vec![0; ids.len()];
    for seq in 0..3 {
        for (id, cursor) in ids.iter().zip(&mut cursors) {
            let page = backend.load(id, *cursor, 1).unwrap();
            assert_eq!(page.lines, crate::support::event(seq));
            *cursor = page.next.unwrap_or(0);
        }
    }
}
