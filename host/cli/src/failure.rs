//! How a command ends when it does not do what was asked.

use std::io;
use std::process::ExitCode;

use annals::{Annals, ErrorCode};
use annals_core::fault::{Class, Fault, quoted};
use serde_json::Value;

use crate::boundary;
use crate::signals;
use crate::text;
use crate::time;

/// How long a holder that lives may seem silent.
const SILENT_MS_MIN: u64 = 1500;

/// What a `busy` of the bundled backend ends with.
const BUSY_CURE: &str = "; wait, or fork it";

/// The reason of a `busy` that nobody waits for.
const LEASE_LOST: &str = "lease-lost";

/// The exit codes of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    Done = 0,
    /// An expected failure: no such session, an input that breaks a rule, a full disk.
    Refused = 1,
    /// The command line, a setting, the root or the backend component.
    Usage = 2,
    /// What is stored is damaged, or of another format version.
    Integrity = 3,
    /// A fault of this program.
    Fault = 70,
}

impl Exit {
    pub fn code(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}

#[derive(Debug)]
pub enum Failure {
    /// Nobody reads stdout any more.
    ReaderLeft,
    /// The exit code, and one line for stderr that names the thing and, where there is one, the cure.
    Said(Exit, String),
}

/// Why the middleware that seals does not hand on what is stored.
const UNSEALING: [&str; 3] = [
    "sealed-record-unopened",
    "record-not-sealed",
    "log-not-sealed",
];

impl Failure {
    pub fn refused(message: impl Into<String>) -> Self {
        Self::Said(Exit::Refused, message.into())
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::Said(Exit::Usage, message.into())
    }

    /// A failure to link or configure the backend: what the flags named is not usable, unless something ran out.
    pub fn configuration(error: annals::Error) -> Self {
        let has_run_out = error.reason.ends_with("-exhausted") || error.code == ErrorCode::NoSpace;
        match has_run_out {
            true => Self::from(error),
            false => Self::usage(error.message),
        }
    }

    /// A failure after which something stays done, said so that nobody does it again.
    pub fn although(self, done: &str) -> Self {
        match self {
            Self::Said(exit, message) => Self::Said(exit, format!("{message}; {done}")),
            Self::ReaderLeft => Self::ReaderLeft,
        }
    }

    /// A failure of a call about one session, whose name goes before a message that does not have it, with
    /// the command that helps.
    pub fn about(id: &str, error: annals::Error) -> Self {
        let name = quoted(id);
        if error.code == ErrorCode::Busy
            && error.reason != LEASE_LOST
            && let Some(signal) = signals::received()
        {
            let message = format!("session {name}: {signal} ended the wait for whoever writes it");
            return Self::Said(Exit::Refused, message);
        }
        let mut message = dated(&error);
        if !message.contains(&name) {
            message = format!("session {name}: {message}");
        }
        match error.code {
            ErrorCode::NotFound => message.push_str("; annals list shows what is stored"),
            // the key helps, if anything does
            ErrorCode::Corrupt if UNSEALING.contains(&error.reason.as_str()) => {}
            // these say what helps
            ErrorCode::Corrupt
                if matches!(
                    error.reason.as_str(),
                    "log-duplicate" | "not-a-file" | "message-invalid"
                ) => {}
            ErrorCode::Corrupt => {
                message.push_str(
                    "; annals verify says all that is wrong, annals salvage recovers the rest",
                );
            }
            ErrorCode::Busy => {
                // What can be done is said here in commands.
                message = message.replacen(BUSY_CURE, "", 1);
                message.push_str(&how_to_wait(&error));
            }
            _ => {}
        }
        Self::Said(exit_of(error.code), message)
    }

    /// A failure to open a session for writing, with the command that goes on without it where somebody else writes.
    pub fn opening(annals: &Annals, id: &str, error: annals::Error) -> Self {
        let is_held = error.code == ErrorCode::Busy && signals::received().is_none();
        let failure = Self::about(id, error);
        match is_held.then(|| way_on(annals, id)).flatten() {
            Some(way) => failure.although(&way),
            None => failure,
        }
    }
}

/// The command that goes on beside whoever writes a session, as far as it is stored.
fn way_on(annals: &Annals, id: &str) -> Option<String> {
    let boundary = boundary::of_stored(annals, id)?;
    let id = text::shell_word(id);
    match boundary.last {
        Some(_) if boundary.is_at_end() => {
            Some(format!("annals fork {id} makes a copy to go on in"))
        }
        Some(seq) => Some(format!(
            "annals fork {id} --at {seq} makes a copy to go on in, without the turn that is open"
        )),
        None if boundary.events > 0 => Some(format!(
            "annals salvage {id} --fork NEW makes a copy to go on in"
        )),
        None => None,
    }
}

/// What a failed call means to the shell.
pub fn exit_of(code: ErrorCode) -> Exit {
    match code {
        ErrorCode::NotFound
        | ErrorCode::AlreadyExists
        | ErrorCode::SeqConflict
        | ErrorCode::Busy
        | ErrorCode::Invalid
        | ErrorCode::ReadOnly
        | ErrorCode::NoSpace
        | ErrorCode::Limit
        | ErrorCode::Unavailable
        | ErrorCode::Other => Exit::Refused,
        ErrorCode::Corrupt | ErrorCode::UnsupportedVersion => Exit::Integrity,
        // One command makes its calls one after another on a configured store: these are our own doing.
        ErrorCode::NotConfigured | ErrorCode::Reentrant => Exit::Fault,
    }
}

/// What a broken rule in an input means to the shell; an input is not our stored data, so damage in it is refused
/// like any other bad input.
pub fn exit_of_input(fault: &Fault) -> Exit {
    match fault.class() {
        Class::UnsupportedVersion => Exit::Integrity,
        Class::Invalid
        | Class::Corrupt
        | Class::SeqConflict
        | Class::NotFound
        | Class::AlreadyExists
        | Class::Limit
        | Class::ReadOnly => Exit::Refused,
    }
}

impl From<annals::Error> for Failure {
    fn from(error: annals::Error) -> Self {
        Self::Said(exit_of(error.code), dated(&error))
    }
}

/// What longer waiting for a `busy` would do: a holder shows that it lives about once a second.
fn how_to_wait(error: &annals::Error) -> String {
    let detail: Value = serde_json::from_str(&error.detail).unwrap_or_default();
    let number = |name| detail.get(name).and_then(Value::as_u64);
    match (number("silent-ms"), number("lease-ttl-ms")) {
        (Some(silent_ms), Some(ttl_ms)) if silent_ms >= SILENT_MS_MIN => format!(
            "; it has shown no sign of life for {}, --wait {} takes over once that was so for {}",
            time::span(silent_ms),
            ttl_ms.saturating_add(1000),
            time::span(ttl_ms)
        ),
        (Some(_), _) => "; --wait MS waits longer".to_owned(),
        (None, _) => String::new(),
    }
}

/// The message of a `busy` with the holder's time as a date: backends have no calendar.
fn dated(error: &annals::Error) -> String {
    let detail: Option<Value> = serde_json::from_str(&error.detail).ok();
    let since = detail
        .as_ref()
        .and_then(|detail| detail.get("holder")?.get("since")?.as_u64());
    match since {
        Some(since) if error.code == ErrorCode::Busy => {
            let age = detail
                .as_ref()
                .and_then(|detail| detail.get("age-ms")?.as_u64());
            let age = age.map_or_else(String::new, |age| format!(", for {}", time::span(age)));
            let dated = format!("since {}{age}", time::utc(since));
            error.message.replace(&format!("since {since}"), &dated)
        }
        Some(_) | None => error.message.clone(),
    }
}

/// Failures of writing to stdout; other files report theirs by name.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderLeft
        } else {
            Self::refused(format!("cannot write to stdout: {error}"))
        }
    }
}
