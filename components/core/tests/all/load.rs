use annals_core::closers::closers;
use annals_core::header::Header;
use annals_core::load::{Loaded, Loader, read_header};
use serde_json::Value;

use crate::vectors::{base64, cases, label, same};

/// Takes a file in as a backend would hand it over.
fn load(bytes: &[u8]) -> Result<Loaded, annals_core::fault::Fault> {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let header_bytes = end.map_or(bytes.len(), |end| end + 1);
    let header = read_header(&bytes[..header_bytes])?;
    let mut loader = Loader::new(header, header_bytes as u64);
    for line in bytes[header_bytes..].split_inclusive(|byte| *byte == b'\n') {
        match std::str::from_utf8(line) {
            Ok(text) if text.ends_with('\n') => loader.lines(text, None),
            _ => loader.raw(line, None),
        }
    }
    loader.finish()
}

/// The same, all whole lines in one page.
fn load_page(bytes: &[u8]) -> Result<Loaded, annals_core::fault::Fault> {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let header_bytes = end.map_or(bytes.len(), |end| end + 1);
    let header = read_header(&bytes[..header_bytes])?;
    let mut loader = Loader::new(header, header_bytes as u64);
    let rest = &bytes[header_bytes..];
    let whole = rest.iter().rposition(|byte| *byte == b'\n');
    let (page, torn) = rest.split_at(whole.map_or(0, |end| end + 1));
    match std::str::from_utf8(page) {
        Ok(lines) => loader.lines(lines, None),
        Err(_) => loader.raw(page, None),
    }
    if !torn.is_empty() {
        loader.raw(torn, None);
    }
    loader.finish()
}

fn bytes_of(input: &Value) -> Vec<u8> {
    match input["utf8"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => base64(input["base64"].as_str().unwrap()),
    }
}

#[test]
fn loads_as_the_vectors_do() {
    for case in cases("jsonl-load") {
        let (name, july_26) = (&case["name"], &case["expect"]["july_26"]);
        let bytes = bytes_of(&case["input"]);
        let accepted = &case["expect"]["accepted_as_seed"];
        let facts = |loaded: Result<Loaded, annals_core::fault::Fault>| {
            let loaded = loaded.map_err(|fault| (fault.reason, fault.facts))?;
            let stored = loaded.session.stored_from(0).lines.into_owned();
            Ok::<_, (_, _)>((loaded.cut, stored))
        };
        assert_eq!(facts(load(&bytes)), facts(load_page(&bytes)), "{name}");
        match load(&bytes) {
            Ok(Loaded { session, cut }) => {
                if july_26["error"]["kind"] == "host_type_error" {
                    // A null line at the end may be taken as torn.
                    continue;
                }
                let kept = cut.as_ref().map_or(bytes.len() as u64, |cut| cut.byte);
                assert_eq!(
                    july_26["preserved_events"].as_u64(),
                    Some(session.next_seq()),
                    "{name}: {july_26}"
                );
                assert_eq!(july_26["committed_bytes"].as_u64(), Some(kept), "{name}");
                if let Some(cut) = cut {
                    assert_eq!(cut.byte + cut.bytes, bytes.len() as u64, "{name}");
                    assert_eq!(cut.keep_events, session.next_seq(), "{name}");
                }
                let found = session.closers();
                let found = Value::Array(
                    found
                        .lines()
                        .map(|line| serde_json::from_str(line).unwrap())
                        .collect(),
                );
                assert!(same(&found, &july_26["closers"]), "{name}: {found}");
                if july_26["events"].is_array() {
                    let events = session.events(0, u32::MAX).unwrap().lines;
                    let events = Value::Array(
                        events
                            .lines()
                            .map(|line| serde_json::from_str(line).unwrap())
                            .collect(),
                    );
                    assert!(same(&events, &july_26["events"]), "{name}: {events}");
                    assert_eq!(
                        closers(&session.events(0, u32::MAX).unwrap().lines).unwrap(),
                        session.closers()
                    );
                }
            }
            Err(fault) => {
                let kinds = [
                    &july_26["error"]["kind"],
                    &accepted["error"]["kind"],
                    &case["expect"]["error"]["kind"],
                ];
                let is_expected = kinds
                    .iter()
                    .any(|kind| kind.is_string() && label(kind) == fault.reason.label())
                    || kinds.iter().any(|kind| *kind == "host_type_error");
                assert!(is_expected, "{name}: {fault} ({})", fault.reason.label());
                // The file layer comes first: what it takes must be refused for a rule of seeds.
                if july_26["error"].is_null() {
                    let is_version = fault.reason.label() == "log-version-unsupported";
                    assert!(
                        is_version || accepted["error"].is_object(),
                        "{name}: {fault}"
                    );
                }
            }
        }
    }
}

const HEADER: &str = "{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":1}\n";
const TURN: &str = "{\"type\":\"turn/start\",\"seq\":0,\"time\":1,\"data\":{\"turn\":1}}\n\
                    {\"type\":\"turn/end\",\"seq\":1,\"time\":2,\"data\":{\"turn\":1}}\n";

#[test]
fn a_cut_counts_what_could_be_read() {
    let tail = "{bad\n{\"type\":\"plugin/x\",\"seq\":2,\"time\":3,\"data\":{}}\n\
                {\"type\":\"text-chunks\",\"seq0\":3,\"time0\":1,\"data\":{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[1,1],\"texts\":[\"a\",\"b\",\"c\"]}}\n{\"type\":";
    let loaded = load(format!("{HEADER}{TURN}{tail}").as_bytes()).unwrap();
    let cut = loaded.cut.unwrap();
    assert_eq!((cut.keep_events, cut.events, cut.line), (2, 4, 4));
    assert_eq!(
        (cut.byte, cut.bytes),
        ((HEADER.len() + TURN.len()) as u64, tail.len() as u64)
    );
    assert_eq!(cut.reason.label(), "log-corrupt-unparsable");
}

#[test]
fn damage_says_where() {
    let text = format!("{HEADER}{{bad\n{TURN}");
    let fault = load(text.as_bytes()).unwrap_err();
    assert_eq!(fault.reason.label(), "log-corrupt-unparsable");
    assert_eq!(
        (fault.number_of("line"), fault.number_of("byte")),
        (Some(2), Some(HEADER.len() as u64))
    );
}

#[test]
fn the_end_of_a_turn_with_bad_bytes_in_it_was_still_finished() {
    let mut bytes = format!("{HEADER}{TURN}").into_bytes();
    bytes.extend_from_slice(b"{\"type\":\"turn/end\",\"seq\":2,\"time\":2,\"data\":\"\xff\"}\n");
    assert_eq!(
        load(&bytes).unwrap_err().reason.label(),
        "log-corrupt-unparsable"
    );
}

#[test]
fn a_torn_line_may_come_in_pieces() {
    let header = Header::parse_line(HEADER.trim_end()).unwrap();
    let mut loader = Loader::new(header, HEADER.len() as u64);
    loader.lines(TURN, None);
    // Were the second piece a line for itself, it would be the end of a turn and the log damaged.
    loader.raw(b"{\"type\":\"plugin/x\",", None);
    loader.raw(TURN.lines().last().unwrap().as_bytes(), None);
    let cut = loader.finish().unwrap().cut.unwrap();
    assert_eq!((cut.line, cut.events), (4, 0));
}

#[test]
fn a_broken_rule_is_refused_and_never_cut() {
    let tail = "{\"type\":\"plugin/x\",\"seq\":2,\"time\":3,\"data\":{\"a\":-0}}\n";
    let fault = load(format!("{HEADER}{TURN}{tail}").as_bytes()).unwrap_err();
    assert_eq!(fault.reason.label(), "seed-not-json");
    assert_eq!(fault.number_of("line"), Some(4));
}

// A backend said that its lines begin at the end of all numbers.
#[test]
fn a_place_that_a_backend_made_up_is_no_trap() {
    let mut loader = Loader::new(
        Header {
            id: "s".into(),
            ..Header::default()
        },
        0,
    );
    loader.lines("oops\n", Some(u64::MAX));
    loader.raw(b"oops", Some(u64::MAX - 1));
    let cut = loader.finish().unwrap().cut.unwrap();
    assert_eq!((cut.keep_events, cut.events), (0, 0));
}
