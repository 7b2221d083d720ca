//! Cutting a bad end.

use std::fs;

use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, Page};

use crate::support::{Stand, batch, event, lines, pages, refused, row};

fn saved(stand: &mut Stand, bytes_max: u32) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut cursor = Some(0);
    while let Some(at) = cursor {
        let page = stand.backend.load_cut("s", at, bytes_max).unwrap();
        cursor = page.next;
        pages.push(page);
    }
    pages
}

#[test]
fn what_is_cut_is_saved_first_and_appends_go_on() {
    let bad: [&[u8]; 4] = [
        b"{\"torn",
        b"\xff\xff\n{}\n",
        b"\0\0\0",
        b"{oops\n{\"seq\":9}\n",
    ];
    for bad in bad {
        let mut stand = Stand::new();
        let token = stand.stored("s", 3);
        let good = stand.text("_no-cwd/s.jsonl");
        stand.write("_no-cwd/s.jsonl", [good.as_bytes(), bad].concat());
        stand.backend.truncate("s", &token, 3).unwrap();
        assert_eq!(stand.text("_no-cwd/s.jsonl"), good);
        let name = format!("_no-cwd/s.{}.torn", good.len());
        assert_eq!(stand.files(), [&name, "_no-cwd/s.jsonl"]);
        assert_eq!(fs::read(stand.path(&name)).unwrap(), bad);
        // nothing to drop
        stand.backend.truncate("s", &token, 3).unwrap();
        stand.backend.append("s", &token, &batch(3, 1)).unwrap();
        for bytes_max in [1, 2, 1000] {
            let pages = saved(&mut stand, bytes_max);
            assert_eq!(pages[0].at_byte, Some(good.len() as u64));
            let read: Vec<u8> = pages
                .into_iter()
                .flat_map(|page| page.raw.unwrap())
                .collect();
            assert_eq!(read, bad);
        }
    }
}

#[test]
fn the_same_cut_is_saved_once_and_another_beside_it() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let good = stand.text("_no-cwd/s.jsonl");
    for bad in ["one", "two", "one", "three"] {
        stand.write("_no-cwd/s.jsonl", format!("{good}{bad}"));
        stand.backend.truncate("s", &token, 1).unwrap();
    }
    let at = good.len();
    let expected = [
        format!("_no-cwd/s.{at}.1.torn"),
        format!("_no-cwd/s.{at}.2.torn"),
        format!("_no-cwd/s.{at}.torn"),
        "_no-cwd/s.jsonl".to_owned(),
    ];
    assert_eq!(stand.files(), expected);
    stand.backend.truncate("s", &token, 0).unwrap();
    let read: Vec<Vec<u8>> = saved(&mut stand, 1000)
        .into_iter()
        .map(|page| page.raw.unwrap())
        .collect();
    let expected = [
        event(0).into_bytes(),
        b"one".to_vec(),
        b"two".to_vec(),
        b"three".to_vec(),
    ];
    assert_eq!(read, expected);
    refused(
        stand.backend.load_cut("s", 9999, 9),
        ErrorCode::Invalid,
        "cursor-stale",
    );
}

#[test]
fn rows_are_kept_or_cut_whole() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 1);
    let good = stand.text("_no-cwd/s.jsonl");
    stand.write("_no-cwd/s.jsonl", format!("{good}{}{}", row(1), event(4)));
    for keep in [2, 3] {
        let result = stand.backend.truncate("s", &token, keep);
        refused(result, ErrorCode::Invalid, "truncate-splits-record");
    }
    let result = stand.backend.truncate("s", &token, 6);
    refused(result, ErrorCode::Invalid, "truncate-too-few-events");
    stand.backend.truncate("s", &token, 4).unwrap();
    assert_eq!(
        lines(&mut stand.backend, "s"),
        format!("{}{}", event(0), row(1))
    );
    stand.backend.truncate("s", &token, 1).unwrap();
    assert_eq!(stand.text("_no-cwd/s.jsonl"), good);
    refused(
        stand.backend.truncate("s", "7.x", 0),
        ErrorCode::Busy,
        "lease-lost",
    );
    refused(
        stand.backend.truncate("t", &token, 0),
        ErrorCode::NotFound,
        "session-not-found",
    );
}

#[test]
fn a_cursor_into_what_was_cut_is_refused() {
    let mut stand = Stand::new();
    let token = stand.stored("s", 4);
    let second = pages(&mut stand.backend, "s", 1)[1].next.unwrap();
    stand.backend.truncate("s", &token, 1).unwrap();
    refused(
        stand.backend.load("s", second, 9),
        ErrorCode::Invalid,
        "cursor-stale",
    );
    let page = stand.backend.load_cut("s", 0, 1 << 20).unwrap();
    assert_eq!(page.raw.unwrap(), batch(1, 3).lines.as_bytes());
    stand.stored("t", 1);
    let page = stand.backend.load_cut("t", 0, 9).unwrap();
    assert_eq!((page.raw, page.next), (None, None));
    refused(
        stand.backend.load_cut("u", 0, 9),
        ErrorCode::NotFound,
        "session-not-found",
    );
}
