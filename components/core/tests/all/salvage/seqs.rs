//! Seqs that are missing, repeat, go back or are damaged.

use annals_core::salvage::VANISHED_EVENTS;

use super::{HEADER, event, events, gap, joined, lines, log, places, salvage};

/// DSH desktop #97: seqs ..., 66057, 66054, 66055, ... in the middle of a log.
#[test]
fn seqs_that_go_back_set_the_later_ones_aside() {
    let back: Vec<String> = (6..9)
        .map(|seq| event(seq).replace("\"n\"", "\"again\""))
        .collect();
    let salvaged = salvage(&log(&joined(&[&events(0..10), &back, &events(10..12)])));
    let found = lines(&salvaged);
    assert_eq!(found[..12], events(0..12));
    for (line, back) in found[12..].iter().zip(&back) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["type"], "salvage/set-aside");
        assert_eq!(value["data"]["line"], back.as_str());
        assert_eq!(value["data"]["reason"], "log-corrupt-seq-gap");
        assert_eq!(value["time"], 111);
    }
    assert_eq!((found.len(), salvaged.report.set_aside), (15, 3));
}

/// dsh-context#81: the seq goes back by 4 once, everything else is healthy.
#[test]
fn a_seq_that_goes_back_once_costs_no_event() {
    let again: Vec<String> = (6..20)
        .map(|seq| event(seq).replace("\"n\"", "\"b\""))
        .collect();
    let salvaged = salvage(&log(&joined(&[&events(0..10), &again])));
    let found = lines(&salvaged);
    assert_eq!(
        (&found[..10], &found[10..20]),
        (&events(0..10)[..], &again[4..])
    );
    assert_eq!(
        (found.len(), salvaged.report.set_aside, salvaged.report.gaps),
        (24, 4, 0)
    );
}

/// CX#24425: a batch was written in part, and its retry wrote all of it again.
#[test]
fn a_batch_that_was_written_twice_is_there_once() {
    let salvaged = salvage(&log(&joined(&[&events(0..5), &events(3..8)])));
    assert_eq!(lines(&salvaged), events(0..8));
    assert_eq!(
        (salvaged.report.repeated, salvaged.report.set_aside),
        (2, 0)
    );
}

#[test]
fn missing_seqs_are_filled_one_by_one() {
    let salvaged = salvage(&log(&joined(&[&events(0..3), &events(5..7)])));
    let found = lines(&salvaged);
    assert_eq!(found.len(), 7);
    assert_eq!((&found[5..]), &events(5..7)[..]);
    let byte = (HEADER.len() + 1 + events(0..3).join("\n").len() + 1) as u64;
    let data = format!(r#""reason":"log-corrupt-seq-gap","line":5,"byte":{byte},"length":0"#);
    assert_eq!(found[3..5], [gap(3, 102, &data), gap(4, 102, &data)]);
    assert_eq!(
        places(&salvaged.report.findings),
        [(5, byte, 0, "log-corrupt-seq-gap", 2)]
    );
    let found = lines(&salvage(&log(&events(2..4))));
    assert!(found[0].contains(r#""seq":0,"time":7,"#), "{}", found[0]);
}

/// One damaged digit made every later event a late one.
#[test]
fn a_seq_that_is_damaged_is_set_aside_and_no_other() {
    for bogus in [9_007_199_254_740_991u64, 500_000, 700, 2] {
        let mut all = events(0..20);
        all[11] = all[11].replace("\"seq\":11", &format!("\"seq\":{bogus}"));
        let found = lines(&salvage(&log(&all)));
        assert_eq!(
            (&found[..11], &found[12..20]),
            (&events(0..11)[..], &events(12..20)[..])
        );
        assert!(found[11].contains("salvage/gap") && found[20].contains("salvage/set-aside"));
        assert_eq!(found.len(), 21);
    }
    let far = event(9_007_199_254_740_991);
    assert_eq!(
        lines(&salvage(&log(&joined(&[&events(0..2), &[far]])))).len(),
        3
    );
}

#[test]
fn a_hole_has_its_limit() {
    for (hole, is_filled) in [(VANISHED_EVENTS, true), (VANISHED_EVENTS + 1, false)] {
        let salvaged = salvage(&log(&[event(0), event(1 + hole)]));
        assert_eq!(salvaged.report.in_place, 1 + u64::from(is_filled));
        assert_eq!(
            lines(&salvaged).len() as u64,
            if is_filled { hole + 2 } else { 2 }
        );
    }
    // unreadable bytes are a trace of what was there
    let garbage = "x".repeat(20_000);
    let salvaged = salvage(&log(&[event(0), garbage, event(4000), event(4001)]));
    assert_eq!((salvaged.report.in_place, salvaged.report.gaps), (3, 3999));
    // all holes together
    let many: Vec<String> = (0..10_000).map(|n| event(n * 1000)).collect();
    assert!(salvage(&log(&many)).report.gaps <= 10_000);
}
