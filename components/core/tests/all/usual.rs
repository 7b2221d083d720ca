//! Streamed deltas in their usual spelling are read on a way of their own: the rules are the same as on the other one.

use annals_core::fault::{Fault, Reason};
use annals_core::header::SAFE_INTEGER_MAX;
use annals_core::load::Loader;
use annals_core::session::Session;

use crate::scan::header;

const SEQS: [&str; 9] = [
    "0",
    "1",
    "-0",
    "-1",
    "00",
    "0.0",
    "0e0",
    "9007199254740992",
    "null",
];
const TIMES: [&str; 8] = [
    "5",
    "0",
    "-5",
    "05",
    "5e0",
    "9007199254740991",
    "9007199254740992",
    "\"5\"",
];
const TURNS: [&str; 6] = ["1", "-1", "1.5", "01", "1e400", "\"1\""];
const CHUNKS: [&str; 9] = [
    r#"{"type":"text-delta","index":0,"text":"a\n\ud800"}"#,
    r#"{"type":"reasoning-delta","index":0,"text":"å"}"#,
    r#"{"type":"tool-call-delta","index":0,"id":"c","name":"n","argumentsDelta":"{"}"#,
    r#"{"type":"tool-call-delta","index":0,"id":"c","argumentsDelta":"{"}"#,
    r#"{"type":"text-delta","index":0,"argumentsDelta":"a"}"#,
    r#"{"type":"text-delta","index":0,"text":"a","id":"c"}"#,
    r#"{"type":"text-delta","index":0,"text":"\u00zz"}"#,
    "{\"type\":\"text-delta\",\"index\":0,\"text\":\"\t\"}",
    r#"{"type":"usage","usage":{"totalTokens":-0}}"#,
];
const ENDS: [&str; 6] = [
    "}",
    r#","surfaceOp":"append"}"#,
    r#","surfaceOp":null}"#,
    r#","sourceEventSeqs":[0]}"#,
    r#","more":1}"#,
    "}}",
];

#[test]
fn a_delta_in_its_usual_spelling_holds_the_rules_of_every_event() {
    let (mut kept, mut refused) = (0, 0);
    for seq in SEQS {
        for time in TIMES {
            for turn in TURNS {
                for chunk in CHUNKS {
                    for end in ENDS {
                        let data = format!(r#"{{"turn":{turn},"step":2,"chunk":{chunk}}}"#);
                        let usual = format!(
                            r#"{{"type":"assistant/chunk","seq":{seq},"time":{time},"data":{data}{end}"#
                        );
                        let other = usual.replacen(':', ": ", 1);
                        let of_usual = taken(&usual);
                        assert_eq!(of_usual, taken(&other), "{usual}");
                        kept += u32::from(of_usual.starts_with("kept"));
                        refused += u32::from(!of_usual.starts_with("kept"));
                    }
                }
            }
        }
    }
    assert!(
        kept > 20 && refused > 1000,
        "{kept} kept, {refused} refused"
    );
}

#[test]
fn a_delta_to_append_in_its_usual_spelling_holds_the_rules_of_every_event() {
    for turn in TURNS {
        for chunk in CHUNKS {
            for end in ENDS {
                let data = format!(r#"{{"turn":{turn},"step":2,"chunk":{chunk}}}"#);
                let usual = format!(r#"{{"type":"assistant/chunk","data":{data}{end}"#);
                let other = usual.replacen(':', ": ", 1);
                for time_ms in [0, 5, SAFE_INTEGER_MAX, SAFE_INTEGER_MAX + 1] {
                    let of_usual = appended(&usual, time_ms);
                    assert_eq!(of_usual, appended(&other, time_ms), "{usual}");
                }
            }
        }
    }
}

/// What becomes of this one line when it is appended: the reason against it, or what is stored.
fn appended(line: &str, time_ms: u64) -> Result<(String, u64, u64, u64), Reason> {
    let mut session = Session::new(header()).unwrap();
    let appended = session.append(line, time_ms);
    let stored = session.stored_from(0).lines.into_owned();
    match appended {
        Ok(appended) => {
            assert_eq!(appended.lines, stored);
            assert_eq!(session.log().bytes(), stored.len());
            let (seq, time_ms) = (session.next_seq(), session.last_time_ms());
            Ok((stored, seq, time_ms, appended.last_time_ms))
        }
        Err(fault) => {
            assert_eq!((stored.as_str(), session.next_seq()), ("", 0));
            Err(fault.reason)
        }
    }
}

/// What becomes of a log of this one line, loaded and as a seed.
fn taken(line: &str) -> String {
    let mut loader = Loader::new(header(), 10);
    loader.lines(format!("{line}\n"), None);
    let loaded = loader.finish().map(|loaded| {
        let cut = loaded.cut.map(|cut| (cut.reason, cut.events));
        (stamps(&loaded.session), cut)
    });
    let seeded = Session::from_seed(header(), line).map(|session| stamps(&session));
    let is_kept = matches!(&loaded, Ok((_, None)));
    // where in the line something is wrong differs by the space
    let reason = |fault: Fault| fault.reason;
    format!(
        "{} {:?} {:?}",
        if is_kept { "kept" } else { "refused" },
        loaded.map_err(reason),
        seeded.map_err(reason)
    )
}

fn stamps(session: &Session) -> (u64, u64, usize) {
    (
        session.next_seq(),
        session.last_time_ms(),
        session.surface().node_count(),
    )
}
