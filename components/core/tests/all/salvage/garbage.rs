//! Bytes that are no record: what is whole around them and between them is kept.

use super::{HEADER, event, events, gap, joined, lines, log, places, salvage};

/// CC#50347: of 100 lines the 40th was garbage, and the first 39 were shown as the whole session.
#[test]
fn a_garbage_line_in_the_middle_leaves_what_is_before_and_after_it() {
    let mut all = events(0..99);
    all[39] = "garb{age \"".to_owned();
    let bytes = log(&all);
    let salvaged = salvage(&bytes);
    let at = bytes.windows(4).position(|part| part == b"garb").unwrap() as u64;
    let data = format!(r#""reason":"log-corrupt-unparsable","line":41,"byte":{at},"length":11"#);
    let expected = joined(&[&events(0..39), &[gap(39, 138, &data)], &events(40..99)]);
    assert_eq!(lines(&salvaged), expected);
    assert_eq!(
        places(&salvaged.report.findings),
        [(41, at, 11, "log-corrupt-unparsable", 1)]
    );
    assert_eq!((salvaged.report.in_place, salvaged.report.gaps), (98, 1));
}

/// CC#52387: the stub of one record and a whole one stood on one line, and the whole one was lost with it.
#[test]
fn a_stub_fused_with_a_whole_record_gives_the_whole_one() {
    let whole = r#"{"type":"turn/end","seq":2,"time":5,"data":{"turn":1}}"#;
    for stub in [
        r#"{"type":"assi"#,
        r#"{"type":"assistant/message","seq":2,"data":{"content":[{"type":"text","text":"x{y"#,
        r#"{"#,
        r#"{"a":{}"#,
    ] {
        let bytes = log(&joined(&[
            &events(0..2),
            &[format!("{stub}{whole}")],
            &events(3..5),
        ]));
        let salvaged = salvage(&bytes);
        let expected = joined(&[&events(0..2), &[whole.to_owned()], &events(3..5)]);
        assert_eq!(lines(&salvaged), expected, "{stub}");
        let byte = (HEADER.len() + 1 + events(0..2).join("\n").len() + 1) as u64;
        let place = (4, byte, stub.len() as u64, "log-corrupt-unparsable", 0);
        assert_eq!(places(&salvaged.report.findings), [place]);
    }
}

#[test]
fn two_whole_records_on_one_line_are_two() {
    let line = format!("{}{}", event(0), event(1));
    let salvaged = salvage(&log(&[line, event(2)]));
    assert_eq!(lines(&salvaged), events(0..3));
    let finding = &salvaged.report.findings[0];
    assert_eq!(
        (finding.line, finding.message.as_str()),
        (2, "several records stand on one line")
    );
}

#[test]
fn a_whole_record_before_a_stub_is_kept() {
    let bytes = log(&[event(0), format!("{}{{\"type\":\"plug", event(1)), event(3)]);
    let found = lines(&salvage(&bytes));
    assert_eq!((&found[..2], &found[3]), (&events(0..2)[..], &event(3)));
}

/// A block that was never written comes back from a power loss as zeros.
#[test]
fn zeros_take_only_what_they_cover() {
    let whole = log(&events(0..30));
    for start in (HEADER.len() + 1..whole.len() - 300).step_by(13) {
        let mut bytes = whole.clone();
        bytes[start..start + 200].fill(0);
        let found = lines(&salvage(&bytes));
        let damaged: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        for event in events(0..30) {
            let is_left = damaged.contains(&event.as_bytes());
            assert!(!is_left || found.contains(&event), "{event}");
        }
        assert_eq!(found.len(), 30);
    }
    let zeros = vec!["\0".repeat(4096) + &event(1)];
    let salvaged = salvage(&log(&joined(&[&events(0..1), &zeros, &events(2..3)])));
    assert_eq!(lines(&salvaged), events(0..3));
    assert_eq!(
        salvaged.report.findings[0].message,
        "this is nothing but zeros"
    );
    assert_eq!(salvaged.report.unreadable_bytes, 4096);
}

/// A log that ends in zeros must not look as if it had ended there.
#[test]
fn a_lost_end_leaves_one_mark() {
    for end in ["\0\0\0\0", "{\"type\":\"turn/st", "x\ny\n\nz\n", "\u{fffd}"] {
        let mut bytes = log(&events(0..3));
        bytes.extend(end.as_bytes());
        let found = lines(&salvage(&bytes));
        assert_eq!(
            (found.len(), &found[..3]),
            (4, &events(0..3)[..]),
            "{end:?}"
        );
        assert!(
            found[3].starts_with(r#"{"type":"salvage/gap","seq":3,"time":102,"#),
            "{}",
            found[3]
        );
    }
}

/// CX#28139: blank lines at the end, and line ends of another system.
#[test]
fn blank_lines_and_carriage_returns_lose_nothing() {
    let text = String::from_utf8(log(&events(0..3))).unwrap();
    let salvaged = salvage(format!("{text}\n \r\n\t\n").as_bytes());
    assert_eq!(lines(&salvaged), events(0..3));
    assert_eq!(salvaged.report.findings.len(), 1);
    let salvaged = salvage(text.replace('\n', "\r\n").as_bytes());
    assert_eq!(salvaged.report.findings, []);
    assert_eq!(salvaged.report.in_place, 3);
    assert_eq!(
        text.replace('\n', "\r\n")
            .lines()
            .skip(1)
            .collect::<Vec<_>>(),
        events(0..3)
    );
}

#[test]
fn a_last_event_without_its_newline_is_whole() {
    let mut bytes = log(&events(0..3));
    bytes.pop();
    let salvaged = salvage(&bytes);
    assert_eq!(lines(&salvaged), events(0..3));
    assert_eq!(
        salvaged.report.findings[0].message,
        "the last line has no newline"
    );
}

/// CPC#2649: a raw newline inside a JSON string makes two bad lines of an event.
#[test]
fn a_raw_newline_inside_a_string_costs_that_event_only() {
    let mut all = events(0..4);
    all[1] = all[1].replace("\"n\":1", "\"n\":\"a\nb\"");
    let salvaged = salvage(&log(&all));
    let found = lines(&salvaged);
    assert_eq!((&found[0], &found[2..]), (&event(0), &events(2..4)[..]));
    assert_eq!(places(&salvaged.report.findings)[0].0, 3);
    assert_eq!(salvaged.report.gaps, 1);
}

#[test]
fn invalid_utf_8_costs_what_it_is_in() {
    let mut bytes = log(&events(0..4));
    let at = bytes
        .windows(7)
        .position(|part| part == b"\"seq\":2")
        .unwrap();
    bytes[at + 1] = 0xff;
    let salvaged = salvage(&bytes);
    let found = lines(&salvaged);
    assert_eq!((&found[..2], &found[3]), (&events(0..2)[..], &event(3)));
    // between records it costs nothing
    let mut bytes = log(&events(0..1));
    bytes.extend(b"\xff\xfe");
    bytes.extend(event(1).as_bytes());
    bytes.extend(b"\xc3\n");
    bytes.extend(event(2).as_bytes());
    bytes.push(b'\n');
    assert_eq!(lines(&salvage(&bytes)), events(0..3));
}
