//! Sealed lines: their one spelling, and their place in a log for whoever cannot open them.

use annals_core::fault::Reason;
use annals_core::header::Header;
use annals_core::load::Loader;
use annals_core::record::{Record, read_record};
use annals_core::sealed::{Sealed, is_sealed};

const EVENT: &str = r#"{"type":"annals/sealed","seq":3,"time":9,"data":"AZaz09+/=-_"}"#;
const ROW: &str = r#"{"type":"annals/sealed-row","seq":3,"count":4,"time":9,"data":"AA"}"#;

#[test]
fn a_sealed_line_has_one_spelling() {
    for line in [EVENT, ROW] {
        let mut out = String::new();
        Sealed::read(line).unwrap().push_to(&mut out);
        assert_eq!(out, format!("{line}\n"));
    }
    let sealed = Sealed::read(ROW).unwrap();
    assert_eq!((sealed.first_seq, sealed.row_count), (3, Some(4)));
    assert_eq!((sealed.time_ms, sealed.data), (9, "AA"));
    for other in [
        r#"{"type":"annals/sealed", "seq":3,"time":9,"data":"AA"}"#,
        r#"{"type":"annals/sealed","seq":03,"time":9,"data":"AA"}"#,
        r#"{"type":"annals/sealed","seq":3,"time":9,"data":"A A"}"#,
        r#"{"type":"annals/sealed","seq":3,"time":9,"data":"A\u0041"}"#,
        r#"{"type":"annals/sealed","seq":3,"time":9,"data":"AA"} "#,
        r#"{"type":"annals/sealed","seq":3,"count":1,"time":9,"data":"AA"}"#,
        r#"{"type":"annals/sealed","seq":9007199254740992,"time":9,"data":"AA"}"#,
        r#"{"type":"annals/sealed","seq":,"time":9,"data":"AA"}"#,
        r#"{"type":"annals/sealed-row","seq":3,"time":9,"data":"AA"}"#,
        r#"{"type":"x","seq":3,"time":9,"data":"AA"}"#,
        "",
    ] {
        assert_eq!(Sealed::read(other), None, "{other}");
    }
}

#[test]
fn a_sealed_line_is_a_record() {
    let record = |count, is_row| Record {
        first_seq: 3,
        count,
        last_time_ms: 9,
        is_row,
        ends_turn: false,
    };
    assert_eq!(read_record(EVENT), Ok(record(1, false)));
    assert_eq!(read_record(ROW), Ok(record(4, true)));
    for count in ["0", "-1", "1.5", "\"4\"", "null", "9007199254740990"] {
        let line = ROW.replace("\"count\":4", &format!("\"count\":{count}"));
        let fault = read_record(&line).unwrap_err();
        assert_eq!(fault.reason, Reason::LogCorruptUnparsable, "{count}");
    }
    let most = ROW.replace("\"count\":4", "\"count\":9007199254740989");
    assert_eq!(read_record(&most).unwrap().count, 9_007_199_254_740_989);
    let none = ROW.replace("\"count\":4,", "");
    assert!(read_record(&none).is_err());
}

/// In a log whose header does not say that it is sealed, a sealed event is one of a type that nobody knows, and a sealed
/// row is no event: the log is refused as it is, and nothing of it is cut.
#[test]
fn without_whoever_opens_it_a_sealed_event_is_kept_and_a_sealed_row_is_refused() {
    let load = |line: &str| {
        let line = line.replace("\"seq\":3", "\"seq\":0");
        let mut loader = Loader::new(Header::default(), 0);
        loader.lines(format!("{line}\n"), None);
        loader.finish()
    };
    let loaded = load(EVENT).unwrap();
    assert_eq!((loaded.session.next_seq(), loaded.cut), (1, None));
    assert_eq!(load(ROW).unwrap_err().reason, Reason::SeedEnvelopeInvalid);
}

#[test]
fn a_header_says_that_its_log_is_sealed() {
    let header = |extra: Option<&str>| Header {
        extra: extra.map(str::to_owned),
        ..Header::default()
    };
    assert!(is_sealed(&header(Some(r#"{"a":1,"annals/sealed":"x"}"#))));
    assert!(is_sealed(&header(Some(r#"{"annals\/sealed":"x"}"#))));
    for extra in [None, Some("{}"), Some(r#"{"sealed":1}"#), Some("{")] {
        assert!(!is_sealed(&header(extra)), "{extra:?}");
    }
}
