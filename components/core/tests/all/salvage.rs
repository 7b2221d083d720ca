//! Each kind of damage, and what is recovered from it.

mod cuts;
mod garbage;
mod headers;
mod random;
mod rules;
mod seqs;

use annals_core::load::{Loader, read_header};
use annals_core::salvage::{Finding, Salvage, Salvaged};

pub const HEADER: &str = r#"{"type":"session","version":0,"id":"s","createdAt":7,"cwd":"/x"}"#;

/// A log-only event.
pub fn event(seq: u64) -> String {
    format!(
        r#"{{"type":"plugin/x","seq":{seq},"time":{},"data":{{"n":{seq}}}}}"#,
        100 + seq
    )
}

/// An event on the surface; `op` and sources as JSON.
pub fn message(seq: u64, op: &str, sources: &str) -> String {
    let sources = match sources {
        "" => String::new(),
        seqs => format!(r#","sourceEventSeqs":{seqs}"#),
    };
    format!(
        r#"{{"type":"user/message","seq":{seq},"time":9,"data":{{"content":"m{seq}"}}{sources},"surfaceOp":{op}}}"#
    )
}

pub fn log(lines: &[String]) -> Vec<u8> {
    let mut text = format!("{HEADER}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text.into_bytes()
}

pub fn events(seqs: std::ops::Range<u64>) -> Vec<String> {
    seqs.map(event).collect()
}

/// As a host hands a log over: the first line, then pages of a few bytes.
pub fn salvage_with_cuts(bytes: &[u8], cuts: &[(u64, &[u8])]) -> Salvaged {
    let mut salvage = Salvage::of_session("s");
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |end| end + 1);
    match read_header(&bytes[..end]) {
        Ok(header) => salvage.header(header, end as u64),
        Err(_) => salvage.first_line(&bytes[..end]).unwrap(),
    }
    let mut at = end;
    for page in bytes[end..].chunks(97) {
        salvage.log(page, Some(at as u64));
        at += page.len();
    }
    for (at, bytes) in cuts {
        let mut at = *at;
        for page in bytes.chunks(31) {
            salvage.cut(page, Some(at));
            at += page.len() as u64;
        }
    }
    salvage.finish().unwrap()
}

pub fn salvage(bytes: &[u8]) -> Salvaged {
    salvage_with_cuts(bytes, &[])
}

/// The whole log that comes out.
pub fn text(salvaged: &Salvaged) -> String {
    let session = &salvaged.session;
    format!(
        "{}\n{}",
        session.header().line(),
        session.stored_from(0).lines
    )
}

/// The lines of the events, after a check that the log opens, and that salvaging it again changes nothing.
pub fn lines(salvaged: &Salvaged) -> Vec<String> {
    let whole = text(salvaged);
    let (header, rest) = whole.split_once('\n').unwrap();
    let header_bytes = header.len() as u64 + 1;
    let mut loader = Loader::new(
        read_header(&whole.as_bytes()[..header.len() + 1]).unwrap(),
        header_bytes,
    );
    loader.lines(rest, None);
    let loaded = loader.finish().unwrap();
    assert_eq!(loaded.cut, None);
    assert_eq!(loaded.session.next_seq(), salvaged.session.next_seq());
    let again = salvage(whole.as_bytes());
    assert_eq!(text(&again), whole);
    assert_eq!(again.report.findings, []);
    assert_eq!((again.report.gaps, again.report.set_aside), (0, 0));
    rest.lines().map(str::to_owned).collect()
}

pub fn gap(seq: u64, time_ms: u64, data: &str) -> String {
    format!(r#"{{"type":"salvage/gap","seq":{seq},"time":{time_ms},"data":{{{data}}}}}"#)
}

pub fn places(findings: &[Finding]) -> Vec<(u64, u64, u64, &'static str, u64)> {
    let place = |finding: &Finding| {
        let Finding {
            line,
            byte,
            length,
            missing,
            ..
        } = *finding;
        (line, byte, length, finding.reason.label(), missing)
    };
    findings.iter().map(place).collect()
}

pub fn joined(parts: &[&[String]]) -> Vec<String> {
    parts.concat()
}
