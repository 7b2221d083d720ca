use annals_core::event::{Envelope, Event};
use annals_core::fault::Reason;
use annals_core::header::Header;
use annals_core::message::{message_of, prompt_text};
use annals_core::session::Session;
use serde_json::{Value, json};

use crate::scan::header;
use crate::vectors::{cases, label, lines, same};

fn event_of(line: &str) -> Event<'_> {
    Event::of(&Envelope::read(line).unwrap(), 0)
}

#[test]
fn derives_as_the_vectors_do() {
    for case in cases("derive-messages") {
        let (name, input, expect) = (&case["name"], &case["input"], &case["expect"]);
        let found = match case["op"].as_str().unwrap() {
            "derive_messages" => derive(&lines(&input["events"])),
            "derive_event_message" => {
                message_of(&event_of(&input["event"].to_string())).map(|message| {
                    message.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
                })
            }
            op => panic!("{name}: no runner for {op}"),
        };
        match found {
            Ok(found) => assert!(same(&found, &expect["ok"]), "{name}: {found}"),
            Err(fault) => assert_eq!(
                fault.reason.label(),
                label(&expect["error"]["kind"]),
                "{name}: {fault}"
            ),
        }
    }
}

fn derive(seed: &str) -> Result<Value, annals_core::fault::Fault> {
    let mut session = Session::from_seed(
        Header {
            id: "s".into(),
            ..Header::default()
        },
        seed,
    )?;
    let page = session.messages(0, u32::MAX)?;
    let messages: Vec<Value> = page
        .lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(messages.len(), page.total as usize);
    Ok(json!({
        "messages": messages,
        "nodes": session.surface().nodes().collect::<Vec<_>>(),
        "replaceGeneration": page.generation,
    }))
}

#[test]
fn content_keeps_its_bytes() {
    let line = r#"{"type":"user/message","data":{"content":[ {"text":"\u0041", "n":1.50} ],"source":{"kind":"user"}}}"#;
    let message = message_of(&event_of(line)).unwrap().unwrap();
    assert_eq!(
        message,
        r#"{"role":"user","content":[ {"text":"\u0041", "n":1.50} ]}"#
    );
}

#[test]
fn what_no_message_can_be_made_of_is_named() {
    for line in [
        r#"{"type":"user/message","data":null}"#,
        r#"{"type":"assistant/message","data":"x"}"#,
        r#"{"type":"assistant/message","data":{"content":null}}"#,
    ] {
        assert_eq!(
            message_of(&event_of(line)).unwrap_err().reason.label(),
            "message-invalid",
            "{line}"
        );
    }
}

#[test]
fn a_prompt_is_what_was_typed() {
    let cases = [
        (
            r#"{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}],"source":{"kind":"user"}}"#,
            Some("a\nb"),
        ),
        (
            r#"{"content":"ctx a","source":{"kind":"user"},"envelope":{"displayContent":[{"type":"text","text":"a"}]}}"#,
            Some("a"),
        ),
        (
            r#"{"content":"ctx","source":{"kind":"user"},"envelope":{"displayContent":null}}"#,
            Some("ctx"),
        ),
        (r#"{"content":"n","source":{"kind":"plugin"}}"#, None),
    ];
    for (data, expected) in cases {
        let line = format!(r#"{{"type":"user/message","data":{data}}}"#);
        assert_eq!(prompt_text(&event_of(&line)).as_deref(), expected, "{data}");
    }
}

/// One message that could not be shown once made every later look at the history fail.
#[test]
fn what_could_not_be_shown_is_refused_at_append() {
    for line in [
        r#"{"type":"user/message","data":null,"surfaceOp":"append"}"#,
        r#"{"type":"steering/message","data":null,"surfaceOp":"append"}"#,
        r#"{"type":"tool/result","data":null,"surfaceOp":"append"}"#,
        r#"{"type":"assistant/message","data":"x","surfaceOp":"append"}"#,
        r#"{"type":"assistant/message","data":{"provenance":{"provider":"p","model":"m"}},"surfaceOp":"append"}"#,
        r#"{"type":"assistant/message","data":{"content":null,"provenance":{"provider":"p","model":"m"}},"surfaceOp":"append"}"#,
    ] {
        let mut session = Session::new(header()).unwrap();
        let good = r#"{"type":"user/message","data":"x","surfaceOp":"append"}"#;
        let fault = session.append(&format!("{good}\n{line}"), 5).unwrap_err();
        assert_eq!(fault.number_of("line"), Some(2), "{line}");
        assert_eq!(fault.reason, Reason::AppendMessageInvalid, "{line}");
        assert_eq!(session.next_seq(), 0, "{line}");
        assert_eq!(session.messages(0, 100).unwrap().total, 0, "{line}");
        // nor may it take the place of one that could be
        session.append(good, 5).unwrap();
        let op = r#""sourceEventSeqs":[0],"surfaceOp":{"op":"replace","start":0,"end":0}"#;
        let replace = line.replace(r#""surfaceOp":"append""#, op);
        if !line.contains("tool/result") {
            let fault = session.append(&replace, 5).unwrap_err();
            assert_eq!(fault.reason, Reason::AppendMessageInvalid, "{replace}");
        }
    }
}

#[test]
fn what_shows_nothing_or_something_odd_is_appended_all_the_same() {
    let mut session = Session::new(header()).unwrap();
    for (data, total) in [
        (
            r#"{"content":[],"provenance":{"provider":"p","model":"m"}}"#,
            0,
        ),
        (
            r#"{"content":"","provenance":{"provider":"p","model":"m"}}"#,
            0,
        ),
        (
            r#"{"content":0,"provenance":{"provider":"p","model":"m"}}"#,
            1,
        ),
    ] {
        let line = format!(r#"{{"type":"assistant/message","data":{data},"surfaceOp":"append"}}"#);
        session.append(&line, 5).unwrap();
        assert_eq!(session.messages(0, 100).unwrap().total, total, "{line}");
    }
    // a log that somebody else wrote is taken as it is, and says what it cannot show
    let line = r#"{"type":"user/message","seq":0,"time":1,"data":null,"surfaceOp":"append"}"#;
    let mut session = Session::from_seed(header(), line).unwrap();
    let fault = session.messages(0, 100).unwrap_err();
    assert_eq!(fault.reason, Reason::MessageInvalid);
}
