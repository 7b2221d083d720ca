//! Logs that were spoiled on purpose, one fault each.

use annals_soak::checker::{Findings, Log};
use annals_soak::journal::{Claim, State};

const HEADER: &str = "{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":0}\n";

fn data(token: &str) -> String {
    format!("{{\"token\":\"{token}\",\"text\":\"é\"}}")
}

fn line(seq: u64, token: &str) -> String {
    let data = data(token);
    format!("{{\"type\":\"plugin/note\",\"seq\":{seq},\"time\":0,\"data\":{data}}}\n")
}

fn claim(token: &str, state: State) -> Claim {
    Claim {
        session: "s".to_owned(),
        token: token.to_owned(),
        data: data(token),
        state,
    }
}

/// `t0`, `t1` and `t2`, acknowledged at seqs 0, 1 and 2.
fn claims() -> Vec<Claim> {
    let claims = (0..3).map(|seq| claim(&format!("t{seq}"), State::Acknowledged { seq }));
    claims.collect()
}

fn log(lines: &[String]) -> String {
    format!("{HEADER}{}", lines.concat())
}

fn good() -> [String; 3] {
    [line(0, "t0"), line(1, "t1"), line(2, "t2")]
}

fn findings(log: &str, claims: &[Claim]) -> Findings {
    Findings::of("s", &Log::read(log.as_bytes()), claims)
}

/// Lost, doubled, gaps, unreadable, uninvited.
fn counts(findings: &Findings) -> [usize; 5] {
    [
        findings.lost.len(),
        findings.doubled.len(),
        findings.gaps.len(),
        findings.unreadable.len(),
        findings.uninvited.len(),
    ]
}

fn of(lines: &[String]) -> [usize; 5] {
    counts(&findings(&log(lines), &claims()))
}

#[test]
fn a_good_log_has_no_faults() {
    let findings = findings(&log(&good()), &claims());
    assert_eq!(counts(&findings), [0; 5]);
    assert_eq!((findings.stored, findings.unacknowledged), (3, 0));
}

#[test]
fn a_lost_event_at_the_end() {
    let [zero, one, _] = good();
    assert_eq!(of(&[zero, one]), [1, 0, 0, 0, 0]);
}

#[test]
fn a_lost_event_in_the_middle_is_a_gap_too() {
    let [zero, _, two] = good();
    assert_eq!(of(&[zero, two]), [1, 0, 1, 0, 0]);
}

#[test]
fn an_event_in_the_place_of_another() {
    let [zero, _, two] = good();
    assert_eq!(of(&[zero, line(1, "other"), two]), [1, 0, 0, 0, 1]);
}

#[test]
fn an_event_at_another_seq_than_was_said() {
    let lines = [line(0, "t0"), line(1, "t2"), line(2, "t1")];
    assert_eq!(of(&lines), [2, 0, 0, 0, 0]);
}

#[test]
fn a_changed_byte() {
    let [zero, one, two] = good();
    let changed = one.replace('é', "e");
    assert_eq!(of(&[zero, changed, two]), [1, 0, 0, 0, 0]);
}

#[test]
fn a_doubled_token() {
    let [zero, one, two] = good();
    assert_eq!(of(&[zero, one, two, line(3, "t1")]), [0, 1, 0, 0, 0]);
}

#[test]
fn a_repeated_seq_is_a_gap() {
    let [zero, one, two] = good();
    let lines = [zero, one.clone(), one, two];
    assert_eq!(of(&lines), [0, 1, 1, 0, 0]);
}

#[test]
fn fused_lines() {
    let [zero, one, two] = good();
    let fused = [zero, one.trim_end().to_owned(), two];
    assert_eq!(of(&fused), [2, 0, 0, 1, 0]);
    let [zero, one, two] = good();
    let stub = one[..20].to_owned();
    assert_eq!(
        of(&[zero.clone(), stub, one.clone(), two.clone()]),
        [1, 0, 1, 1, 0]
    );
    assert_eq!(of(&[zero, "\n".to_owned(), one, two]), [0, 0, 0, 1, 0]);
}

#[test]
fn zeros_and_bytes_that_are_no_text() {
    let [zero, one, two] = good();
    for garbage in [&b"\0\0\0\0\n"[..], b"\"\xff\"\n", b"{\"type\":\"x\"}\n"] {
        let mut bytes = log(std::slice::from_ref(&zero)).into_bytes();
        bytes.extend_from_slice(garbage);
        bytes.extend_from_slice(one.as_bytes());
        bytes.extend_from_slice(two.as_bytes());
        let findings = Findings::of("s", &Log::read(&bytes), &claims());
        assert_eq!(counts(&findings), [0, 0, 0, 1, 0]);
    }
}

#[test]
fn a_torn_line_is_no_event() {
    let [zero, one, two] = good();
    let torn = log(&[zero, one, two.trim_end().to_owned()]);
    let read = Log::read(torn.as_bytes());
    assert_eq!(
        (read.events.len(), read.torn),
        (2, two.trim_end().as_bytes())
    );
    assert_eq!(counts(&findings(&torn, &claims())), [1, 0, 0, 0, 0]);
}

#[test]
fn no_header() {
    assert_eq!(counts(&findings("", &[])), [0, 0, 0, 1, 0]);
    assert_eq!(counts(&findings(&line(0, "t0"), &[])), [0, 0, 0, 1, 0]);
    assert_eq!(counts(&findings(HEADER.trim_end(), &[])), [0, 0, 0, 1, 0]);
}

#[test]
fn what_a_refusal_and_a_kill_allow() {
    let text = log(&good());
    let mut claims = claims();
    claims[2].state = State::Refused;
    assert_eq!(counts(&findings(&text, &claims)), [0, 0, 0, 0, 1]);
    for state in [State::Found, State::Unknown] {
        claims[2].state = state;
        let findings = findings(&text, &claims);
        assert_eq!((counts(&findings), findings.unacknowledged), ([0; 5], 1));
    }
    claims.push(claim("t3", State::Unknown));
    claims.push(claim("t4", State::Refused));
    assert_eq!(counts(&findings(&text, &claims)), [0; 5]);
    claims.push(claim("t5", State::Found));
    assert_eq!(counts(&findings(&text, &claims)), [1, 0, 0, 0, 0]);
    let elsewhere = claims.iter().cloned().map(|claim| Claim {
        session: "other".to_owned(),
        ..claim
    });
    let elsewhere: Vec<Claim> = elsewhere.collect();
    assert_eq!(counts(&findings(&text, &elsewhere)), [0, 0, 0, 0, 3]);
}

#[test]
fn a_fork_begins_with_its_parents_events() {
    let parent = log(&good());
    let seeded = HEADER.replace('}', ",\"parentSession\":\"s\",\"seedLength\":2}");
    let child = |lines: &[String]| format!("{seeded}{}", lines.concat());
    let [zero, one, _] = good();
    let held = |child: &str| {
        let child = Log::read(child.as_bytes());
        let mut findings = Findings::of("c", &child, &[]);
        findings.hold_seed("c", &child, &Log::read(parent.as_bytes()));
        counts(&findings)
    };
    assert_eq!(held(&child(&[zero.clone(), one.clone()])), [0; 5]);
    assert_eq!(held(&child(std::slice::from_ref(&zero))), [1, 0, 0, 0, 0]);
    let other = one.replace('é', "e");
    assert_eq!(held(&child(&[zero, other])), [1, 0, 0, 0, 0]);
}
