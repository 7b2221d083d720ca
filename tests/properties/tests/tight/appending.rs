//! Appending to a session.

use annals_core::fault::Reason;
use annals_core::header::Header;
use annals_core::session::Session;

use crate::{alone, with_memory};

/// What every call may take without being asked: messages, small structures.
const FLOOR: usize = 64 << 10;
const STEP: usize = 500 << 10;

/// One that shows two messages, one of them in the place of another.
fn session() -> Session {
    let header = Header {
        id: "s".into(),
        ..Header::default()
    };
    let mut session = Session::new(header).unwrap();
    session
        .append(r#"{"type":"turn/start","data":{"turn":1}}"#, 1)
        .unwrap();
    session.append(&message("one"), 1).unwrap();
    session.append(&message("two"), 1).unwrap();
    let op = r#"{"op":"replace","start":1,"end":1},"sourceEventSeqs":[1]}"#;
    let replaced = message("1").replace(r#""append"}"#, op);
    session.append(&replaced, 1).unwrap();
    session
}

fn message(text: &str) -> String {
    format!(
        r#"{{"type":"user/message","data":{{"content":[{{"type":"text","text":"{text}"}}],"source":{{"kind":"user"}}}},"surfaceOp":"append"}}"#
    )
}

/// Everything that a session shows.
fn shown(session: &mut Session) -> String {
    format!(
        "{} {:?} {:?} {:?} {:?} {:?} {:?}",
        session.next_seq(),
        session.events(0, u32::MAX).unwrap(),
        session.surface().nodes().collect::<Vec<u64>>(),
        session.surface().generation(),
        session.messages(0, u32::MAX).unwrap(),
        session.request_header(),
        session.last_time_ms(),
    )
}

// The copy of the events that an append hands back was not asked for: where the log had room and the copy had not, the
// call ended by a trap.
#[test]
fn an_append_is_refused_as_a_whole() {
    let _alone = alone();
    let header = r#"{"type":"request/header","data":{"reason":"initial","header":{"config":{"provider":"p","model":"m"}}}}"#;
    let many: String = (0..10_000).map(|_| message("hi") + "\n").collect();
    let long = message(&"a".repeat(3 << 20));
    let rewritten: String = (0..5_000)
        .map(|at| {
            let seq = 2 * at + 4;
            let op = format!(
                r#"{{"op":"replace","start":{seq},"end":{seq}}},"sourceEventSeqs":[{seq}]}}"#
            );
            let hi = message("hi");
            format!("{hi}\n{}\n", hi.replace(r#""append"}"#, &op))
        })
        .collect();
    let mixed = format!("{header}\n{}\n{}\n{long}\n", message("one"), message("two"));
    for lines in [many, long, rewritten, mixed] {
        for is_strict in [false, true] {
            let (mut bytes, mut refused) = (FLOOR, 0);
            loop {
                let mut session = session();
                if is_strict {
                    session.demand_trace().unwrap();
                }
                let before = shown(&mut session);
                match with_memory(bytes, || session.append(&lines, 2)) {
                    Ok(appended) => {
                        assert_eq!(appended.lines, session.events(4, u32::MAX).unwrap().lines);
                        break;
                    }
                    Err(fault) => {
                        assert_eq!(fault.reason, Reason::LimitReached, "{bytes}: {fault:?}");
                        assert_eq!(shown(&mut session), before, "{bytes}");
                        // and it goes on
                        session.append(&message("small"), 2).unwrap();
                    }
                }
                refused += 1;
                bytes += STEP;
            }
            println!(
                "{} bytes: taken with {bytes}, refused {refused} times",
                lines.len()
            );
            assert!(refused > lines.len() / STEP, "{refused}");
        }
    }
}
