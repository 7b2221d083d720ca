//! `cargo xtask soak`: processes that append, kill each other and fill a small disk, driven by `annals-soak`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::build;
use crate::outcome::Outcome;

/// Lay siege to the command: several processes append, kill each other and fill a small disk, and every log is read
#[derive(Args, Debug)]
pub struct Soak {
    /// How long
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// Makes the choices of an earlier run again; by default the time
    #[arg(long)]
    seed: Option<u64>,
    /// How many append at once
    #[arg(long)]
    writers: Option<u64>,
    /// Leave the full disk out, where none can be mounted
    #[arg(long)]
    no_full_disk: bool,
}

impl Soak {
    /// Builds the command and lays siege to it; the exit code is 1 when something was lost, doubled or left out.
    ///
    /// # Errors
    /// Something cannot be built or started.
    pub fn run(&self) -> Result<ExitCode> {
        build::run()?;
        let mut command = runner(&directory())?;
        command.args(["--seconds", &(self.minutes * 60).to_string()]);
        if let Some(seed) = self.seed {
            command.args(["--seed", &seed.to_string()]);
        }
        if let Some(writers) = self.writers {
            command.args(["--writers", &writers.to_string()]);
        }
        if self.no_full_disk {
            command.arg("--no-full-disk");
        }
        let status = command.status().with_context(|| format!("{command:?}"))?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
    }
}

/// A short siege as a test, and why it is less than it could be. The command has to be built.
///
/// # Errors
/// Something cannot be built or started.
pub fn short() -> Result<(Command, Outcome)> {
    let mut command = runner(&directory())?;
    command.args(["--seconds", "12", "--round-seconds", "6", "--seed", "1"]);
    let mut outcome = Outcome::default();
    if !has_small_disk() {
        command.arg("--no-full-disk");
        outcome = Outcome::left_out("soak: the full disk, no tmpfs can be mounted with unshare");
    }
    Ok((command, outcome))
}

/// A new directory for journals and evidence; it stays when there is any.
fn directory() -> PathBuf {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let name = format!("{}-{}", now.as_secs(), std::process::id());
    build::workspace().join("target/soak").join(name)
}

/// `annals-soak`, built, on the built command.
fn runner(directory: &Path) -> Result<Command> {
    build::cargo(&["build", "--quiet", "--package", "annals-soak"])?;
    let program = build::debug_binary("annals-soak");
    ensure!(program.exists(), "{} is not there", program.display());
    let mut command = Command::new(program);
    command.arg("--directory").arg(directory);
    command.arg("--program").arg(build::command());
    Ok(command)
}

/// Whether a disk of our own can be mounted, as `annals-soak` does it.
fn has_small_disk() -> bool {
    ["-m", "-rm"].iter().any(|flags| {
        let mut mount = Command::new("unshare");
        mount.args([flags, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
        mount.output().is_ok_and(|ran| ran.status.success())
    })
}
