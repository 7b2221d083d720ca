//! What a backend says of an error or lists: nobody acts on it, or shows it, as it came.

use std::fs;

use annals::{Annals, Error, ErrorCode, OpenMode, SessionStatus};

use crate::scene::{Scene, turn};
use crate::table::{Row, told};

/// Bytes of a message: what is taken of the backend's, and where it comes from.
const MESSAGE_BYTES_MAX: usize = (4 << 10) + 200;

/// What it is, the settings that say the error, its code and reason for the caller, and what its message names.
type Claim = (
    &'static str,
    &'static [(&'static str, &'static str)],
    ErrorCode,
    &'static str,
    &'static str,
);

const CLAIMS: [Claim; 9] = [
    (
        "7 MiB of message with control characters",
        &[("message", "\u{1b}[2J\n"), ("message-times", "1048576")],
        ErrorCode::Other,
        "on-purpose",
        r"\u{1b}[2J\n",
    ),
    (
        "an error of 500 GB on the disk",
        &[
            ("reason", "io-failed"),
            ("detail", r#"{"bytes":500000000000}"#),
        ],
        ErrorCode::Other,
        "io-failed",
        "it says so",
    ),
    (
        "a component of another name",
        &[("detail", r#"{"component":"x"}"#)],
        ErrorCode::Other,
        "on-purpose",
        "it says so",
    ),
    (
        "a detail that is no object",
        &[("detail", "[1"), ("detail-times", "100000")],
        ErrorCode::Other,
        "on-purpose",
        "it says so",
    ),
    (
        "the reason of an observer",
        &[("reason", "listener-error")],
        ErrorCode::Other,
        "reported-listener-error",
        "it says so",
    ),
    (
        "a reason of the store",
        &[("code", "unavailable"), ("reason", "store-trapped")],
        ErrorCode::Unavailable,
        "reported-store-trapped",
        "it says so",
    ),
    (
        "a reason of the host",
        &[("code", "unavailable"), ("reason", "backend-timeout")],
        ErrorCode::Unavailable,
        "reported-backend-timeout",
        "it says so",
    ),
    (
        "a call from inside a callback",
        &[("code", "reentrant"), ("reason", "reentrant")],
        ErrorCode::Other,
        "reported-reentrant",
        "it says so",
    ),
    (
        "a reason that is none",
        &[("reason", "A b\u{1b}\n"), ("reason-times", "100000")],
        ErrorCode::Other,
        "reported",
        "it says so",
    ),
];

pub fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = CLAIMS.iter().map(row).collect();
    rows.push(listed());
    rows
}

fn saying(settings: &[(&str, &str)]) -> Scene {
    let usual = [
        ("reason", "on-purpose"),
        ("message", "it says so"),
        ("detail", "{}"),
    ];
    Scene::new("says", |place, _| {
        let given = |name: &str| settings.iter().any(|(given, _)| *given == name);
        let usual = usual.into_iter().filter(|(name, _)| !given(name));
        let settings = settings.iter().copied().chain(usual);
        settings.fold(place, |place, (name, value)| place.setting(name, value))
    })
}

fn row((tried, settings, code, reason, named): &Claim) -> Row {
    let scene = saying(settings);
    scene.victim.append(&turn(2)).unwrap();
    scene.arm();
    let error = scene.victim.flush().unwrap_err();
    let went_on = is_clean(&error, *code, reason, named)
        .and_then(|()| scene.goes_on(6))
        .and_then(|()| scene.ends_well(6));
    Row {
        tried: (*tried).to_owned(),
        got: told(&error),
        went_on,
    }
}

fn is_clean(error: &Error, code: ErrorCode, reason: &str, named: &str) -> Result<(), String> {
    let Error { message, .. } = error;
    let is_readable = message.len() <= MESSAGE_BYTES_MAX && !message.contains(char::is_control);
    let is_named = message.contains(named) && message.contains("hostile");
    let has_component =
        error.detail.contains("\"component\":\"") && error.detail.contains("hostile");
    let is_whole = error.detail.len() < 1000 && error.detail.ends_with('}');
    let is_expected = (error.code, error.reason.as_str()) == (code, reason);
    if is_readable && is_named && has_component && is_whole && is_expected {
        Ok(())
    } else {
        let Error { reason, detail, .. } = error;
        Err(format!(
            "{reason:.100?} {detail:.100} says {} bytes: {message:.400?}",
            message.len()
        ))
    }
}

/// Entries that are not what they say are listed as damaged, without their header.
fn listed() -> Row {
    let scene = Scene::new("listing of other headers", |place, _| place);
    scene.arm();
    let listed = scene.annals.sessions().unwrap();
    let damaged = |entry: &annals::SessionEntry| {
        entry.status == SessionStatus::Damaged && entry.header.is_none() && entry.note.is_some()
    };
    let (wrong, right): (Vec<_>, Vec<_>) = listed.into_iter().partition(damaged);
    let went_on = match (wrong.len(), right.as_slice()) {
        (4, [right]) if right.id == "right" && right.header.is_some() => scene.goes_on(3),
        _ => Err(format!("{wrong:?} {right:?}")),
    };
    Row {
        tried: "listing of other headers".to_owned(),
        got: "nothing: they are listed as damaged".to_owned(),
        went_on: went_on.and_then(|()| scene.ends_well(3)),
    }
}

// A forged veto let a session go whose events nobody was told of as not stored.
#[test]
fn a_backend_cannot_veto_as_an_observer() {
    let scene = saying(&[("reason", "listener-error")]);
    scene.victim.append(&turn(2)).unwrap();
    scene.arm();
    let root = scene.root();
    let Scene {
        annals,
        victim,
        bystander,
        directory,
    } = scene;
    drop((victim, bystander));
    // Sent after the handles were dropped, so it comes after that.
    assert_eq!(annals.live().unwrap(), ["victim"]);
    fs::remove_file(root.join("armed")).unwrap();
    annals.shutdown().unwrap();
    let again = Annals::builder().place(Scene::place(&root, "")).build();
    let (victim, _) = again.unwrap().open("victim", OpenMode::Inspect).unwrap();
    assert_eq!(victim.next_seq().unwrap(), 6);
    drop(directory);
}
