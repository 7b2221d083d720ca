//! Whether a backend that was accepted can run: it is started and configured over an empty directory.

use std::path::{Path, PathBuf};

use annals::{Bare, Error, ErrorCode};
use serde_json::Value;

use crate::added::{self, Record, stack};
use crate::commands::cache;
use crate::failure::Failure;

/// What could not be found out here and now, if anything.
///
/// # Errors
/// It cannot run as its manifest has it.
pub fn run(
    record: &Record,
    refused: impl Fn(String) -> Failure,
) -> Result<Option<String>, Failure> {
    let directory = tempfile::tempdir_in(outside(record))
        .map_err(|error| Failure::refused(format!("no temporary directory: {error}")))?;
    let place = annals::Place::new(annals::Backend::None);
    let mut place = stack::place(place, record.present()?, &[], false)?.root(directory.path());
    if let Some(kept) = cache::kept() {
        place = place.cache(kept);
    }
    place = added::kept_off(place);
    let cannot_run = |error: Error| match Failure::configuration(error.clone()) {
        // this process has no more of what it needs
        Failure::Said(exit, message) if exit != crate::failure::Exit::Usage => {
            Failure::Said(exit, message)
        }
        _ => refused(cause(&error)),
    };
    let mut bare = Bare::new(place).map_err(cannot_run)?;
    let settings = bare.settings().to_vec();
    let started = bare.start(directory.path());
    let configured = started.and_then(|mut started| started.configure(&settings));
    let Err(error) = configured else {
        return Ok(None);
    };
    if let Some(name) = unset(record) {
        return Ok(Some(format!(
            "it was not tried, for {name} is not set here: {}",
            error.message
        )));
    }
    let has_stopped = error.reason.starts_with("backend-");
    match error.code {
        // What it connects to, and what is in granted directories, may be there another time.
        ErrorCode::Invalid => Err(refused(cause(&error))),
        _ if has_stopped => Err(refused(cause(&error))),
        _ => Ok(Some(format!("it does not work now: {}", error.message))),
    }
}

/// Where the trial's root lies in nothing that is granted, if there is such a place: the real one may well do so.
fn outside(record: &Record) -> PathBuf {
    let parts = record.accepted.parts();
    let granted: Vec<&Path> = parts
        .flat_map(|part| &part.grants.directories)
        .map(|directory| directory.path.as_path())
        .collect();
    let usual = std::env::temp_dir();
    let is_outside = |place: &PathBuf| {
        let place = place.canonicalize().unwrap_or_else(|_| place.clone());
        !granted.iter().any(|path| place.starts_with(path))
    };
    let mut places = [usual.clone()]
        .into_iter()
        .chain(std::env::current_dir().ok());
    places.find(is_outside).unwrap_or(usual)
}

/// A name of the environment that it wants and that has no value here.
fn unset(record: &Record) -> Option<&str> {
    let mut names = record
        .accepted
        .parts()
        .flat_map(|part| part.grants.environment.iter());
    let name = names.find(|name| std::env::var_os(name).is_none());
    name.map(String::as_str)
}

/// What it says of itself, or why it stopped, without what could be done about a running one.
fn cause(error: &Error) -> String {
    let detail: Value = serde_json::from_str(&error.detail).unwrap_or_default();
    let stopped = detail.get("cause").and_then(Value::as_str);
    let cause = stopped.map_or_else(|| error.message.clone(), |cause| format!("it {cause}"));
    format!("it cannot run so: {cause}")
}
