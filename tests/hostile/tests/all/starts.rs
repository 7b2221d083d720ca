//! Components that are refused, or stop, before they are a backend: sessions stay with the one that they have.

use std::fs;
use std::path::Path;

use annals::{Backend, Error, ErrorCode, Need, Place};

use crate::faulty::{self, Fault};
use crate::scene::{MIB, Scene, component, turn};
use crate::table::{Row, told};

/// What it is, the reason of the refusal, what its message names, and the component with what it is granted.
type Start = (&'static str, &'static str, &'static str, Place);

pub fn rows() -> Vec<Row> {
    let armed = tempfile::tempdir().unwrap();
    fs::write(armed.path().join("armed"), "").unwrap();
    let scene = Scene::new("", |place, _| place);
    let starts = generated().into_iter().chain(built(armed.path()));
    let row = |(turn, start)| row(&scene, turn, start);
    (2..).zip(starts).map(row).collect()
}

/// Refuses it as a replacement, while sessions are live.
fn row(scene: &Scene, number: u64, (tried, reason, named, place): Start) -> Row {
    let Err(error) = scene.annals.rebind(place) else {
        panic!("{tried}: it was taken");
    };
    scene.victim.append(&turn(number)).unwrap();
    let stored = scene.victim.flush();
    let went_on = is_refusal(&error, reason, named)
        .and_then(|()| stored.map_err(|error| error.message))
        .and_then(|()| scene.goes_on(3 * number));
    Row {
        tried: tried.to_owned(),
        got: told(&error),
        went_on,
    }
}

fn is_refusal(error: &Error, reason: &str, named: &str) -> Result<(), String> {
    let says = |text: &str| error.message.contains(text);
    let is_coded = matches!(error.code, ErrorCode::Unavailable | ErrorCode::Invalid);
    let is_named = says(named) && (says("the given backend") || says("hostile"));
    if is_coded && is_named && error.reason == reason && !says("\n") {
        Ok(())
    } else {
        Err(format!("{:?} says: {:.400}", error.reason, error.message))
    }
}

/// With limits that are reached soon.
fn small(backend: Backend) -> Place {
    let place = Place::new(backend).inert(Need::Network);
    place.call_ms_max(400).memory_bytes_max(64 * MIB)
}

fn generated() -> [Start; 6] {
    let start = |tried, reason, named, fault| {
        let place = small(Backend::Bytes(faulty::backend(fault)));
        (tried, reason, named, place)
    };
    [
        start(
            "trap at the start",
            "backend-trapped",
            "unreachable",
            Fault::Trap,
        ),
        start(
            "loop at the start",
            "backend-timeout",
            "call-ms-max",
            Fault::Loop,
        ),
        start(
            "40 memories of 64 MiB",
            "backend-limit",
            "memory-bytes-max",
            Fault::Memories,
        ),
        start(
            "65 memories",
            "backend-trapped",
            "memory count",
            Fault::MemoriesBeyondCount,
        ),
        start(
            "3 tables of 500,000",
            "backend-limit",
            "table-elements-max",
            Fault::Tables,
        ),
        start(
            "an import that nobody is given",
            "component-import-missing",
            "network",
            Fault::Greed,
        ),
    ]
}

fn built(armed: &Path) -> [Start; 3] {
    let hostile = || Backend::File(component().to_owned());
    let endless = small(hostile()).root(armed);
    [
        (
            "loop in configure",
            "backend-timeout",
            "call-ms-max",
            endless.setting("attack", "loop in configure"),
        ),
        (
            "files without a directory",
            "grant-missing",
            "wasi:filesystem",
            small(hostile()),
        ),
        (
            "sockets without an address",
            "grant-missing",
            "wasi:sockets",
            Place::new(hostile()).root(armed),
        ),
    ]
}
