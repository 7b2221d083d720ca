//! One line: read, judged as a seed, appended, read as a header.

use annals_core::chunk_rows::is_row;
use annals_core::event::{Envelope, Event, TURN_END, check_seed_line};
use annals_core::fault::Reason;
use annals_core::header::Header;
use annals_core::json::{self, Value};
use annals_core::load::read_header;
use annals_core::message::{is_message, message_of};
use annals_core::record::read_record;
use annals_core::sealed::SEALED_ROW;
use annals_core::session::Session;

use super::events::tree;
use super::loading::{check_fault, header, seeded};
use super::text;
use super::views::Seen;
use crate::json::Json;

/// Lines of an input that are looked at.
const LINES_MAX: usize = 60;
const NAMES: [&str; 6] = [
    "type",
    "seq",
    "time",
    "data",
    "surfaceOp",
    "sourceEventSeqs",
];

/// Members are read alike in one pass and one by one; a line is accepted as a seed exactly where the rules, looked up
/// in the tree of the event, say so; what append accepts is accepted as a seed, its parts as they were
/// given; what a seed accepts append accepts; a header line that is accepted is written and read back the same.
pub fn envelope(data: &[u8]) {
    for line in text(data).split('\n').take(LINES_MAX) {
        check_members(line);
        check_seed(line);
        check_append(line);
        check_header(line);
    }
}

fn parts<'a>(envelope: &Envelope<'a>) -> [Option<&'a str>; 6] {
    [
        envelope.event_type,
        envelope.seq,
        envelope.time,
        envelope.data,
        envelope.surface_op,
        envelope.source_event_seqs,
    ]
    .map(|value| value.map(Value::text))
}

fn check_members(line: &str) {
    let Ok(envelope) = Envelope::read(line) else {
        assert!(read_record(line).is_err());
        return;
    };
    let one_by_one = Envelope::of(envelope.value);
    assert_eq!(parts(&envelope), parts(&one_by_one));
    assert_eq!(
        parts(&envelope),
        NAMES.map(|name| envelope.value.get(name).map(Value::text))
    );
    let other = |envelope: &Envelope<'_>| envelope.other.map(|name| name.raw().to_owned());
    assert_eq!(other(&envelope), other(&one_by_one));
    assert_eq!(envelope.lossy.is_none(), json::check(line).is_ok());
    match read_record(line) {
        Err(fault) => check_fault(&fault),
        Ok(record) if record.is_row => {
            assert!(is_row(&envelope) || envelope.is_type(SEALED_ROW));
        }
        Ok(record) => {
            assert_eq!(Some(record.first_seq), envelope.seq.and_then(Value::as_seq));
            assert_eq!(
                (record.count, record.ends_turn),
                (1, envelope.is_type(TURN_END))
            );
        }
    }
    let message = message_of(&Event::of(&envelope, 0)).inspect_err(check_fault);
    assert_eq!(
        is_message(&Event::of(&envelope, 0)),
        message.clone().map(|message| message.is_some())
    );
    if let Ok(Some(message)) = message {
        assert!(
            Envelope::read(&message).is_ok(),
            "a message is JSON: {message}"
        );
    }
}

fn check_seed(line: &str) {
    let due = Envelope::read(line)
        .ok()
        .and_then(|envelope| envelope.seq?.as_seq())
        .unwrap_or(0);
    let judged = check_seed_line(line, due).inspect_err(check_fault);
    if let Some(holds_rules) = holds_rules(line, due) {
        assert_eq!(judged.is_ok(), holds_rules, "{judged:?}");
    }
    assert!(
        check_seed_line(line, due + 1)
            .inspect_err(check_fault)
            .is_err()
    );
    if let Ok(event) = judged {
        assert_eq!(event.seq, due);
        let value = Value::parse(line).expect("a seed is lossless JSON");
        assert_eq!(
            event.data.map(Value::text),
            value.get("data").map(Value::text)
        );
        assert_eq!(
            Some(event.time_ms),
            value.get("time").and_then(Value::as_seq)
        );
    }
}

/// Whether an event that is due to have seq `due` holds the rules of its envelope and of its data; none where it is
/// too deep for the model.
fn holds_rules(line: &str, due: u64) -> Option<bool> {
    let Ok(value) = Value::parse(line) else {
        return Some(false);
    };
    let event = tree(value)?;
    let is_known = event.members().iter().all(|(name, _)| {
        NAMES
            .iter()
            .any(|known| Json::Plain(name.clone()).says(known))
    });
    let (event_type, data) = (event.get("type"), event.get("data"));
    let is_typed = event_type.is_some_and(|event_type| {
        event_type.units().is_some() && !event_type.says("request/header-delta")
    });
    let is_due = event.get("seq").and_then(Json::count) == Some(due);
    let has_time = event.get("time").and_then(Json::count).is_some();
    let is_good = data.is_some_and(|data| data_holds_rules(event_type.unwrap_or(data), data));
    Some(matches!(event, Json::Object(..)) && is_known && is_typed && is_due && has_time && is_good)
}

fn data_holds_rules(event_type: &Json, data: &Json) -> bool {
    if !matches!(data, Json::Object(..)) {
        return true;
    }
    let says = |value: Option<&Json>, text: &str| value.is_some_and(|value| value.says(text));
    let names_provider_and_model = |value: Option<&Json>| {
        let is_named = |name: &str| {
            let units = value.and_then(|value| value.get(name)?.units());
            units.is_some_and(|units| !units.is_empty())
        };
        is_named("provider") && is_named("model")
    };
    if event_type.says("request/header") {
        let config = data.get("header").and_then(|header| header.get("config"));
        return names_provider_and_model(config) && !says(data.get("reason"), "fallback");
    }
    if event_type.says("assistant/message") {
        return names_provider_and_model(data.get("provenance"));
    }
    let reason = data.get("reason").filter(|_| event_type.says("turn/end"));
    let is_aborted = says(reason.and_then(|reason| reason.get("kind")), "aborted");
    !is_aborted || reason.is_none_or(|reason| reason.last_members().len() == 1)
}

fn check_append(line: &str) {
    let mut session = Session::new(header()).unwrap();
    let appended = session
        .append(&format!("{line}\n"), 7)
        .inspect_err(check_fault);
    let envelope = Envelope::read(line);
    match &appended {
        Err(_) => assert_eq!(
            (session.next_seq(), &*session.stored_from(0).lines),
            (0, "")
        ),
        Ok(appended) => {
            let stored = Envelope::read(&appended.lines).expect("what is stored is JSON");
            let draft = envelope.as_ref().expect("what was accepted is JSON");
            let [event_type, _, _, data, op, sources] = parts(draft);
            let time = draft.time.and_then(Value::as_seq).unwrap_or(7).to_string();
            assert_eq!(
                parts(&stored),
                [event_type, Some("0"), Some(&*time), data, op, sources]
            );
            let mut again =
                seeded(&appended.lines).expect("what was appended is accepted as a seed");
            assert_eq!(Seen::of(&mut again), Seen::of(&mut session));
        }
    }
    if let Ok(mut seed) = seeded(&format!("{line}\n"))
        && !envelope.is_ok_and(|envelope| is_row(&envelope))
    {
        match appended {
            Ok(_) => assert_eq!(Seen::of(&mut seed).derived, Seen::of(&mut session).derived),
            // What a seed may hold and append refuses is what makes the history fail, and nothing else.
            Err(fault) => {
                assert_eq!(fault.reason, Reason::AppendMessageInvalid);
                let history = seed.messages(0, u32::MAX);
                assert_eq!(history.unwrap_err().reason, Reason::MessageInvalid);
            }
        }
    }
}

fn check_header(line: &str) {
    let whole = read_header(format!("{line}\n").as_bytes()).inspect_err(check_fault);
    let parsed = Header::parse_line(line).inspect_err(check_fault);
    match parsed {
        Err(_) => assert!(whole.is_err()),
        Ok(header) => {
            assert_eq!(whole.as_ref(), Ok(&header));
            assert_eq!(header.check(), Ok(()));
            let written = header.line();
            assert!(!written.contains('\n'));
            let again = Header::parse_line(&written).expect("what is written is read");
            assert_eq!(again.line(), written);
            // Line breaks between further members become spaces.
            assert_eq!(
                Header {
                    extra: None,
                    ..again
                },
                Header {
                    extra: None,
                    ..header
                }
            );
        }
    }
}
