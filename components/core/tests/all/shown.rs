//! Text from outside in messages and facts.

use annals_core::fault::{Fact, Fault, SHOWN_CHARS_MAX, quoted, shown};
use annals_core::header::{Header, check_header};
use annals_core::json;
use annals_core::load::Loader;
use annals_core::session::Session;
use annals_core::surface::fold_surface;
use annals_core::trace::check_trace;

const MESSAGE_CHARS_MAX: usize = 2 * SHOWN_CHARS_MAX + 200;

fn is_short(fault: &Fault) -> bool {
    let facts = fault.facts.iter().all(|(_, fact)| match fact {
        Fact::Number(_) => true,
        Fact::Text(text) => text.chars().count() <= SHOWN_CHARS_MAX + 1,
    });
    facts && fault.message.chars().count() <= MESSAGE_CHARS_MAX && !fault.message.contains('\n')
}

#[test]
fn a_text_is_cut_at_its_limit() {
    let limit = "é".repeat(SHOWN_CHARS_MAX);
    assert_eq!(shown(&limit), limit);
    assert_eq!(shown(&format!("{limit}é")), format!("{limit}…"));
    assert_eq!(quoted("a\n\"b"), r#""a\n\"b""#);
}

// 200,000 opening brackets on stdin printed an error of 400 KB, the path of the innermost one.
#[test]
fn a_path_into_deep_json_is_cut() {
    for text in ["[".repeat(200_000), "{\"a\":".repeat(200_000)] {
        let fault = json::check(&text).unwrap_err();
        assert!(fault.path.chars().count() <= SHOWN_CHARS_MAX + 1);
        assert!(fault.to_string().len() < MESSAGE_CHARS_MAX);
    }
}

#[test]
fn what_an_event_says_is_cut_and_stays_on_one_line() {
    let long = "x\\n".repeat(100_000);
    let deep = format!("{}-0{}", "[".repeat(100_000), "]".repeat(100_000));
    let lines = [
        format!(r#"{{"type":"{long}"}}"#),
        format!(r#"{{"type":"{long}","data":-0}}"#),
        format!(r#"{{"type":"{long}","data":1,"surfaceOp":"append"}}"#),
        format!(r#"{{"type":"{long}","data":1,"{long}":1}}"#),
        format!(r#"{{"type":"x","data":{deep}}}"#),
        format!(r#"{{"type":"user/message","data":1,"surfaceOp":"{long}"}}"#),
        format!(r#"{{"type":{{"{long}":1}},"data":1}}"#),
        format!(r#"{{"{long}":"#),
    ];
    let header = r#"{"type":"session","version":0,"id":"s","createdAt":0}"#;
    for line in lines {
        let header = Header::parse_line(header).unwrap();
        let mut session = Session::new(header).unwrap();
        let fault = session.append(&format!("{line}\n"), 0).unwrap_err();
        assert!(is_short(&fault), "{:.300} {fault:?}", line);
        let header = session.header().clone();
        let event = line.replacen("\"data\"", "\"seq\":0,\"time\":0,\"data\"", 1);
        if let Err(fault) = Session::from_seed(header, &format!("{event}\n")) {
            assert!(is_short(&fault), "{:.300} {fault:?}", line);
        }
    }
}

#[test]
fn what_a_header_says_is_cut() {
    let long = "x\\n".repeat(100_000);
    let rest = r#""type":"session","createdAt":0"#;
    for header in [
        format!(r#"{{{rest},"version":0,"id":"{long}"}}"#),
        format!(r#"{{{rest},"version":"{long}","id":"s"}}"#),
        format!(r#"{{{rest},"version":0,"id":"s","cwd":"{long}"}}"#),
        format!(r#"{{{rest},"version":0,"id":"s","{long}":-0}}"#),
    ] {
        for fault in [
            Header::parse_line(&header).err(),
            annals_core::header::check_header(
                json::Value::parse(&header).unwrap_or_else(|_| json::Value::parse("1").unwrap()),
                "s",
            )
            .err(),
        ] {
            assert!(
                fault.is_none_or(|fault| is_short(&fault)),
                "{:.300}",
                header
            );
        }
    }
}

// Fuzzing: a seq of 5,000 characters was quoted whole, and whitespace inside a value broke the line.
#[test]
fn what_a_member_holds_is_cut_and_stays_on_one_line() {
    for value in [format!("\"{}\"", "x".repeat(5000)), "[1,\r2]".to_owned()] {
        let event = format!(r#"{{"type":"x","seq":{value},"time":0,"data":{{}}}}"#);
        let mut loader = Loader::new(Header::default(), 0);
        loader.lines(format!("{event}\n{{\"type\":\"turn/end\"}}\n"), None);
        let turn = r#"{"type":"turn/start","seq":0,"time":0,"data":{"turn":@}}"#;
        let header =
            format!(r#"{{"type":"session","version":{value},"id":{value},"createdAt":{value}}}"#);
        let header = json::Value::parse(&header).unwrap();
        let text = r#"{"version":0,"id":@}"#.replace('@', &value);
        for fault in [
            loader.finish().err(),
            fold_surface(&event).err(),
            check_trace(&turn.replace('@', &value)).err(),
            check_header(header, "s").err(),
            check_header(json::Value::parse(&text).unwrap(), "s").err(),
        ] {
            let fault = fault.unwrap();
            assert!(
                is_short(&fault) && !fault.message.contains('\r'),
                "{fault:?}"
            );
        }
    }
}
