//! Threads that append, fork, open and close while the backend changes under them.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use annals::{Error, ErrorCode, ForkOptions, OpenMode, Session};

use crate::scene::{COLLIDERS, OUT_OF_BAND, Scene, options, turn};

/// Between two tries of what a medium refused.
const PAUSE: Duration = Duration::from_millis(2);

/// How many of the sessions that come are there before one goes.
const STAYING: usize = 20;

/// Events of a turn that [`turn`] writes.
const TURN_EVENTS: u64 = 3;

/// Appends to the steady sessions, which all such threads share, until there are enough.
pub fn append_on(scene: &Scene, thread: u64, appends: u64) {
    let mut number = thread;
    let mut children = Vec::new();
    while scene.goes_on(appends) {
        number += 1;
        let session = &scene.steady[(number * 7 % scene.steady.len() as u64) as usize];
        match number % 1000 {
            100 | 300 | 500 | 700 | 900 => append_out_of_band(scene, session),
            200 => children.extend(fork(scene, session, thread)),
            of if of % 40 == 13 => append(scene, session, &turn(&mark(scene))),
            of if of % 16 == 5 => append(scene, session, &stream(scene)),
            _ => append(scene, session, &note(scene)),
        }
        if number.is_multiple_of(8) {
            flush(scene, session);
        }
        // whoever waited here would keep the others waiting
        children.retain(|child| !is_closed(scene, child));
        if number.is_multiple_of(50) {
            let session = &scene.colliders[(number / 50 % 2) as usize];
            append(scene, session, &note(scene));
            flush(scene, session);
        }
    }
    children.iter().for_each(|child| close(scene, child));
}

/// Reads what the others write, in memory and on whatever the medium is, until there are enough appends.
pub fn look_on(scene: &Scene, appends: u64) {
    let mut number = 0;
    while scene.appends() < appends && !scene.is_over() {
        number += 1;
        let session = &scene.steady[number % scene.steady.len()];
        let known = scene.journal.length(session.id());
        let start = known.saturating_sub(20);
        let events = session.events(start, 1 << 14).unwrap().lines;
        if !scene.journal.has(session.id(), start, &events) {
            scene.fault(format!("{} has other events", session.id()));
        }
        let stored = scene.annals.read(session.id(), 0, 1 << 12);
        match stored {
            Ok(page) if page.header.as_ref().map(|header| &*header.id) == Some(session.id()) => {
                scene.counts.add("read");
            }
            Ok(_) => scene.fault(format!("{} has another header", session.id())),
            // it had no place where there was only a little room
            Err(error) if error.code == ErrorCode::NotFound => {}
            Err(error) => scene.fault(format!("read {}: {error:?}", session.id())),
        }
        match scene.annals.list(None, 100) {
            Ok(listing) if !listing.sessions.is_empty() => scene.counts.add("listed"),
            listing => scene.fault(format!("listed: {listing:?}")),
        }
        thread::sleep(PAUSE);
    }
}

/// Sessions come and go until there are enough appends.
pub fn pass_by(scene: &Scene, appends: u64) {
    let mut number = 0;
    // open for a while, so that changes find them live and leave a part of them behind
    let mut staying = VecDeque::new();
    while scene.goes_on(appends) {
        number += 1;
        let vetoed = scene
            .annals
            .create(options(&format!("vetoed-{number}"), None));
        match vetoed {
            Err(error) if error.reason == "listener-error" => scene.counts.add("vetoed"),
            other => scene.fault(format!("not vetoed: {other:?}")),
        }
        let id = format!("passes-{number}");
        let session = scene.annals.create(options(&id, None)).unwrap();
        append(scene, &session, &turn(&mark(scene)));
        append(scene, &session, &note(scene));
        store(scene, &session);
        scene.counts.add("opened and closed");
        if number % 5 == 0 {
            let _gate = scene.gate.read().unwrap();
            drop(session);
            // answered when what the drop asked for is done
            scene.annals.live().unwrap();
            continue;
        }
        append(scene, &session, &stream(scene));
        staying.push_back(session);
        if staying.len() > STAYING
            && let Some(session) = staying.pop_front()
        {
            append(scene, &session, &note(scene));
            close(scene, &session);
            let id = session.id().to_owned();
            drop(session);
            open_again(scene, &id);
        }
        // one that is older may have gone on elsewhere, or is still there
        let id = format!("passes-{}", number / 2);
        if scene.journal.length(&id) > 0 && staying.iter().all(|session| session.id() != id) {
            let _older = scene.older.read().unwrap();
            open_again(scene, &id);
        }
        thread::sleep(PAUSE);
    }
    staying.iter().for_each(|session| close(scene, session));
}

/// What was closed, unless it is not where the backend is now.
fn open_again(scene: &Scene, id: &str) {
    let session = match scene.annals.open(id, OpenMode::Resume) {
        Ok((session, _)) => session,
        Err(error) if error.code == ErrorCode::NotFound => {
            return scene.counts.add("not in the new place");
        }
        Err(error) => return scene.fault(format!("open {id}: {error:?}")),
    };
    if session.next_seq().unwrap() == scene.journal.length(id) {
        append(scene, &session, &note(scene));
        close(scene, &session);
        scene.counts.add("opened again");
    } else {
        // left behind when it went on elsewhere
        session.detach().unwrap();
        scene.counts.add("older copies");
    }
}

pub fn append(scene: &Scene, session: &Session, lines: &str) {
    match session.append(lines) {
        Ok(batch) => scene.acknowledge(session, &batch),
        Err(error) => scene.fault(format!("append to {}: {error:?}", session.id())),
    }
}

fn append_out_of_band(scene: &Scene, session: &Session) {
    let event = format!(
        r#"{{"type":"{OUT_OF_BAND}","data":{{"text":"{}"}}}}"#,
        mark(scene)
    );
    match session.append_out_of_band(&event, r#"{"kind":"plugin"}"#) {
        Ok(batch) => {
            scene.acknowledge(session, &batch);
            scene.counts.add("out of band");
        }
        // in the session all the same, and the caller does not know
        Err(error) => note_refusal(scene, session, &error),
    }
}

/// A child that begins with all of the source up to a turn of now.
fn fork(scene: &Scene, session: &Session, thread: u64) -> Option<Session> {
    let batch = session.append(&turn(&mark(scene))).unwrap();
    scene.acknowledge(session, &batch);
    let child = format!("fork-{thread}-{}", scene.token());
    let events = batch.first_seq + TURN_EVENTS;
    scene.journal.seed(&child, session.id(), events);
    let forked = scene.annals.fork(
        session.id(),
        ForkOptions {
            boundary: Some(events - 1),
            child: Some(child.clone()),
            cwd: None,
        },
    );
    match forked {
        Ok(child) => {
            append(scene, &child, &note(scene));
            scene.counts.add("forked");
            Some(child)
        }
        Err(error) => {
            scene.fault(format!("fork {child}: {error:?}"));
            None
        }
    }
}

fn flush(scene: &Scene, session: &Session) {
    match session.flush() {
        Ok(()) => scene.counts.add("flushed"),
        Err(error) => note_refusal(scene, session, &error),
    }
}

/// Flushes until it is done.
pub fn store(scene: &Scene, session: &Session) {
    while let Err(error) = session.flush()
        && !scene.is_over()
    {
        note_refusal(scene, session, &error);
        thread::sleep(PAUSE);
    }
}

/// Closes as soon as the medium takes what it lacks.
fn close(scene: &Scene, session: &Session) {
    while !is_closed(scene, session) && !scene.is_over() {
        thread::sleep(PAUSE);
    }
}

/// Closes, unless nobody may now or the medium takes nothing.
fn is_closed(scene: &Scene, session: &Session) -> bool {
    let Ok(_gate) = scene.gate.try_read() else {
        return false;
    };
    let closed = session.close();
    if let Err(error) = &closed {
        note_refusal(scene, session, error);
    }
    closed.is_ok()
}

/// A collision that was planned, or a medium that was made to be full.
fn note_refusal(scene: &Scene, session: &Session, error: &Error) {
    let planned = (session.id(), error.reason.as_str());
    if COLLIDERS.contains(&planned) || error.reason == "medium-full" {
        scene.counts.add("flushes refused");
    } else {
        scene.fault(format!("flush of {}: {error:?}", session.id()));
    }
}

/// What no other event has.
fn mark(scene: &Scene) -> String {
    format!("#{}#", scene.token())
}

pub fn note(scene: &Scene) -> String {
    format!(
        r#"{{"type":"plugin/note","data":{{"text":"{}","number":1.50,"é":[null]}}}}"#,
        mark(scene)
    )
}

/// Streamed text, which a backend may pack.
pub fn stream(scene: &Scene) -> String {
    let chunk = |_| {
        format!(
            r#"{{"type":"assistant/chunk","data":{{"turn":1,"step":1,"chunk":{{"type":"text-delta","index":0,"text":"{}"}}}}}}"#,
            mark(scene)
        )
    };
    (0..4).map(chunk).collect::<Vec<_>>().join("\n")
}
