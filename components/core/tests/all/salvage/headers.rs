//! Headers that are lost, broken, or there twice.

use annals_core::salvage::{HeaderOrigin, Salvage};

use super::{HEADER, event, events, lines, log, salvage, text};

#[test]
fn a_second_header_is_set_aside() {
    let salvaged = salvage(&log(&[event(0), HEADER.to_owned(), event(1)]));
    let found = lines(&salvaged);
    assert_eq!(found[..2], events(0..2));
    assert!(found[2].contains(&serde_json::to_string(HEADER).unwrap()));
}

#[test]
fn a_header_is_found_or_made_of_what_is_left() {
    let events_text = String::from_utf8(log(&events(0..2))).unwrap()[HEADER.len()..].to_owned();
    let salvaged = salvage(format!("\u{feff}{HEADER}{events_text}").as_bytes());
    assert_eq!(lines(&salvaged), events(0..2));
    assert_eq!(salvaged.session.header().line(), HEADER);
    assert_eq!(salvaged.report.header, HeaderOrigin::Kept);
    // fused with the first event
    let salvaged = salvage(format!("{HEADER}{}", &events_text[1..]).as_bytes());
    assert_eq!(lines(&salvaged), events(0..2));

    let torn = HEADER.replace("\"version\"", "\"vers\u{0}ion\"");
    let salvaged = salvage(format!("{torn}{events_text}").as_bytes());
    assert_eq!(lines(&salvaged), events(0..2));
    assert_eq!(salvaged.session.header().line(), HEADER);
    assert_eq!(salvaged.report.header, HeaderOrigin::Rebuilt);
    assert_eq!(
        salvaged.report.findings[0].reason.label(),
        "log-header-not-json"
    );

    let made = r#"{"type":"session","version":0,"id":"s","createdAt":100}"#;
    for first in ["not a header", "", "\0\0\0", "null", &HEADER[..10]] {
        let salvaged = salvage(format!("{first}{events_text}").as_bytes());
        assert_eq!(lines(&salvaged), events(0..2), "{first}");
        assert_eq!(salvaged.session.header().line(), made);
    }
    // lost altogether: the first line is an event
    let salvaged = salvage(&events_text.as_bytes()[1..]);
    assert_eq!(lines(&salvaged), events(0..2));
    // another id, another format
    let other = HEADER.replace("\"s\"", "\"t\"");
    let salvaged = salvage(format!("{other}{events_text}").as_bytes());
    assert_eq!(salvaged.session.header().line(), HEADER);
    assert_eq!(
        salvaged.report.findings[0].reason.label(),
        "header-id-mismatch"
    );
    for newer in [
        HEADER.replace(":0,", ":1,"),
        HEADER.replace(":0,", ":1,\u{1}"),
    ] {
        let fault = Salvage::of_session("s")
            .first_line(newer.as_bytes())
            .unwrap_err();
        assert_eq!(fault.reason.label(), "log-version-unsupported");
    }
}

#[test]
fn a_file_from_elsewhere_keeps_the_id_of_its_header() {
    for first in [HEADER.to_owned(), HEADER.replace("\"type\":", "\"type\"")] {
        let mut salvage = Salvage::of_file("fallback");
        salvage.first_line(format!("{first}\n").as_bytes()).unwrap();
        assert_eq!(salvage.finish().unwrap().session.header().id, "s");
    }
    let mut salvage = Salvage::of_file("fallback");
    salvage.first_line(b"x\n").unwrap();
    assert_eq!(salvage.finish().unwrap().session.header().id, "fallback");
}

/// kern-ai#300, CC#53821: an empty file, and one with nothing but its header.
#[test]
fn a_log_without_events_stays_one() {
    let salvaged = salvage(b"");
    assert_eq!(
        text(&salvaged),
        "{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":0}\n"
    );
    assert_eq!(salvaged.report.findings[0].reason.label(), "log-empty");
    let salvaged = salvage(&log(&[]));
    assert_eq!(text(&salvaged).as_bytes(), log(&[]));
    assert_eq!(salvaged.report.findings, []);
    assert_eq!(lines(&salvage(b"garbage\n")), [] as [&str; 0]);
}

/// A log that lost its header was refused or misnamed where the data of its first event had members that a header has.
#[test]
fn members_of_an_event_are_none_of_a_header() {
    let data = r#"{"type":"session","version":2,"id":"other","cwd":"/other","createdAt":1}"#;
    let event = event(0).replace(r#"{"n":0}"#, &format!(r#"{{"sources":[{data}]}}"#));
    let torn_header = &HEADER[..HEADER.len() - 1];
    for (first, id, time_ms, cwd) in [
        (event.clone(), "file", 100, None),
        (format!("\u{0}{event}"), "file", 100, None),
        (format!("{torn_header}{event}"), "s", 7, None),
        (format!("{torn_header},\u{0}{event}"), "s", 7, Some("/x")),
        (event.replace(data, &data[1..]), "file", 0, None),
    ] {
        let mut salvage = Salvage::of_file("file");
        salvage.first_line(format!("{first}\n").as_bytes()).unwrap();
        let salvaged = salvage.finish().unwrap();
        let header = salvaged.session.header();
        let found = (
            header.id.as_str(),
            header.created_at_ms,
            header.cwd.as_deref(),
        );
        assert_eq!(found, (id, time_ms, cwd), "{first}");
    }
}
