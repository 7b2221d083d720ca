//! What a log in memory may hold, at each limit and one byte beyond it.

use annals_core::fault::{Class, Fact, Fault, Reason};
use annals_core::header::Header;
use annals_core::load::Loader;
use annals_core::log::{Limits, check_room};
use annals_core::session::Session;

const LINE: &str = r#"{"type":"x","seq":0,"time":0,"data":"0123456789"}"#;

fn header() -> Header {
    Header {
        id: "s".into(),
        ..Header::default()
    }
}

/// So many events as lines of the same length.
fn lines(count: usize) -> String {
    (0..count)
        .map(|seq| LINE.replace("\"seq\":0", &format!("\"seq\":{seq}")) + "\n")
        .collect()
}

fn limits(line_bytes_max: usize, log_bytes_max: usize) -> Limits {
    Limits {
        line_bytes_max: line_bytes_max as u64,
        log_bytes_max: log_bytes_max as u64,
    }
}

fn appended(limits: Limits, lines: &str) -> Result<Session, Fault> {
    let mut session = Session::new(header())?;
    session.set_limits(limits);
    session.append(lines, 0)?;
    Ok(session)
}

fn loaded(limits: Limits, lines: &str) -> Result<Session, Fault> {
    let mut loader = Loader::new(header(), 50);
    loader.set_limits(limits);
    for line in lines.split_inclusive('\n') {
        loader.lines(line, None);
        if loader.is_full() {
            break;
        }
    }
    loader.finish().map(|loaded| loaded.session)
}

fn refused(result: Result<Session, Fault>, limit: &str, actual: usize) -> Fault {
    let fault = result.unwrap_err();
    assert_eq!(
        (fault.reason, fault.class()),
        (Reason::LimitReached, Class::Limit)
    );
    assert!(
        fault
            .facts
            .contains(&("limit", Fact::Text(limit.to_owned()))),
        "{fault:?}"
    );
    assert_eq!(fault.number_of("actual"), Some(actual as u64));
    fault
}

/// Deltas are taken in on a way of their own.
#[test]
fn a_delta_has_the_limits_of_every_line() {
    let draft = r#"{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"a"}}}"#;
    let stored = draft.replace(r#","data""#, r#","seq":0,"time":0,"data""#);
    let bytes = stored.len() + 1;
    for (line_bytes_max, log_bytes_max) in [(bytes, bytes), (bytes, bytes - 1), (bytes - 1, bytes)]
    {
        let limits = limits(line_bytes_max, log_bytes_max);
        let name = match line_bytes_max < bytes {
            true => "line-bytes-max",
            false => "log-bytes-max",
        };
        for taken in [
            appended(limits, draft),
            loaded(limits, &format!("{stored}\n")),
        ] {
            if line_bytes_max.min(log_bytes_max) < bytes {
                refused(taken, name, bytes);
                continue;
            }
            let session = taken.unwrap();
            assert_eq!(session.log().bytes(), bytes);
            assert_eq!(session.stored_from(0).lines, format!("{stored}\n"));
        }
    }
}

#[test]
fn a_line_has_a_limit() {
    let bytes = LINE.len() + 1;
    let usual = Limits::default().log_bytes_max as usize;
    for take in [appended, loaded] {
        let session = take(limits(bytes, usual), &lines(3)).unwrap();
        assert_eq!(session.next_seq(), 3);
        let fault = refused(
            take(limits(bytes - 1, usual), &lines(3)),
            "line-bytes-max",
            bytes,
        );
        assert_eq!(fault.number_of("max"), Some(bytes as u64 - 1));
    }
}

#[test]
fn a_log_has_a_limit() {
    let (bytes, usual) = (
        3 * (LINE.len() + 1),
        Limits::default().line_bytes_max as usize,
    );
    for take in [appended, loaded] {
        assert!(take(limits(usual, bytes), &lines(3)).is_ok());
        refused(
            take(limits(usual, bytes - 1), &lines(3)),
            "log-bytes-max",
            bytes,
        );
        refused(
            take(limits(usual, bytes), &lines(9)),
            "log-bytes-max",
            bytes / 3 * 4,
        );
    }
}

#[test]
fn room_can_be_asked_for() {
    let bytes = 3 * (LINE.len() + 1);
    let session = appended(limits(usize::MAX, bytes + 10), &lines(3)).unwrap();
    session.check_room_for(10).unwrap();
    let fault = session.check_room_for(11).unwrap_err();
    assert_eq!(fault.reason, Reason::LimitReached);
    assert!(session.check_room_for(usize::MAX).is_err());
}

#[test]
fn what_does_not_fit_leaves_no_trace() {
    let bytes = 3 * (LINE.len() + 1);
    let mut session = appended(limits(usize::MAX, bytes + LINE.len()), &lines(3)).unwrap();
    let fault = session
        .append(r#"{"type":"x","data":"0123456789"}"#, 0)
        .unwrap_err();
    assert_eq!(fault.reason, Reason::LimitReached);
    assert_eq!(session.next_seq(), 3);
    assert_eq!(session.stored_from(0).lines, lines(3));
    // a shorter one fits
    session
        .append(r#"{"type":"x","data":"012345678"}"#, 0)
        .unwrap();
    assert_eq!(session.next_seq(), 4);
}

#[test]
fn a_limit_is_no_damage() {
    // what lies behind it is not read, so a bad line there is not found, and nothing is cut
    let torn = format!("{}{{\"type\":\"tur", lines(4));
    let fault = refused(
        loaded(limits(usize::MAX, 3 * (LINE.len() + 1)), &torn),
        "log-bytes-max",
        4 * (LINE.len() + 1),
    );
    assert_eq!(fault.number_of("line"), Some(5));
}

#[test]
fn no_memory_is_a_fault() {
    check_room(1 << 20).unwrap();
    let fault = check_room(isize::MAX as usize).unwrap_err();
    assert_eq!(
        (fault.reason, fault.class()),
        (Reason::LimitReached, Class::Limit)
    );
}

/// A seed stands in one piece of memory, and as long as all of it counted, a copy of its last line asked for room for
/// the whole seed.
#[test]
fn a_copy_asks_for_no_more_room_than_its_lines() {
    let mut session = Session::from_seed(header(), &lines(100_000)).unwrap();
    let appended = session.append(r#"{"type":"x","data":0}"#, 0).unwrap();
    let stored = session.stored_from(99_999).lines.into_owned();
    let last = LINE.len() + "99999".len();
    assert_eq!(stored.len(), last + appended.lines.len());
    assert_eq!(stored.capacity(), stored.len());
}
