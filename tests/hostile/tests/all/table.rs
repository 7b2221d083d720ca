//! The table: each hostile component, what it tried and what it got.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

use annals::{Access, Annals, Error, OpenMode, Place, Upkeep};

use crate::cases::{CASES, Case, On};
use crate::claims;
use crate::scene::{Scene, turn};
use crate::{grounds, starts};

pub struct Row {
    pub tried: String,
    pub got: String,
    pub went_on: Result<(), String>,
}

#[test]
fn what_hostile_backends_get() {
    let mut rows: Vec<Row> = CASES.iter().map(row).collect();
    rows.push(granted_directory());
    rows.push(granted_address());
    rows.push(granted_environment());
    rows.extend(claims::rows());
    rows.extend(starts::rows());
    rows.extend(grounds::rows());

    let mut table = format!("\n{:<38} {:<58} store went on\n", "tried", "got");
    for row in &rows {
        let went_on = row.went_on.as_ref().map_or_else(String::as_str, |()| "yes");
        let _ = writeln!(table, "{:<38} {:<58} {went_on}", row.tried, row.got);
    }
    println!("{table}");
    let failed: Vec<_> = rows.iter().filter(|row| row.went_on.is_err()).collect();
    assert!(failed.is_empty(), "{} rows failed", failed.len());
}

fn row(case: &Case) -> Row {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap().to_string();
    let scene = Scene::new(case.attack, |place, _| place.setting("closed", closed));
    attacked(case, scene)
}

// Each wait for a pipe keeps a thread, and once there were none left no file of the backend could be used.
#[test]
fn waits_without_end_leave_room_for_others() {
    let scene = Scene::new("pipe", |place, _| place.call_ms_max(100));
    scene.victim.append(&turn(2)).unwrap();
    scene.arm();
    for _ in 0..20 {
        assert_eq!(scene.victim.flush().unwrap_err().reason, "backend-timeout");
    }
    scene.goes_on(6).unwrap();
    scene.ends_well(6).unwrap();
}

/// Arms it, lets it happen, and looks at what came of it.
fn attacked(case: &Case, scene: Scene) -> Row {
    let tried = case.attack.to_owned();
    let outside = seen(&scene.outside());
    if case.on == On::Open {
        scene.victim.close().unwrap();
    }
    scene.arm();
    let (answer, next_seq) = attempt(case.on, &scene);
    let (got, as_expected) = judged(case, answer);
    let went_on = as_expected
        .and_then(|()| planted(case, &scene))
        .and_then(|()| scene.goes_on(next_seq))
        .and_then(|()| no_further(&scene, &outside))
        .and_then(|()| scene.ends_well(next_seq));
    Row {
        tried,
        got,
        went_on,
    }
}

/// What the caller is answered, and how many events the session then has.
fn attempt(on: On, scene: &Scene) -> (Result<(), Error>, u64) {
    match on {
        On::Append => {
            scene.victim.append(&turn(2)).unwrap();
            (scene.victim.flush(), 6)
        }
        On::Open => {
            let opened = scene.annals.open("victim", OpenMode::Resume);
            (opened.map(drop), 3)
        }
        On::List => (scene.annals.sessions().map(drop), 3),
    }
}

fn judged(case: &Case, answer: Result<(), Error>) -> (String, Result<(), String>) {
    let error = match (answer, case.reason) {
        (Ok(()), None) => return ("nothing: the batch was stored".to_owned(), Ok(())),
        (Ok(()), Some(reason)) => {
            let wrong = format!("no error, {reason} was due");
            return ("nothing".to_owned(), Err(wrong));
        }
        (Err(error), _) => error,
    };
    let got = told(&error);
    let is_named = error.message.contains("hostile") && error.message.contains(case.named);
    let is_one_line = !error.message.contains('\n') && error.message.len() < 1000;
    if Some(error.reason.as_str()) == case.reason && is_named && is_one_line {
        (got, Ok(()))
    } else {
        let wrong = format!("{:?} says: {:.400}", error.reason, error.message);
        (got, Err(wrong))
    }
}

pub fn told(error: &Error) -> String {
    let code = format!("{:?}", error.code);
    let code = code.rsplit(':').next().unwrap_or_default();
    format!("{code}, {:.60}", error.reason)
}

/// Names and contents of a directory.
fn seen(directory: &Path) -> Vec<(String, String)> {
    let mut seen: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            (entry.file_name().to_string_lossy().into_owned(), text)
        })
        .collect();
    seen.sort();
    seen
}

/// Links that cannot be planted would show nothing.
fn planted(case: &Case, scene: &Scene) -> Result<(), String> {
    let is_planted = fs::symlink_metadata(scene.root().join("_leases")).is_ok();
    match is_planted == (case.attack == "links outwards") {
        true => Ok(()),
        false => Err(format!("planted: {is_planted}")),
    }
}

/// Nothing outside has changed, nor does it when others use the same root: a planted link is not followed.
fn no_further(scene: &Scene, outside: &[(String, String)]) -> Result<(), String> {
    let unchanged = || match seen(&scene.outside()) == outside {
        true => Ok(()),
        false => Err("something outside has changed".to_owned()),
    };
    unchanged()?;
    if fs::symlink_metadata(scene.root().join("stolen")).is_ok() {
        return Err("a file came in from outside".to_owned());
    }
    if fs::symlink_metadata(scene.root().join("_leases")).is_ok() {
        behind_links(scene)?;
    }
    unchanged()
}

/// Whoever else uses that root stores nothing behind its links.
fn behind_links(scene: &Scene) -> Result<(), String> {
    let jsonl = Annals::jsonl(scene.root()).map_err(|error| error.message)?;
    let _ = jsonl.sessions();
    let stored = jsonl
        .create(annals::CreateOptions::default())
        .and_then(|session| {
            session.append(&turn(1))?;
            session.flush()
        });
    let upkeep = Upkeep::new(Place::jsonl(scene.root())).map_err(|error| error.message)?;
    if let Ok(found) = upkeep.inspect(1000) {
        for litter in &found {
            let _ = upkeep.remove(litter);
        }
    }
    drop(jsonl);
    match stored {
        Ok(()) => Err("files were stored behind a planted link".to_owned()),
        Err(_) => Ok(()),
    }
}

/// A directory to read is no directory to write.
fn granted_directory() -> Row {
    let case = Case {
        attack: "write where only reading is granted",
        on: On::Append,
        reason: None,
        named: "",
    };
    let scene = Scene::new(case.attack, |place, outside| {
        place.directory(outside, "/granted", Access::Read)
    });
    attacked(&case, scene)
}

/// One address is granted, and another that listens stays closed.
fn granted_address() -> Row {
    let open = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = |listener: &TcpListener| listener.local_addr().unwrap();
    let case = Case {
        attack: "network beside the granted address",
        on: On::Append,
        reason: None,
        named: "",
    };
    let scene = Scene::new(case.attack, |place, _| {
        place
            .tcp(address(&open))
            .setting("granted", address(&open).to_string())
            .setting("closed", address(&closed).to_string())
    });
    attacked(&case, scene)
}

/// The one name that was granted, and no other.
fn granted_environment() -> Row {
    let case = Case {
        attack: "environment",
        on: On::Append,
        reason: None,
        named: "",
    };
    let scene = Scene::new(case.attack, |place, _| {
        place.environment("GRANTED", "value")
    });
    Row {
        tried: "environment beside the granted name".to_owned(),
        ..attacked(&case, scene)
    }
}
