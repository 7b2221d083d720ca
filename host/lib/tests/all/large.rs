//! Large inputs through the components: a typed result and never a trap, in time that grows with the input.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use annals::{
    Annals, Backend, CreateOptions, Error, ErrorCode, ForkOptions, OpenMode, Result, Session,
};
use annals_properties::large::{self, LONG, NESTED, PACKED, REWRITTEN, SOURCED, STREAMED, Shape};

use crate::TURN;

/// Four times the input may take so many times as long.
const TIMES_MAX: u32 = 6;
/// Other processes and fresh memory cost time of their own.
const SLACK: Duration = Duration::from_millis(400);
const PAGE_BYTES: u32 = 1 << 20;
/// The longest record, as the backend says.
const RECORD_BYTES_MAX: usize = 256 << 20;

/// One at a time: each takes all the time and memory that it can get.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn files(root: &Path) -> Annals {
    Annals::builder()
        .backend(Backend::Jsonl)
        .root(root)
        .setting("sync", "never")
        .build()
        .unwrap()
}

fn named(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        ..CreateOptions::default()
    }
}

/// What is done with a session of a shape, and how long each step took.
fn steps(lines: &str, is_packed: bool) -> Vec<(&'static str, Duration)> {
    let root = tempfile::tempdir().unwrap();
    let annals = files(root.path());
    let mut steps = Vec::new();
    let session = timed(&mut steps, "take in", || match is_packed {
        true => annals.create(CreateOptions {
            seed: Some(lines.to_owned()),
            ..named("s")
        }),
        false => {
            let session = annals.create(named("s"))?;
            session.append_at(lines, 0).map(|_| session)
        }
    });
    timed(&mut steps, "store", || session.flush());
    timed(&mut steps, "close", || session.close());
    let session = timed(&mut steps, "open", || annals.open("s", OpenMode::Resume)).0;
    timed(&mut steps, "history", || session.history());
    timed(&mut steps, "events", || all_events(&session));
    timed(&mut steps, "surface", || session.surface());
    timed(&mut steps, "usage", || session.usage());
    session.close().unwrap();
    annals.shutdown().unwrap();
    steps
}

fn timed<T>(
    steps: &mut Vec<(&'static str, Duration)>,
    name: &'static str,
    step: impl FnOnce() -> Result<T>,
) -> T {
    let started = Instant::now();
    let result = step();
    steps.push((name, started.elapsed()));
    result.unwrap()
}

fn all_events(session: &Session) -> Result<u64> {
    let (mut next, mut bytes) = (Some(0), 0);
    while let Some(start) = next {
        let page = session.events(start, PAGE_BYTES)?;
        bytes += page.lines.len() as u64;
        next = page.next;
    }
    Ok(bytes)
}

/// Runs a shape at n, 2n and 4n, prints the times and holds them against the bound.
fn check(shape: &Shape, is_packed: bool) {
    let runs = [1, 2, 4].map(|times| steps(&(shape.make)(shape.size * times), is_packed));
    let mut table = format!("\n{} through wasm (n = {})\n", shape.name, shape.size);
    let _ = writeln!(
        table,
        "  {:<10} {:>10} {:>10} {:>10}",
        "step", "n", "2n", "4n"
    );
    let mut slow = Vec::new();
    for ((one, two), four) in runs[0].iter().zip(&runs[1]).zip(&runs[2]) {
        let [a, b, c] =
            [one, two, four].map(|(_, time)| format!("{:.1} ms", time.as_secs_f64() * 1e3));
        let _ = writeln!(table, "  {:<10} {a:>10} {b:>10} {c:>10}", one.0);
        if four.1 > one.1 * TIMES_MAX + SLACK {
            slow.push(one.0);
        }
    }
    print!("{table}");
    assert!(slow.is_empty(), "{}: not linear: {slow:?}", shape.name);
}

#[test]
fn deep_events() {
    let _alone = alone();
    NESTED.iter().for_each(|shape| check(shape, false));
}

#[test]
fn long_events() {
    let _alone = alone();
    LONG.iter().take(1).for_each(|shape| check(shape, false));
}

#[test]
fn long_logs() {
    let _alone = alone();
    SOURCED
        .iter()
        .chain(STREAMED)
        .for_each(|shape| check(shape, false));
    PACKED.iter().for_each(|shape| check(shape, true));
}

#[test]
fn rewritten_logs() {
    let _alone = alone();
    REWRITTEN.iter().for_each(|shape| check(shape, false));
}

/// The code and reason of a limit.
fn limit<T>(result: Result<T>) -> Error {
    let error = result.err().unwrap();
    assert_eq!(error.code, ErrorCode::Limit, "{error:?}");
    error
}

/// The store goes on as if nothing had been asked of it.
fn still_works(annals: &Annals) {
    let session = annals.create(CreateOptions::default()).unwrap();
    session.append(TURN).unwrap();
    session.flush().unwrap();
    session.close().unwrap();
    let (session, _) = annals.open(session.id(), OpenMode::Resume).unwrap();
    assert_eq!(session.next_seq().unwrap(), 3);
    session.close().unwrap();
}

#[test]
fn a_record_as_long_as_there_may_be_and_a_byte_more() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    let annals = files(root.path());
    let draft = |bytes: usize| format!("{{\"type\":\"x\",\"data\":\"{}\"}}", "a".repeat(bytes));
    let session = annals.create(named("s")).unwrap();
    limit(session.append_at(&draft(RECORD_BYTES_MAX), 0));
    assert_eq!(session.next_seq().unwrap(), 0);
    // room for what completes a line
    session
        .append_at(&draft(RECORD_BYTES_MAX - 200), 0)
        .unwrap();
    session.flush().unwrap();
    session.close().unwrap();
    let (session, _) = annals.open("s", OpenMode::Resume).unwrap();
    assert_eq!(session.next_seq().unwrap(), 1);
    session.close().unwrap();
    still_works(&annals);
}

/// A log file in the place of session `s`, its header written.
fn planted(root: &Path) -> BufWriter<File> {
    let annals = files(root);
    let session = annals.create(named("s")).unwrap();
    session.persist().unwrap();
    session.close().unwrap();
    annals.shutdown().unwrap();
    let path = root.join("_no-cwd/s.jsonl");
    let file = fs::OpenOptions::new().append(true).open(path).unwrap();
    BufWriter::new(file)
}

#[test]
fn a_line_beyond_all_memory_is_refused() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    let mut log = planted(root.path());
    log.write_all(b"{\"type\":\"x\",\"seq\":0,\"time\":0,\"data\":\"")
        .unwrap();
    let file = log.into_inner().unwrap();
    // nothing is stored of a hole
    file.set_len(5 << 30).unwrap();
    let annals = files(root.path());
    limit(annals.open("s", OpenMode::Resume));
    limit(annals.open("s", OpenMode::Inspect));
    still_works(&annals);
}

#[test]
fn a_log_beyond_all_memory_is_refused() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    let mut log = planted(root.path());
    let text = "a".repeat(8 << 20);
    for seq in 0..129 {
        let data = format!("\"data\":\"{text}\"");
        log.write_all(large::line("x", seq, &data).as_bytes())
            .unwrap();
    }
    drop(log.into_inner().unwrap());
    let annals = files(root.path());
    let error = limit(annals.open("s", OpenMode::Resume));
    assert!(error.detail.contains("log-bytes-max"), "{}", error.detail);
    limit(annals.fork("s", ForkOptions::default()));
    still_works(&annals);
    // what cannot be held can be read
    let page = annals.read("s", 0, PAGE_BYTES).unwrap();
    assert!(page.next.is_some());
}

// Sessions of about 1 GiB each had no bound together, and the memory of the store ended by a trap.
#[test]
fn sessions_together_are_refused_before_memory_ends() {
    let _alone = alone();
    let builder = Annals::builder().backend(Backend::None);
    let annals = builder.build().unwrap();
    let turn = TURN.lines().collect::<Vec<&str>>().join("\n");
    let long = format!("{{\"type\":\"x\",\"data\":\"{}\"}}", "a".repeat(240 << 20));
    let mut sessions: Vec<Session> = Vec::new();
    let error = 'full: loop {
        let session = annals.create(CreateOptions::default()).unwrap();
        session.append(&turn).unwrap();
        sessions.push(session.clone());
        for _ in 0..4 {
            if let Err(error) = session.append_at(&long, 0) {
                break 'full error;
            }
        }
    };
    let is_together = |error: &Error| {
        assert_eq!(error.code, ErrorCode::Limit, "{error:?}");
        assert!(error.detail.contains("sessions-bytes-max"), "{error:?}");
        assert!(error.message.ends_with("close other sessions first"));
    };
    is_together(&error);
    assert_eq!(sessions.len(), 3);
    // as long as a log may be, and handed over whole
    let line = |seq| large::line("x", seq, &format!("\"data\":\"{}\"", "a".repeat(200 << 20)));
    let seed = Some((0..5).map(line).collect::<String>());
    is_together(&limit(annals.create(CreateOptions {
        seed,
        ..named("seeded")
    })));
    // everything else goes on, and so does this when there is room
    for session in &sessions {
        assert!(session.next_seq().unwrap() >= 3);
        assert_eq!(session.history().unwrap().lines().count(), 1);
    }
    assert_eq!(annals.live().unwrap().len(), 3);
    sessions[0].close().unwrap();
    sessions[2].append_at(&long, 0).unwrap();
    sessions.iter().for_each(|session| session.close().unwrap());
    annals.shutdown().unwrap();
}
