//! What repairs cut off.

use std::fs;

use annals_sdk::Persistence;
use annals_sdk::types::ErrorCode;

use crate::support::{
    acquire, batch, event, files, header, lines_of, mixed, over_files, over_memory, refused,
    rewrite, root_with, stored, with_other_key,
};

fn cut<P: Persistence>(backend: &mut P, bytes_max: u32) -> (Vec<u8>, Vec<Option<u64>>) {
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    let mut next = Some(0);
    while let Some(cursor) = next {
        let page = backend.load_cut("a", cursor, bytes_max).unwrap();
        assert!(page.next.is_none_or(|next| next > cursor));
        assert!(page.lines.is_empty() && page.header.is_none());
        bytes.extend(page.raw.unwrap_or_default());
        places.push(page.at_byte);
        next = page.next;
    }
    (bytes, places)
}

#[test]
fn what_was_cut_comes_opened_in_pages_of_any_length() {
    let (root, _) = root_with(&mixed());
    let mut backend = over_files(root.path());
    assert_eq!(cut(&mut backend, 1000).0, b"");
    let token = acquire(&mut backend, "a");
    backend.truncate("a", &token, 2).unwrap();
    let expected: String = mixed().lines.split_inclusive('\n').skip(2).collect();
    for bytes_max in [1, 7, 150, 300, 1 << 20] {
        let (bytes, _) = cut(&mut backend, bytes_max);
        assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{bytes_max}");
    }
    let mut backend = over_memory();
    let token = acquire(&mut backend, "a");
    backend.create(&header("a"), &token, &mixed()).unwrap();
    backend.truncate("a", &token, 2).unwrap();
    for bytes_max in [1, 150, 1 << 20] {
        let (bytes, _) = cut(&mut backend, bytes_max);
        assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{bytes_max}");
    }
}

/// Torn bytes are what they are, each cut by itself, and each is placed where it was in the opened log.
#[test]
fn cuts_are_placed_in_the_opened_log() {
    let (root, log) = root_with(&mixed());
    let head = over_files(root.path());
    drop(head);
    rewrite(&log, |lines| lines[5].truncate(33));
    let mut backend = over_files(root.path());
    let token = acquire(&mut backend, "a");
    backend.truncate("a", &token, 6).unwrap();
    backend.append("a", &token, &batch(6, 2)).unwrap();
    rewrite(&log, |lines| lines[6].truncate(44));
    let mut backend = over_files(root.path());
    backend.truncate("a", &token, 7).unwrap();
    let header_bytes = annals_core::header::Header::from(header("a")).line().len() + 1;
    let ends: Vec<usize> = mixed()
        .lines
        .split_inclusive('\n')
        .scan(header_bytes, |at, line| {
            *at += line.len();
            Some(*at)
        })
        .collect();
    let (bytes, places) = cut(&mut backend, 1 << 20);
    assert_eq!(bytes.len(), 33 + 44);
    let whole = ends[4] as u64;
    assert_eq!(places, [Some(ends[3] as u64), Some(whole)]);
    assert_eq!(lines_of(&log).len(), 6);
    let _ = event(0);
}

#[test]
fn a_cut_record_that_does_not_open_is_not_handed_on() {
    let (root, _) = root_with(&mixed());
    let mut backend = over_files(root.path());
    let token = acquire(&mut backend, "a");
    backend.truncate("a", &token, 2).unwrap();
    for bytes_max in [1, 1 << 20] {
        refused(
            with_other_key(root.path()).load_cut("a", 0, bytes_max),
            ErrorCode::Corrupt,
            "sealed-record-unopened",
        );
    }
    let torn = files(root.path())
        .into_keys()
        .find(|path| path.extension().is_some_and(|end| end == "torn"));
    let torn = torn.unwrap();
    let text = fs::read_to_string(&torn).unwrap();
    fs::write(&torn, text.replace("\"seq\":5", "\"seq\":4")).unwrap();
    let error = refused(
        over_files(root.path()).load_cut("a", 0, 1 << 20),
        ErrorCode::Corrupt,
        "sealed-record-unopened",
    );
    assert!(error.detail.contains("\"seq\":4"), "{}", error.detail);
}

// The second of two cuts in one page was held against the end of the first one.
#[test]
fn cuts_in_one_page_begin_where_they_were_made() {
    let mut backend = over_memory();
    stored(&mut backend, "a", &batch(0, 5));
    let token = acquire(&mut backend, "a");
    backend.truncate("a", &token, 2).unwrap();
    backend.append("a", &token, &batch(2, 2)).unwrap();
    backend.truncate("a", &token, 3).unwrap();
    let (bytes, _) = cut(&mut backend, 1 << 20);
    let both = format!("{}{}", batch(2, 3).lines, batch(3, 1).lines);
    assert_eq!(bytes, both.into_bytes());
}
