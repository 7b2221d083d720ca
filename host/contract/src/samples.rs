//! Headers, events and batches to store.

use annals_sdk::types::{Batch, SessionHeader, SessionSummary};

/// A holder, as hosts name themselves.
pub(crate) const HOLDER: &str =
    r#"{"host":"contract","pid":7,"since":1700000000000,"bootId":null,"note":"ä \"x\" {}"}"#;

/// A contender.
pub(crate) const OTHER: &str = r#"{"host":"elsewhere","pid":8}"#;

/// Time of the event with seq 0; each one after it is a millisecond later.
const TIME_MS: u64 = 1_700_000_000_000;

/// A header without optional members.
pub(crate) fn header(id: &str) -> SessionHeader {
    SessionHeader {
        version: 0,
        id: id.to_owned(),
        created_at_ms: TIME_MS,
        cwd: None,
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        extra: None,
    }
}

/// The header of a session in a working directory.
pub(crate) fn header_in(id: &str, cwd: &str) -> SessionHeader {
    SessionHeader {
        cwd: Some(cwd.to_owned()),
        ..header(id)
    }
}

/// Time of an event.
pub(crate) fn time_ms(seq: u64) -> u64 {
    TIME_MS + seq
}

/// The line of an event with these data, which are the text of a JSON value.
pub(crate) fn event(seq: u64, data: &str) -> String {
    let time_ms = time_ms(seq);
    format!("{{\"type\":\"contract/event\",\"seq\":{seq},\"time\":{time_ms},\"data\":{data}}}\n")
}

/// The row of so many streamed chunks, two at least.
pub(crate) fn row(seq: u64, count: u64) -> String {
    let steps = vec!["1"; usize::try_from(count).unwrap_or(2) - 1].join(",");
    let texts: Vec<String> = (0..count).map(|at| format!("\"{at}\"")).collect();
    format!(
        "{{\"type\":\"text-chunks\",\"seq0\":{seq},\"time0\":{},\"data\":{{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[{steps}],\"texts\":[{}]}}}}\n",
        time_ms(seq),
        texts.join(",")
    )
}

/// So many small events.
pub(crate) fn batch(first_seq: u64, count: u64) -> Batch {
    let line = |seq| event(seq, &format!("{{\"n\":{seq}}}"));
    batch_of(
        first_seq,
        count,
        (first_seq..first_seq + count).map(line).collect(),
    )
}

/// A batch of these lines, which stand for so many events.
pub(crate) fn batch_of(first_seq: u64, count: u64, lines: String) -> Batch {
    let last_time_ms = match count {
        0 => 0,
        _ => time_ms(first_seq + count - 1),
    };
    Batch {
        first_seq,
        count,
        last_time_ms,
        lines,
    }
}

/// A summary; none leaves a field alone.
pub(crate) fn summary(title: Option<&str>, first_prompt: Option<&str>) -> SessionSummary {
    SessionSummary {
        title: title.map(str::to_owned),
        first_prompt: first_prompt.map(str::to_owned),
    }
}
