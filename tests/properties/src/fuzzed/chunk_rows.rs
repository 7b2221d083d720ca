//! Packed rows: packing and expanding, the fast reader and the slow one, a packed log and its events.

use annals_core::chunk_rows::{RUN_EVENTS_MAX, RUN_EVENTS_MIN, Row, is_row, pack, unpack};
use annals_core::event::Envelope;
use annals_core::fault::Fault;
use annals_core::header::SAFE_INTEGER_MAX;
use annals_core::json::Value;
use annals_core::record::read_record;
use annals_core::session::Session;

use super::loading::{check_fault, seeded};
use super::views::Seen;
use super::{random, text};
use crate::random::Random;

/// Lines of an input that are looked at one by one.
const LINES_MAX: usize = 200;

/// What was packed expands to the same bytes, and packs to the same rows again; a row that the fast reader takes is the
/// row that the slow one reads; a packed log holds the events, the surface and the open turn of the expanded one.
pub fn chunk_rows(data: &[u8]) {
    let text = text(data);
    check_packing(&text);
    for line in text.split('\n').take(LINES_MAX) {
        check_row(line);
    }
    check_session(&text, &mut random(data));
}

fn check_packing(text: &str) {
    let whole = if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    };
    let events = unpack(text).inspect_err(check_fault);
    let packed = match pack(text) {
        Ok(packed) => packed,
        Err(fault) => {
            check_fault(&fault);
            let other = events.expect_err("what does not pack does not expand");
            assert!(other.number_of("line") <= fault.number_of("line"));
            return;
        }
    };
    assert!(packed.len() <= whole.len());
    assert_eq!(
        pack(&packed).as_ref(),
        Ok(&packed),
        "what is packed packs to itself"
    );
    let again = unpack(&packed);
    if !whole.split_terminator('\n').any(is_tagged) {
        assert_eq!(
            events.as_ref(),
            Ok(&whole),
            "a log without rows expands to itself"
        );
        assert_eq!(
            again.as_ref(),
            Ok(&whole),
            "what was packed expands to the same bytes"
        );
    }
    let comparable = |fault: Fault| (fault.reason, fault.message);
    assert_eq!(
        again.map_err(comparable),
        events.clone().map_err(comparable)
    );
    if let Ok(events) = events {
        let packed = pack(&events).expect("what was expanded packs");
        assert_eq!(unpack(&packed).as_ref(), Ok(&events));
    }
}

fn is_tagged(line: &str) -> bool {
    Envelope::read(line).is_ok_and(|envelope| is_row(&envelope))
}

fn check_row(line: &str) {
    let fast = Row::read_canonical(line);
    let slow = Value::parse(line).ok().map(Row::read);
    if let Some(fast) = &fast {
        let slow = slow
            .as_ref()
            .expect("a row is JSON")
            .as_ref()
            .expect("both read it");
        assert_eq!(facts(fast), facts(slow));
        assert!(is_tagged(line));
    }
    match slow {
        Some(Ok(row)) => check_expansion(line, &row),
        Some(Err(fault)) => check_fault(&fault),
        None => {}
    }
}

/// All that a row says.
fn facts(row: &Row<'_>) -> (u64, i64, u64, i64, i64, String) {
    let mut events = String::new();
    row.expand(&mut events);
    (
        row.seq0,
        row.time0_ms,
        row.count,
        row.last_time_ms,
        row.min_time_ms,
        events,
    )
}

fn check_expansion(line: &str, row: &Row<'_>) {
    let (.., events) = facts(row);
    let (mut last_ms, mut min_ms) = (row.time0_ms, row.time0_ms);
    assert_eq!(events.lines().count() as u64, row.count);
    for (seq, event) in (row.seq0..).zip(events.lines()) {
        let event = Envelope::read(event).expect("an expanded event is JSON");
        assert_eq!(event.seq.map(Value::text), Some(&*seq.to_string()));
        last_ms = event
            .time
            .and_then(Value::as_safe_integer)
            .expect("a safe time");
        min_ms = min_ms.min(last_ms);
        let member = |name| event.data.and_then(|data| data.get(name)).map(Value::text);
        assert_eq!(member("turn"), Some(row.turn().text()));
        assert_eq!(member("step"), Some(row.step().text()));
    }
    assert_eq!((last_ms, min_ms), (row.last_time_ms, row.min_time_ms));
    let record = read_record(line).expect("a row is a record");
    assert_eq!((record.first_seq, record.count), (row.seq0, row.count));
    assert!(record.is_row && !record.ends_turn);
    assert_eq!(record.last_time_ms, u64::try_from(last_ms).unwrap_or(0));
    // The arithmetic of doubles lets a last seq through that is one too large.
    if row.seq0 + row.count - 1 <= SAFE_INTEGER_MAX
        && (RUN_EVENTS_MIN..=RUN_EVENTS_MAX).contains(&(row.count as usize))
    {
        let packed = pack(&events).unwrap();
        let again = Row::read_canonical(packed.trim_end_matches('\n'))
            .expect("its events are one row again");
        assert_eq!(facts(&again), facts(row));
    }
    for bytes_max in [1, 150, 400] {
        assert_eq!(expand_in_parts(row, bytes_max), events);
    }
}

fn expand_in_parts(row: &Row<'_>, bytes_max: usize) -> String {
    let (mut events, mut skip) = (String::new(), 0);
    while skip < row.count {
        let mut part = String::new();
        row.expand_part(skip, bytes_max, &mut part);
        let count = part.lines().count() as u64;
        assert!(count > 0, "at least one event");
        skip += count;
        events.push_str(&part);
    }
    events
}

/// The events that `text` stands for are the same log, however they are packed.
fn check_session(text: &str, random: &mut Random) {
    let (Ok(events), Ok(packed)) = (unpack(text), pack(text)) else {
        return;
    };
    match (seeded(text), seeded(&events), seeded(&packed)) {
        (Ok(mut as_given), Ok(mut expanded), Ok(mut packed)) => {
            let derived = Seen::of(&mut expanded).derived;
            for session in [&mut as_given, &mut packed] {
                assert_eq!(session.next_seq(), expanded.next_seq());
                assert_eq!(session.last_time_ms(), expanded.last_time_ms());
                assert_eq!(Seen::of(session).derived, derived);
                assert_eq!(session.events(0, u32::MAX).unwrap().lines, events);
                assert_eq!(read_in_pages(session, 1 + random.below(600) as u32), events);
            }
        }
        (Err(_), Err(_), Err(_)) => {}
        (given, expanded, packed) => panic!(
            "as given {:?}, expanded {:?}, packed {:?}",
            given.map(|_| ()),
            expanded.map(|_| ()),
            packed.map(|_| ())
        ),
    }
}

fn read_in_pages(session: &Session, bytes_max: u32) -> String {
    let (mut events, mut next) = (String::new(), Some(0));
    while let Some(start) = next {
        let page = session.events(start, bytes_max).unwrap();
        assert!(
            page.next.is_none_or(|next| next > start),
            "a page makes progress"
        );
        events.push_str(&page.lines);
        next = page.next;
    }
    events
}
