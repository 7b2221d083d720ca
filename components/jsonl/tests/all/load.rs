//! Reading.

use std::rc::Rc;

use annals_sdk::Persistence;
use annals_sdk::types::ErrorCode;

use crate::support::{Fate, Faulty, Stand, backend, batch, event, pages, refused};

const HEAD: &str = "{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":42}\n";

#[test]
fn pages_of_any_size_hold_the_same_bytes() {
    let mut stand = Stand::new();
    let long = format!(
        "{{\"type\":\"x\",\"seq\":2,\"time\":1,\"data\":\"{}\"}}\n",
        "y".repeat(200_000)
    );
    let body = format!("{}{}{long}{}", event(0), event(1), event(3));
    let mut content = HEAD.as_bytes().to_vec();
    content.extend_from_slice(body.as_bytes());
    content.extend_from_slice(b"\xff\xfe\n\xe2\x82\n");
    content.extend_from_slice(event(4).as_bytes());
    content.extend_from_slice(b"{\"torn");
    stand.write("_no-cwd/s.jsonl", &content);
    for bytes_max in [0, 1, 60, 100, 200, 1000, 200_100, 1 << 20, u32::MAX] {
        let pages = pages(&mut stand.backend, "s", bytes_max);
        assert_eq!(pages[0].header.as_ref().unwrap().id, "s");
        let mut read = HEAD.as_bytes().to_vec();
        let mut raws = Vec::new();
        for page in &pages {
            assert_eq!(page.at_byte, Some(read.len() as u64));
            assert!(page.lines.is_empty() != page.raw.is_none(), "{page:?}");
            assert!(page.lines.is_empty() || page.lines.ends_with('\n'));
            let is_one = page.lines.matches('\n').count() == 1;
            assert!(page.lines.len() <= bytes_max.max(1) as usize || is_one);
            read.extend_from_slice(page.lines.as_bytes());
            read.extend_from_slice(page.raw.as_deref().unwrap_or_default());
            raws.extend(page.raw.clone().unwrap_or_default());
        }
        assert!(read == content, "{bytes_max}");
        assert_eq!(raws, b"\xff\xfe\n\xe2\x82\n{\"torn");
    }
}

/// The store asks for a MiB; what is longer is read in another way.
#[test]
fn pages_hold_the_same_bytes_at_the_length_of_usual_pages() {
    const USUAL: u32 = 1 << 20;
    let mut stand = Stand::new();
    let body: String = (0..60_000).map(event).collect();
    assert!(body.len() > 2 * USUAL as usize);
    stand.write("_no-cwd/s.jsonl", format!("{HEAD}{body}{{\"torn"));
    for bytes_max in [USUAL - 1, USUAL, USUAL + 1, 2 * USUAL] {
        let pages = pages(&mut stand.backend, "s", bytes_max);
        let (last, whole) = pages.split_last().unwrap();
        assert_eq!(last.raw.as_deref(), Some(&b"{\"torn"[..]));
        let is_full =
            |length: usize| length <= bytes_max as usize && length + 100 > bytes_max as usize;
        assert!(
            whole[..whole.len() - 1]
                .iter()
                .all(|page| is_full(page.lines.len()))
        );
        let read: String = whole.iter().map(|page| page.lines.as_str()).collect();
        assert!(read == body, "{bytes_max}");
    }
}

#[test]
fn what_is_no_header_is_raw() {
    let table: [(&[u8], &[u8]); 7] = [
        (b"", b""),
        (b"\n", b"\n"),
        (b"{oops\n{}\n", b"{oops\n"),
        (b"\xff\n{}\n", b"\xff\n"),
        (
            b"\xef\xbb\xbf{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":42}\n",
            b"",
        ),
        (
            b"{\"type\":\"session\",\"version\":1,\"id\":\"s\",\"createdAt\":42}\n",
            b"",
        ),
        (
            b"{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":42}",
            b"",
        ),
    ];
    for (content, raw) in table {
        let mut stand = Stand::new();
        stand.write("_no-cwd/s.jsonl", content);
        let page = stand.backend.load("s", 0, 1 << 20).unwrap();
        assert_eq!((page.header, page.lines.as_str()), (None, ""));
        let raw = if raw.is_empty() { content } else { raw };
        assert_eq!(page.raw.as_deref(), Some(raw));
        let rest = content.len() > raw.len();
        assert_eq!(page.next, rest.then_some(raw.len() as u64));
    }
}

#[test]
fn a_header_alone_is_a_page() {
    let mut stand = Stand::new();
    stand.stored("s", 0);
    let page = stand.backend.load("s", 0, 1).unwrap();
    assert_eq!((page.lines.as_str(), page.raw, page.next), ("", None, None));
    assert!(page.header.is_some());
}

#[test]
fn cursors_that_no_page_gave_are_refused() {
    let mut stand = Stand::new();
    stand.stored("s", 3);
    let end = stand.text("_no-cwd/s.jsonl").len() as u64;
    for cursor in [1, HEAD.len() as u64 + 1, end, end + 1, u64::MAX] {
        refused(
            stand.backend.load("s", cursor, 99),
            ErrorCode::Invalid,
            "cursor-stale",
        );
    }
    refused(
        stand.backend.load("t", 0, 99),
        ErrorCode::NotFound,
        "session-not-found",
    );
    refused(
        stand.backend.load("../s", 0, 99),
        ErrorCode::NotFound,
        "session-not-found",
    );
}

#[test]
fn a_log_that_names_another_session_is_found_by_its_place() {
    let mut stand = Stand::new();
    stand.write("_no-cwd/a.jsonl", HEAD);
    assert_eq!(
        stand.backend.load("a", 0, 99).unwrap().header.unwrap().id,
        "s"
    );
    assert!(!stand.backend.has("s").unwrap());
    let token = stand.acquire("s");
    stand
        .backend
        .create(&crate::support::header("s"), &token, &batch(0, 1))
        .unwrap();
    assert!(stand.backend.has("a").unwrap());
}

// Each line of a file in another encoding was a page of its own, and every page read a whole piece of the file.
#[test]
fn a_log_of_unreadable_lines_is_read_once() {
    let mut stand = Stand::new();
    stand.stored("s", 1);
    let good = stand.text("_no-cwd/s.jsonl");
    let bad = b"{\"caf\xe9\":1}\n".repeat(100_000);
    stand.write(
        "_no-cwd/s.jsonl",
        [good.as_bytes(), &bad[..], b"{}\n"].concat(),
    );
    let files = Rc::new(Faulty::new(u64::MAX, Fate::Fail));
    let bytes_read = Rc::clone(&files.bytes_read);
    let mut backend = backend(stand.root.path(), files, &[]);
    let pages = pages(&mut backend, "s", 64 << 10);
    let raw: Vec<u8> = pages
        .iter()
        .flat_map(|page| page.raw.clone().unwrap_or_default())
        .collect();
    assert_eq!(raw, bad);
    assert!(
        pages
            .iter()
            .all(|page| page.raw.is_none() || page.lines.is_empty())
    );
    assert_eq!(pages.last().unwrap().lines, "{}\n");
    assert!(
        bytes_read.get() < 2 * bad.len() as u64,
        "{}",
        bytes_read.get()
    );
}
