//! What `configure` takes.

use std::path::PathBuf;

use annals_core::fault::quoted;
use annals_sdk::types::{Durability, Error, ErrorCode};

/// When writes are made durable, and so what an ok promises. Only `always` waits for the medium; the other two write in
/// the same way and differ in what callers may rely on, as `info.durability` says. Whatever is chosen, a copy that takes
/// the place of stored bytes (a cut, a fence) and a delete are synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Content and names are synced before every ok: survives power loss.
    Always,
    /// Handed to the operating system before every ok: survives the process, not power loss.
    Flush,
    /// Nothing is promised: for a medium, or a host of the component, that keeps writes to itself for a while.
    Never,
}

impl Sync {
    /// What an ok means then.
    pub fn durability(self) -> Durability {
        match self {
            Sync::Always => Durability::Power,
            Sync::Flush => Durability::Process,
            Sync::Never => Durability::None,
        }
    }

    /// The promise for people.
    pub fn note(self) -> &'static str {
        match self {
            Sync::Always => "sync = always: an ok survives power loss",
            Sync::Flush => "sync = flush: an ok survives the process, not power loss",
            Sync::Never => "sync = never: an ok promises nothing",
        }
    }
}

/// The settings of the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The directory of everything.
    pub root: PathBuf,
    /// `sync`: `always` unless given.
    pub sync: Sync,
    /// `pack-chunks`: whether the store should pack events itself; no unless given.
    pub pack_chunks: bool,
    /// `lease-ttl-ms`: how long a holder may be silent before others may take its lease; judged by the contender's
    /// host, which is told it by a `busy`.
    pub lease_ttl_ms: u64,
}

/// `lease-ttl-ms` unless given.
const LEASE_TTL_MS: u64 = 10_000;

impl Settings {
    /// Settings by name. `invalid`: an unknown one, one given twice, a value out of range, no `root`.
    pub fn parse(given: &[(String, String)]) -> Result<Settings, Error> {
        let mut seen: Vec<&str> = Vec::new();
        let mut root = None;
        let mut sync = Sync::Always;
        let mut pack_chunks = false;
        let mut lease_ttl_ms = LEASE_TTL_MS;
        for (name, value) in given {
            if seen.contains(&name.as_str()) {
                let message = format!("setting {} is given twice; give it once", quoted(name));
                return Err(invalid("setting-repeated", message, name));
            }
            seen.push(name);
            match name.as_str() {
                "root" if !value.is_empty() => root = Some(PathBuf::from(value)),
                "root" => return Err(out_of_range(name, value, "the path of a directory")),
                "sync" => sync = sync_of(name, value)?,
                "pack-chunks" => pack_chunks = bool_of(name, value)?,
                "lease-ttl-ms" => lease_ttl_ms = milliseconds_of(name, value)?,
                _ => {
                    let known = "root, sync, pack-chunks and lease-ttl-ms";
                    let message =
                        format!("setting {} is unknown; jsonl knows {known}", quoted(name));
                    return Err(invalid("setting-unknown", message, name));
                }
            }
        }
        let root = root.ok_or_else(|| {
            let message =
                "setting \"root\" is missing; name the directory that the sessions are in";
            invalid("setting-missing", message.to_owned(), "root")
        })?;
        Ok(Settings {
            root,
            sync,
            pack_chunks,
            lease_ttl_ms,
        })
    }
}

fn sync_of(name: &str, value: &str) -> Result<Sync, Error> {
    match value {
        "always" => Ok(Sync::Always),
        "flush" => Ok(Sync::Flush),
        "never" => Ok(Sync::Never),
        _ => Err(out_of_range(name, value, "always, flush or never")),
    }
}

fn bool_of(name: &str, value: &str) -> Result<bool, Error> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(out_of_range(name, value, "true or false")),
    }
}

fn milliseconds_of(name: &str, value: &str) -> Result<u64, Error> {
    match value.parse() {
        Ok(0) | Err(_) => Err(out_of_range(
            name,
            value,
            "a number of milliseconds, 1 or more",
        )),
        Ok(milliseconds) => Ok(milliseconds),
    }
}

fn out_of_range(name: &str, value: &str, range: &str) -> Error {
    let message = format!("setting {name:?} is {}; it must be {range}", quoted(value));
    invalid("setting-out-of-range", message, name)
}

fn invalid(reason: &str, message: String, name: &str) -> Error {
    Error::new(ErrorCode::Invalid, reason, message).fact("setting", name)
}
