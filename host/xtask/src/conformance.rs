//! `cargo xtask conformance`: recorded cases of the reference implementation, run by `annals-conformance`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::build;

/// Run recorded cases of the reference implementation
#[derive(Args, Debug)]
pub struct Conformance {
    /// The directory of the vector files
    #[arg(env = "ANNALS_VECTORS")]
    dir: PathBuf,
    /// Run this suite only; may be repeated
    #[arg(long = "suite", value_name = "NAME")]
    suites: Vec<String>,
    /// Run over this way of linking store and backend only
    #[arg(long, value_enum)]
    via: Option<Via>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Via {
    /// As one Rust program
    Native,
    /// As linked components
    Wasm,
}

impl Conformance {
    /// Builds what is run and runs it; its exit code is passed on.
    ///
    /// # Errors
    /// Something cannot be built or started.
    pub fn run(&self) -> Result<ExitCode> {
        if self.via != Some(Via::Native) {
            build::run()?;
        }
        let mut command = runner(&self.dir);
        for suite in &self.suites {
            command.args(["--suite", suite]);
        }
        match self.via {
            Some(Via::Native) => drop(command.args(["--via", "native"])),
            Some(Via::Wasm) => drop(command.args(["--via", "wasm"])),
            None => {}
        }
        let status = command.status().with_context(|| format!("{command:?}"))?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
    }
}

/// The command that runs the vectors of `dir` and closes with its counts; the components have to be built.
pub fn runner(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "annals-conformance",
        "--",
    ]);
    command.arg(dir);
    command
}
