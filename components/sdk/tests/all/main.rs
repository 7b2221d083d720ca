//! What backends are helped with, at its edges. That it makes backends that keep the contract is shown by the
//! contract's own tests.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use annals_sdk::types::{ErrorCode, Page, SessionEntry, SessionStatus, SessionSummary};
use annals_sdk::{listing, log};

const HEADER: &str = "{\"type\":\"session\",\"version\":0,\"id\":\"a\",\"createdAt\":1}\n";

fn event(seq: u64) -> String {
    format!(
        "{{\"type\":\"x\",\"seq\":{seq},\"time\":{},\"data\":0}}\n",
        100 + seq
    )
}

fn row(seq: u64) -> String {
    format!(
        "{{\"type\":\"text-chunks\",\"seq0\":{seq},\"time0\":{},\"data\":{{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[1,1],\"texts\":[\"a\",\"b\",\"c\"]}}}}\n",
        100 + seq
    )
}

fn pages(log: &[u8], bytes_max: u32) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut cursor = Some(0);
    while let Some(at) = cursor {
        let page = log::page("a", log, at, bytes_max).unwrap();
        assert!(page.next.is_none_or(|next| next > at));
        cursor = page.next;
        pages.push(page);
    }
    pages
}

#[test]
fn pages_separate_lines_from_what_is_none() {
    let bad: &[u8] = b"\xff\n";
    let torn: &[u8] = b"{\"type\":\"\xc3";
    let log = [
        HEADER.as_bytes(),
        event(0).as_bytes(),
        bad,
        event(2).as_bytes(),
        torn,
    ]
    .concat();
    for bytes_max in [0, 1, 40, 45, 60, 1000, u32::MAX] {
        let pages = pages(&log, bytes_max);
        let records: Vec<(&str, Option<&[u8]>)> = pages
            .iter()
            .map(|page| (page.lines.as_str(), page.raw.as_deref()))
            .collect();
        let due = [
            (event(0), None),
            (String::new(), Some(bad)),
            (event(2), None),
            (String::new(), Some(torn)),
        ];
        let due: Vec<_> = due
            .iter()
            .map(|(lines, raw)| (lines.as_str(), *raw))
            .collect();
        assert_eq!(records, due);
        assert!(pages[0].header.is_some() && pages[1].header.is_none());
        assert_eq!(pages[0].at_byte, Some(HEADER.len() as u64));
    }
    for cursor in [1, HEADER.len() as u64 + 1, log.len() as u64, u64::MAX] {
        let error = log::page("a", &log, cursor, 9).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid);
    }
}

#[test]
fn what_is_no_header_comes_raw() {
    let newer = HEADER.replace("\"version\":0", "\"version\":1");
    let records = event(0);
    for (header, status) in [
        ("\n", SessionStatus::Damaged),
        ("{}\n", SessionStatus::Damaged),
        (newer.as_str(), SessionStatus::Unsupported),
    ] {
        let log = format!("{header}{records}");
        let pages = pages(log.as_bytes(), 9);
        assert_eq!(pages[0].raw.as_deref(), Some(header.as_bytes()));
        assert_eq!(
            (pages[0].header.is_none(), pages[1].lines.as_str()),
            (true, records.as_str())
        );
        let entry = log::entry("a", log.as_bytes(), SessionSummary::default());
        assert_eq!((entry.id.as_str(), entry.status), ("a", status));
    }
    let empty = pages(b"", 9);
    assert_eq!((empty.len(), &empty[0].raw), (1, &None));
    let torn = pages(b"{\"type\":\"ses", 9);
    assert_eq!(torn[0].raw.as_deref(), Some(&b"{\"type\":\"ses"[..]));
}

#[test]
fn the_next_seq_is_behind_the_last_record() {
    let whole = |records: &str| log::next_seq("a", format!("{HEADER}{records}").as_bytes());
    assert_eq!(whole("").unwrap(), 0);
    assert_eq!(whole(&event(0)).unwrap(), 1);
    assert_eq!(whole(&row(7)).unwrap(), 10);
    for (log, reason) in [
        ("", "log-empty"),
        (HEADER.trim_end(), "log-torn"),
        ("{}\n", "log-header-invalid"),
    ] {
        let error = log::next_seq("a", log.as_bytes()).unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (ErrorCode::Corrupt, reason)
        );
    }
    for records in ["x\n", "{}\n", "\n", "{\"seq\":0}"] {
        assert_eq!(
            whole(records).unwrap_err().code,
            ErrorCode::Corrupt,
            "{records}"
        );
    }
}

#[test]
fn a_log_is_split_between_records_only() {
    let log = [
        HEADER.to_owned(),
        event(0),
        row(1),
        event(4),
        "torn".to_owned(),
    ]
    .concat();
    for keep_events in [0, 1, 4, 5] {
        let (kept, dropped) = log::split("a", log.as_bytes(), keep_events).unwrap();
        assert_eq!(kept.len() + dropped.len(), log.len());
        assert_eq!(log::next_seq("a", kept).unwrap(), keep_events);
    }
    for keep_events in [2, 3, 6, u64::MAX] {
        let error = log::split("a", log.as_bytes(), keep_events).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid);
    }
    // seqs that do not follow each other are not kept
    let gap = [HEADER.to_owned(), event(0), event(2)].concat();
    assert!(log::split("a", gap.as_bytes(), 1).is_ok());
    assert!(log::split("a", gap.as_bytes(), 2).is_err());
    assert_eq!(
        log::split("a", b"x\n", 0).unwrap_err().code,
        ErrorCode::Corrupt
    );
}

#[test]
fn an_entry_is_named_by_its_header_or_its_place() {
    let log = format!("{HEADER}{}", event(3));
    let entry = log::entry("a", log.as_bytes(), SessionSummary::default());
    assert_eq!(
        (entry.status, entry.updated_at_ms),
        (SessionStatus::Ok, Some(103))
    );
    let moved = log::entry("~0042", log.as_bytes(), SessionSummary::default());
    assert_eq!(
        (moved.id.as_str(), moved.status),
        ("B", SessionStatus::Damaged)
    );
    let torn = log::entry("a", format!("{log}x").as_bytes(), SessionSummary::default());
    assert_eq!(
        (torn.status, torn.updated_at_ms),
        (SessionStatus::Damaged, None)
    );
}

#[test]
fn cut_bytes_come_in_pieces() {
    for (cursor, bytes_max, raw, next) in [
        (0, 0, "c", Some(1)),
        (1, 2, "ut", Some(3)),
        (3, 9, "s", None),
    ] {
        let page = log::cut_page("a", b"cuts", cursor, bytes_max).unwrap();
        assert_eq!(
            (page.raw.as_deref(), page.next),
            (Some(raw.as_bytes()), next)
        );
    }
    assert_eq!(log::cut_page("a", b"", 0, 9).unwrap().raw, None);
    for cursor in [4, 5, u64::MAX] {
        assert!(log::cut_page("a", b"cuts", cursor, 9).is_err());
    }
}

#[test]
fn a_listing_skips_what_went_away() {
    let entry = |name: &str| {
        let entry: SessionEntry = log::entry(name, b"", SessionSummary::default());
        (name != "b").then_some(entry)
    };
    let list = |cursor: Option<&str>, count_max| {
        let listing = listing::piece(["a", "b", "c", "d"], cursor, count_max, entry).unwrap();
        let ids: Vec<String> = listing.sessions.into_iter().map(|entry| entry.id).collect();
        (ids.concat(), listing.next)
    };
    assert_eq!(list(None, 2), ("ac".to_owned(), Some("after:c".to_owned())));
    assert_eq!(list(Some("after:c"), 2), ("d".to_owned(), None));
    assert_eq!(list(None, 0), ("a".to_owned(), Some("after:a".to_owned())));
    assert_eq!(list(Some("after:zz"), 1), (String::new(), None));
    for cursor in ["", "c"] {
        assert!(listing::piece(["a"], Some(cursor), 1, entry).is_err());
    }
}

#[test]
fn a_summary_is_kept_as_json() {
    let summary = SessionSummary {
        title: Some("a \"t\"\n\u{2028}".to_owned()),
        first_prompt: None,
    };
    assert_eq!(
        SessionSummary::from_json(summary.to_json().as_bytes()),
        summary
    );
    for unreadable in ["", "[]", "{\"title\":1}", "\u{0}"] {
        let none = SessionSummary::default();
        assert_eq!(SessionSummary::from_json(unreadable.as_bytes()), none);
    }
}
