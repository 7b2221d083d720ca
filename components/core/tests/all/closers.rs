use annals_core::closers::closers;
use annals_core::fault::Fact;
use annals_core::header::Header;
use annals_core::session::Session;
use serde_json::Value;

use crate::vectors::{cases, label, lines, same};

#[test]
fn closes_as_the_vectors_do() {
    for case in cases("interrupted-closers") {
        let (name, expect) = (&case["name"], &case["expect"]["ok"]);
        let events = lines(&case["input"]["events"]);
        let text = closers(&events).unwrap();
        let found = Value::Array(
            text.lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
        );
        assert!(same(&found, &expect["closers"]), "{name}: {found}");
        let header = Header {
            id: "s".into(),
            ..Header::default()
        };
        match Session::from_seed(header.clone(), &format!("{events}{text}")) {
            Ok(balanced) => {
                assert_eq!(
                    expect["balanced_log_accepted_as_seed"],
                    Value::Bool(true),
                    "{name}"
                );
                assert_eq!(balanced.closers(), "", "{name}");
                let mut session = Session::from_seed(header, &events).unwrap();
                assert_eq!(session.has_open_turn(), !text.is_empty(), "{name}");
                assert_eq!(session.closers(), text, "{name}");
                assert_eq!(session.close_turn().unwrap().lines, text, "{name}");
                assert!(!session.has_open_turn(), "{name}");
            }
            Err(fault) => {
                let kind = &expect["balanced_log_accepted_as_seed"]["error"]["kind"];
                assert_eq!(fault.reason.label(), label(kind), "{name}: {fault}");
            }
        }
    }
}

#[test]
fn a_line_that_is_no_event_is_named() {
    let good = r#"{"type":"x","seq":0,"time":0,"data":0}"#;
    for bad in ["{", r#"{"type":"x"}"#] {
        let fault = closers(&format!("{good}\n{bad}\n")).unwrap_err();
        assert!(fault.facts.contains(&("line", Fact::Number(2))), "{fault}");
    }
}
