//! What a repair cut off, and what is whole.

use annals_core::load::{Loader, read_header};
use annals_core::salvage::Salvage;

use super::{event, events, lines, log, salvage, salvage_with_cuts, text};
use crate::vectors::fixtures;

#[test]
fn what_was_cut_goes_on_where_nothing_followed() {
    let kept = log(&events(0..3));
    let tail = format!("{{torn\n{}\n{}\n{{\"type", event(4), event(5));
    let salvaged = salvage_with_cuts(&kept, &[(kept.len() as u64, tail.as_bytes())]);
    let found = lines(&salvaged);
    assert_eq!(
        (&found[..3], &found[4..6]),
        (&events(0..3)[..], &events(4..6)[..])
    );
    assert!(
        found[3].contains(r#""line":1,"#) && found[3].contains(r#""cut":true"#),
        "{}",
        found[3]
    );
    assert_eq!(found.len(), 7);
}

#[test]
fn what_was_cut_before_the_log_went_on_is_set_aside() {
    let at = log(&events(0..3)).len() as u64;
    let kept = log(&events(0..6));
    let old = event(4).replace("\"n\"", "\"old\"");
    let tail = format!("{}\n{{torn\n{old}\n", event(3));
    let salvaged = salvage_with_cuts(&kept, &[(at, tail.as_bytes()), (at + 5, b"more")]);
    let found = lines(&salvaged);
    assert_eq!(found[..6], events(0..6));
    assert!(
        found[6].contains(&serde_json::to_string(&old).unwrap()),
        "{}",
        found[6]
    );
    // the event that the log has is not repeated
    assert_eq!((found.len(), salvaged.report.repeated), (7, 1));
    // one that would go on where the log went on is of another story
    let later = event(6).replace("\"n\"", "\"old\"");
    let tail = format!("{later}\n");
    let found = lines(&salvage_with_cuts(&kept, &[(at, tail.as_bytes())]));
    assert!(found[6].contains(&serde_json::to_string(&later).unwrap()));
    // of two cuts each is judged by its own place
    let next = format!("{}\n", event(6));
    let end = kept.len() as u64;
    let cuts = [(at, tail.as_bytes()), (end, next.as_bytes())];
    let found = lines(&salvage_with_cuts(&kept, &cuts));
    assert_eq!((&found[..7], found.len()), (&events(0..7)[..], 8));
    // the torn end of an ordinary crash changes nothing
    let salvaged = salvage_with_cuts(&kept, &[(at, b"{\"type\":\"plug")]);
    assert_eq!(text(&salvaged).as_bytes(), kept);
}

#[test]
fn an_open_turn_stays_open() {
    let start = r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}"#.to_owned();
    let salvaged = salvage(&log(&[start, "lost".into(), event(2)]));
    assert_eq!(lines(&salvaged).len(), 3);
    assert!(salvaged.session.has_open_turn());
}

#[test]
fn a_healthy_log_comes_out_as_it_is() {
    for path in fixtures()
        .into_iter()
        .flat_map(|path| std::fs::read_dir(path).unwrap())
    {
        let path = path.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let Ok(header) = read_header(&bytes[..end]) else {
            continue;
        };
        let mut loader = Loader::new(header.clone(), end as u64);
        loader.lines(std::str::from_utf8(&bytes[end..]).unwrap(), None);
        if !loader.finish().is_ok_and(|loaded| loaded.cut.is_none()) {
            continue;
        }
        let mut salvage = Salvage::of_session(&header.id);
        salvage.header(header, end as u64);
        salvage.log(&bytes[end..], None);
        let salvaged = salvage.finish().unwrap();
        assert_eq!(salvaged.report.findings, [], "{path:?}");
        assert_eq!(
            salvaged.session.stored_from(0).lines.as_bytes(),
            &bytes[end..],
            "{path:?}"
        );
    }
}
