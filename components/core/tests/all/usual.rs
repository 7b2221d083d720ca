//! Streamed deltas in their usual spelling are read on a way of their own: the rules are the same as on the other one.

use annals_core::fault::Fault;
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

/// What becomes of a log of this one line, loaded and as a seed.
fn taken(line: &str) -> String {
    let mut loader = Loader::new(header(), 10);
    loader.lines(&format!("{line}\n"), None);
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
