//! Peak memory: each figure from a process of its own that opens one stored log.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::side::{Native, Side, Wasm};

/// What the child process does.
#[derive(Args, Debug)]
pub struct Peak {
    /// How to run
    #[arg(long)]
    via: Via,
    /// Where the log is stored
    #[arg(long)]
    root: std::path::PathBuf,
    /// Whose log it is
    #[arg(long)]
    id: String,
}

/// One way to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Via {
    /// As one Rust program
    Native,
    /// As linked components
    Wasm,
}

impl Peak {
    /// In the child process: opens the log and prints the peak in bytes.
    ///
    /// # Errors
    /// Whatever the side answers; a system that does not say how much memory a process has.
    pub fn run(&self) -> Result<()> {
        match self.via {
            Via::Native => open(&mut Native::open(&self.root)?, &self.id)?,
            Via::Wasm => open(&mut Wasm::open(&self.root)?, &self.id)?,
        }
        Ok(())
    }
}

fn open(side: &mut impl Side, id: &str) -> Result<()> {
    side.load(id)?;
    println!("{}", own_peak()?);
    side.leave()
}

/// Bytes of memory that this process had at most so far, everything counted.
fn own_peak() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes: u64 = kibibytes
        .context("no VmHWM in /proc/self/status")?
        .parse()?;
    Ok(kibibytes * 1024)
}

/// Peak memory of a process that opens the log, in bytes.
///
/// # Errors
/// What the child process says.
pub fn of_load(via: Via, root: &Path, id: &str) -> Result<u64> {
    let name = via.to_possible_value().context("a way without a name")?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["peak", "--via", name.get_name(), "--id", id, "--root"]);
    let output = command.arg(root).output()?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}
