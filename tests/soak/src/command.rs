//! The `annals` command, and how a run of it ended.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::counts::Counts;
use crate::processes::{Processes, Running};

/// How long a holder may show no sign of life here; it shows one every second.
pub const LEASE_TTL: Duration = Duration::from_millis(1500);

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const SIGTERM_CODE: i32 = 128 + SIGTERM;

/// The command on one root.
#[derive(Debug)]
pub struct Annals {
    pub program: PathBuf,
    pub root: PathBuf,
    pub processes: Processes,
    pub counts: Counts,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Done,
    /// Refused or failed, and nothing was done that was not printed.
    Refused(Refusal),
    /// SIGTERM: what was accepted is stored and printed.
    Terminated,
    /// SIGKILL, or a SIGTERM that nobody handled, such as the second one: anything may be.
    Killed,
    /// What no command may do.
    Unexpected,
}

/// Why it was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Busy,
    NoSpace,
    /// Somebody took over from a holder that was silent; whether its last batch went in is not known.
    LeaseLost,
    /// Damage was found, or the format is another.
    Damaged,
    Other,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Ran {
    pub ending: Ending,
    pub printed: String,
    pub errors: String,
}

impl Annals {
    /// Where a session without a working directory has its log; its id needs no escapes.
    #[must_use]
    pub fn log_path(&self, id: &str) -> PathBuf {
        self.root.join("_no-cwd").join(format!("{id}.jsonl"))
    }

    /// Starts the command for thread `owner`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&self, owner: u64, arguments: &[&str]) -> Result<Running<'_>> {
        let mut command = Command::new(&self.program);
        command.arg("--root").arg(&self.root);
        let ttl = LEASE_TTL.as_millis();
        command.arg("--set").arg(format!("lease-ttl-ms={ttl}"));
        command.args(arguments);
        self.counts.started.add(1);
        let started = self.processes.start(&mut command, owner);
        started.with_context(|| format!("{} cannot be started", self.program.display()))
    }

    /// Runs the command to its end. What it may answer is up to the caller, but for what no command may.
    ///
    /// # Errors
    /// It cannot be started or waited for.
    pub fn run(&self, owner: u64, arguments: &[&str], input: &str) -> Result<Ran> {
        let mut running = self.start(owner, arguments)?;
        if let Some(mut stdin) = running.stdin() {
            // one that has ended takes none
            let _ = stdin.write_all(input.as_bytes());
        }
        let mut printed = Vec::new();
        if let Some(mut stdout) = running.stdout() {
            stdout.read_to_end(&mut printed)?;
        }
        let (ending, errors) = self.ended(running, arguments)?;
        Ok(Ran {
            ending,
            printed: String::from_utf8_lossy(&printed).into_owned(),
            errors,
        })
    }

    /// Waits for the end of one that was started here, and counts it.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn ended(&self, running: Running<'_>, arguments: &[&str]) -> Result<(Ending, String)> {
        let (status, errors) = running.end()?;
        let ending = ending_of(status, &errors);
        let counts = &self.counts;
        let is_unhandled = status.signal() == Some(SIGTERM);
        counts.unhandled.add(u64::from(is_unhandled));
        counts.torn.add(u64::from(errors.contains("cut a bad end")));
        match ending {
            Ending::Done => {}
            Ending::Killed => counts.killed.add(1),
            Ending::Terminated => counts.terminated.add(1),
            Ending::Refused(Refusal::Busy) => counts.busy.add(1),
            Ending::Refused(Refusal::NoSpace) => counts.no_space.add(1),
            Ending::Refused(Refusal::LeaseLost) => counts.lease_lost.add(1),
            Ending::Refused(Refusal::Damaged) => {}
            Ending::Refused(Refusal::Other) => counts.refused(&errors),
            Ending::Unexpected => {
                let shown = arguments.join(" ");
                counts.note_unexpected(format!("annals {shown}: {status}: {errors}"));
            }
        }
        Ok((ending, errors))
    }

    /// The bytes of a session's log; none when it is not there.
    #[must_use]
    pub fn log(&self, id: &str) -> Option<Vec<u8>> {
        std::fs::read(self.log_path(id)).ok()
    }
}

fn ending_of(status: ExitStatus, errors: &str) -> Ending {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ending::Done,
        (Some(1), _) => Ending::Refused(refusal_of(errors)),
        (Some(3), _) => Ending::Refused(Refusal::Damaged),
        (Some(SIGTERM_CODE), _) => Ending::Terminated,
        (None, Some(SIGTERM | SIGKILL)) => Ending::Killed,
        _ => Ending::Unexpected,
    }
}

fn refusal_of(errors: &str) -> Refusal {
    let says = |words: &[&str]| words.iter().any(|word| errors.contains(word));
    if says(&["lost its lease", "not held by this writer"]) {
        Refusal::LeaseLost
    } else if says(&["free some space", "no space left"]) {
        Refusal::NoSpace
    } else if says(&["is being written by", "changes all the time"]) {
        Refusal::Busy
    } else {
        Refusal::Other
    }
}

/// Whole lines of printed seqs; a cut one does not count.
#[must_use]
pub fn seqs_of(printed: &str) -> Vec<u64> {
    let whole = printed
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole
        .map_while(|line| line.trim_end().parse().ok())
        .collect()
}

/// A program by its path, or what `cargo xtask build` left.
///
/// # Errors
/// It is not there.
pub fn program(given: Option<&Path>) -> Result<PathBuf> {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/annals/annals");
    let path = given.map_or_else(built, Path::to_path_buf);
    std::fs::canonicalize(&path)
        .with_context(|| format!("{} is not there: run cargo xtask build", path.display()))
}
