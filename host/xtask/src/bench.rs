//! `cargo xtask bench`: measurements, made by `annals-bench`.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Args;

use crate::build;

/// Measure speed and memory: `core` holds them against the targets, `link` shows what a call costs through each way of
/// linking; `--quick` only sees whether it runs
#[derive(Args, Debug)]
pub struct Bench {
    /// What `annals-bench` is given: `core`, `link`, `core --quick`, `core --samples 3`
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Bench {
    /// Builds the components and the bench, and runs it; its exit code is passed on.
    ///
    /// # Errors
    /// Something cannot be built or started.
    pub fn run(&self) -> Result<ExitCode> {
        build::bundle()?;
        let mut command = Command::new(env!("CARGO"));
        command.args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "annals-bench",
            "--",
        ]);
        command.args(&self.arguments);
        let status = command.status().with_context(|| format!("{command:?}"))?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
    }
}
