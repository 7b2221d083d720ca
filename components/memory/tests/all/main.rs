//! The contract of interface `persistence`, function by function, on the reference backend.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use annals_memory::Memory;
use annals_sdk::types::{
    Batch, Error, ErrorCode, Eviction, EvictionReason, SessionHeader, SessionSummary,
};
use annals_sdk::{Persistence, Result};

fn configured() -> Memory {
    let mut memory = Memory::default();
    memory.configure(&[]).unwrap();
    memory
}

fn header(id: &str) -> SessionHeader {
    SessionHeader {
        version: 0,
        id: id.to_owned(),
        created_at_ms: 1,
        cwd: None,
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        extra: None,
    }
}

fn event(seq: u64) -> String {
    format!(
        "{{\"type\":\"plugin/x\",\"seq\":{seq},\"time\":{},\"data\":{{}}}}\n",
        100 + seq
    )
}

fn events(first_seq: u64, count: u64) -> Batch {
    let last_time_ms = if count == 0 {
        0
    } else {
        99 + first_seq + count
    };
    let lines = (first_seq..first_seq + count).map(event).collect();
    Batch {
        first_seq,
        count,
        last_time_ms,
        lines,
    }
}

/// A stored session of that many events, and its token.
fn stored(memory: &mut Memory, id: &str, count: u64) -> String {
    let token = memory.acquire(Some(id), "{\"pid\":7}", None).unwrap();
    memory
        .create(&header(id), &token, &events(0, count))
        .unwrap();
    token
}

fn label<T>(result: Result<T>) -> String {
    let Error { code, reason, .. } = result.err().unwrap();
    let code = format!("{code:?}");
    format!("{} {reason}", code.trim_start_matches("ErrorCode::"))
}

#[test]
fn nothing_works_before_configure() {
    let mut memory = Memory::default();
    assert_eq!(label(memory.has("a")), "NotConfigured not-configured");
    assert_eq!(
        label(memory.acquire(None, "{}", None)),
        "NotConfigured not-configured"
    );
    for (name, value) in [("root", "/r"), ("pack-chunks", "maybe")] {
        let error = memory
            .configure(&[(name.into(), value.into())])
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid);
        assert!(error.message.contains(name), "{}", error.message);
    }
    assert!(
        memory
            .configure(&[("pack-chunks".into(), "true".into())])
            .unwrap()
            .wants_packed
    );
    assert!(!memory.has("a").unwrap());
}

#[test]
fn a_batch_begins_at_the_next_seq() {
    let mut memory = configured();
    let token = memory.acquire(Some("a"), "{}", None).unwrap();
    assert_eq!(
        label(memory.append("a", &token, &events(0, 1))),
        "NotFound session-not-found"
    );
    assert_eq!(
        label(memory.create(&header("a"), &token, &events(1, 1))),
        "SeqConflict append-seq-mismatch"
    );
    assert!(!memory.has("a").unwrap());
    memory.create(&header("a"), &token, &events(0, 2)).unwrap();
    assert_eq!(
        label(memory.create(&header("a"), &token, &events(0, 1))),
        "AlreadyExists session-already-exists"
    );
    for first_seq in [0, 1, 3] {
        let error = memory
            .append("a", &token, &events(first_seq, 1))
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::SeqConflict);
        assert_eq!(
            error.detail,
            format!("{{\"id\":\"a\",\"expected\":2,\"actual\":{first_seq}}}")
        );
    }
    memory.append("a", &token, &events(2, 3)).unwrap();
    memory.append("a", &token, &events(5, 0)).unwrap();
    assert_eq!(
        memory.load("a", 0, u32::MAX).unwrap().lines,
        events(0, 5).lines
    );
}

#[test]
fn pages_hold_whole_records_and_lead_to_the_end() {
    let mut memory = configured();
    stored(&mut memory, "a", 9);
    let line = event(0).len() as u32;
    for bytes_max in [0, 1, line - 1, line, line + 1, 3 * line, u32::MAX] {
        let (mut lines, mut cursor) = (String::new(), Some(0));
        while let Some(at) = cursor {
            let page = memory.load("a", at, bytes_max).unwrap();
            assert_eq!(page.header.is_some(), at == 0);
            assert!(page.lines.ends_with('\n'));
            assert!(page.lines.len() as u32 <= bytes_max.max(line));
            assert!(page.next.is_none_or(|next| next > at));
            lines.push_str(&page.lines);
            cursor = page.next;
        }
        assert_eq!(lines, events(0, 9).lines);
    }
    assert_eq!(label(memory.load("a", 1, 1)), "Invalid cursor-invalid");
    assert_eq!(label(memory.load("zz", 0, 1)), "NotFound session-not-found");
    stored(&mut memory, "empty", 0);
    let page = memory.load("empty", 0, 1).unwrap();
    assert_eq!((page.lines.as_str(), page.next), ("", None));
}

#[test]
fn truncate_keeps_what_it_cuts_and_splits_no_row() {
    let mut memory = configured();
    let row = concat!(
        r#"{"type":"text-chunks","seq0":2,"time0":102,"#,
        r#""data":{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c"]}}"#,
        "\n"
    );
    let token = memory.acquire(Some("a"), "{}", None).unwrap();
    let lines = format!("{}{row}{}", events(0, 2).lines, event(5));
    let batch = Batch {
        first_seq: 0,
        count: 6,
        last_time_ms: 105,
        lines: lines.clone(),
    };
    memory.create(&header("a"), &token, &batch).unwrap();
    let stale = memory.load("a", 0, 1).unwrap().next.unwrap();
    for keep in [3, 4, 7] {
        assert_eq!(
            label(memory.truncate("a", &token, keep)),
            "Invalid truncate-not-a-border"
        );
    }
    memory.truncate("a", &token, 6).unwrap();
    assert!(memory.load_cut("a", 0, 9).unwrap().raw.is_none());
    memory.load("a", stale, 1).unwrap();
    memory.truncate("a", &token, 5).unwrap();
    memory.truncate("a", &token, 1).unwrap();
    assert_eq!(label(memory.load("a", stale, 1)), "Invalid cursor-invalid");
    let mut cut = Vec::new();
    let mut cursor = Some(0);
    while let Some(at) = cursor {
        let page = memory.load_cut("a", at, 10).unwrap();
        cut.extend(page.raw.unwrap());
        cursor = page.next;
    }
    assert_eq!(
        String::from_utf8(cut).unwrap(),
        format!("{}{}{row}", event(5), event(1))
    );
    assert_eq!(
        memory.list(None, 1).unwrap().sessions[0].updated_at_ms,
        Some(100)
    );
    memory.append("a", &token, &events(1, 1)).unwrap();
}

#[test]
fn listings_are_bytewise_and_survive_changes() {
    let mut memory = configured();
    for id in ["b", "B", "é", "a/../b", "Z"] {
        stored(&mut memory, id, 1);
    }
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let listing = memory.list(cursor.as_deref(), 2).unwrap();
        ids.extend(listing.sessions.into_iter().map(|entry| entry.id));
        let Some(next) = listing.next else { break };
        if ids.len() == 2 {
            let token = memory.acquire(Some("x"), "{}", None).unwrap();
            memory.create(&header("x"), &token, &events(0, 0)).unwrap();
        }
        cursor = Some(next);
    }
    assert_eq!(ids, ["B", "Z", "a/../b", "b", "x", "é"]);
    assert_eq!(memory.list(None, 0).unwrap().sessions.len(), 1);
    assert_eq!(label(memory.list(Some("b"), 1)), "Invalid cursor-invalid");
}

#[test]
fn one_token_writes_at_a_time() {
    let mut memory = configured();
    let first = stored(&mut memory, "a", 1);
    let error = memory.acquire(Some("a"), "{}", None).unwrap_err();
    memory.renew(Some("a"), &first).unwrap();
    assert_eq!(error.code, ErrorCode::Busy);
    assert_eq!(
        error.detail,
        format!("{{\"holder\":{{\"pid\":7}},\"token\":\"{first}\",\"renewals\":0}}")
    );
    let evict = |token: &str| Eviction {
        token: token.to_owned(),
        why: EvictionReason::Gone,
    };
    assert!(memory.acquire(Some("a"), "{}", Some(&evict("0"))).is_err());
    let second = memory
        .acquire(Some("a"), "{}", Some(&evict(&first)))
        .unwrap();
    assert_ne!(first, second);
    assert!(
        memory
            .acquire(Some("a"), "{}", Some(&evict(&first)))
            .is_err()
    );
    for result in [
        memory.renew(Some("a"), &first),
        memory.append("a", &first, &events(1, 1)),
        memory.truncate("a", &first, 0),
        memory.delete("a", &first),
        memory.create(&header("a"), &first, &events(0, 1)),
    ] {
        assert_eq!(label(result), "Busy lease-held");
    }
    memory.release(Some("a"), &first).unwrap();
    memory.append("a", &second, &events(1, 1)).unwrap();
    memory.release(Some("a"), &second).unwrap();
    assert_eq!(
        label(memory.append("a", &second, &events(2, 1))),
        "Busy lease-lost"
    );
}

#[test]
fn delete_takes_everything_with_it() {
    let mut memory = configured();
    let token = stored(&mut memory, "a", 2);
    let stale = memory.load("a", 0, 1).unwrap().next.unwrap();
    memory.truncate("a", &token, 1).unwrap();
    memory.delete("a", &token).unwrap();
    assert!(!memory.has("a").unwrap());
    let token = stored(&mut memory, "a", 2);
    assert!(memory.load_cut("a", 0, 9).unwrap().raw.is_none());
    assert_eq!(label(memory.load("a", stale, 1)), "Invalid cursor-invalid");
    memory.delete("a", &token).unwrap();
    let token = memory.acquire(Some("a"), "{}", None).unwrap();
    assert_eq!(
        label(memory.delete("a", &token)),
        "NotFound session-not-found"
    );
}

#[test]
fn a_summary_changes_field_by_field() {
    let mut memory = configured();
    stored(&mut memory, "a", 1);
    let summary = |title: Option<&str>, prompt: Option<&str>| SessionSummary {
        title: title.map(str::to_owned),
        first_prompt: prompt.map(str::to_owned),
    };
    for (change, expected) in [
        (summary(Some("t"), None), summary(Some("t"), None)),
        (summary(None, Some("p")), summary(Some("t"), Some("p"))),
        (summary(Some(""), None), summary(None, Some("p"))),
    ] {
        memory.update("a", &change).unwrap();
        assert_eq!(memory.list(None, 1).unwrap().sessions[0].summary, expected);
    }
    assert_eq!(
        label(memory.update("zz", &summary(None, None))),
        "NotFound session-not-found"
    );
}

// PI#8843: one event with 100 MB of base64. The limit leaves room for it, and the store may count on it.
#[test]
fn an_event_of_a_hundred_megabytes_is_stored() {
    let mut memory = Memory::default();
    let info = memory.configure(&[]).unwrap();
    assert_eq!(info.record_bytes_max, 256 << 20);
    let token = stored(&mut memory, "s", 0);
    let line = event(0).replace("{}", &format!("\"{}\"", "A".repeat(100 << 20)));
    let long = Batch {
        lines: line.clone(),
        ..events(0, 1)
    };
    memory.append("s", &token, &long).unwrap();
    assert!(memory.load("s", 0, 1).unwrap().lines == line);
    let torn = Batch {
        lines: event(1).trim_end().to_owned(),
        ..events(1, 1)
    };
    assert_eq!(
        label(memory.append("s", &token, &torn)),
        "Invalid batch-invalid"
    );
}
