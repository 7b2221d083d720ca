//! `cargo xtask test`: builds, then runs the tests of every part, and ends with a table and the counts.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::conformance::runner;
use crate::outcome::{Outcome, Row, cargo_line, counts_line, report, watch};
use crate::{contract, demo, guests, smoke, soak};

/// Run the tests of every part, or of some
#[derive(Args, Debug)]
pub struct Test {
    /// Run these parts only; may be repeated
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The rules, without a component
    Core,
    /// Random logs against a model, ten thousand for each property
    Properties,
    /// Deep, long and many: how time and memory grow
    Large,
    /// Each component's own tests, native
    Components,
    /// Power cuts and errors at every operation of a simulated disk
    Crash,
    /// The linked components, through the Rust library
    Host,
    /// Backends that mean harm, and the table of what they got
    Hostile,
    /// Backends that change under load, and a checker of what each medium was left with
    Swap,
    /// The contract of a backend, against all that there are, natively and as components
    Contract,
    /// The contract, against the example backends in Python and JavaScript
    Guests,
    /// The command, end to end
    Cli,
    /// The recorded cases in `ANNALS_VECTORS`
    Conformance,
    /// The README's first command
    Demo,
    /// System calls, killed processes, large roots
    System,
    /// A short siege: processes append, kill each other and fill a small disk
    Soak,
    /// The interface from Node and Python
    Smoke,
}

impl Test {
    /// Runs the chosen parts, going on past failures; a failed build ends it.
    pub fn run(&self) -> Result<ExitCode> {
        let chosen = |part: &Part| self.only.is_empty() || self.only.contains(part);
        let parts: Vec<Part> = Part::value_variants()
            .iter()
            .copied()
            .filter(chosen)
            .collect();
        let mut rows = Vec::new();
        if parts.iter().any(|part| part.needs_artefacts()) {
            let started = Instant::now();
            let outcome = build();
            let failed = outcome.failed > 0;
            rows.push(Row {
                name: "build".into(),
                seconds: started.elapsed().as_secs_f64(),
                outcome,
            });
            if failed {
                return Ok(report(&rows));
            }
        }
        for part in parts {
            println!("\n== {}", part.name());
            let started = Instant::now();
            let mut outcome = part.run().unwrap_or_else(|error| failure(&error));
            outcome.judge();
            rows.push(Row {
                name: part.name(),
                seconds: started.elapsed().as_secs_f64(),
                outcome,
            });
        }
        Ok(report(&rows))
    }
}

/// The same as `cargo xtask build`. Its own table shows what was built, so it counts no checks unless it fails.
fn build() -> Outcome {
    match crate::build::run() {
        Ok(()) => Outcome::default(),
        Err(error) => failure(&error),
    }
}

/// Something that ended before its checks did.
fn failure(error: &anyhow::Error) -> Outcome {
    eprintln!("failed: {error:#}");
    Outcome {
        failed: 1,
        ..Outcome::default()
    }
}

impl Part {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether it uses what `cargo xtask build` leaves.
    fn needs_artefacts(self) -> bool {
        match self {
            Self::Core | Self::Properties | Self::Large | Self::Components | Self::Crash => false,
            Self::Host
            | Self::Hostile
            | Self::Swap
            | Self::Contract
            | Self::Guests
            | Self::Cli
            | Self::Conformance
            | Self::Demo
            | Self::System
            | Self::Soak
            | Self::Smoke => true,
        }
    }

    fn run(self) -> Result<Outcome> {
        match self {
            Self::Core => cargo_test(Profile::Dev, &["annals-core"]),
            Self::Properties => measured("all"),
            Self::Large => sizes(),
            Self::Components => cargo_test(
                Profile::Dev,
                &[
                    "annals-sdk",
                    "annals-store",
                    "annals-jsonl",
                    "annals-memory",
                    "annals-encrypt",
                ],
            ),
            Self::Crash => crash(),
            Self::Host => cargo_test(Profile::Release, &["annals", "annals-bench", "xtask"]),
            Self::Hostile => shown("annals-hostile"),
            Self::Swap => shown("annals-swap"),
            Self::Contract => contract::run(),
            Self::Guests => guests::run(),
            Self::Cli => cli(),
            Self::Conformance => conformance(),
            Self::Demo => demo::check(),
            Self::System => system(),
            Self::Soak => siege(),
            Self::Smoke => smoke::run(),
        }
    }
}

/// Parts that are built on wasmtime use the profile of the command, so that wasmtime is built once; the others use
/// the one that checks arithmetic.
#[derive(Clone, Copy)]
enum Profile {
    Dev,
    Release,
}

fn cargo_test(profile: Profile, packages: &[&str]) -> Result<Outcome> {
    let mut command = Command::new(env!("CARGO"));
    command.arg("test").arg("--no-fail-fast");
    match profile {
        Profile::Dev => {}
        Profile::Release => {
            command.arg("--release");
        }
    }
    for package in packages {
        command.args(["--package", package]);
    }
    watch(&mut command, cargo_line)
}

/// Shown with its table.
fn shown(package: &str) -> Result<Outcome> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "--release", "--package", package]);
    command.args(["--", "--nocapture"]);
    watch(&mut command, cargo_line)
}

/// Optimised, since it looks at a hundred thousand disks, and shown with its counts.
fn crash() -> Result<Outcome> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "--profile", "crash", "--package", "annals-crash"]);
    command.args(["--", "--nocapture", "--test-threads", "1"]);
    watch(&mut command, cargo_line)
}

/// How time and memory grow, and what happens where memory ends.
fn sizes() -> Result<Outcome> {
    let mut outcome = measured("large")?;
    outcome.add(measured("tight")?);
    Ok(outcome)
}

/// A test of `tests/properties`, optimised, with what it counts and measures.
fn measured(test: &str) -> Result<Outcome> {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "test",
        "--release",
        "--package",
        "annals-properties",
        "--test",
        test,
    ]);
    command.args(["--", "--nocapture"]);
    watch(&mut command, cargo_line)
}

fn cli() -> Result<Outcome> {
    let mut outcome = cargo_test(Profile::Release, &["annals-cli"])?;
    if std::env::var_os("ANNALS_FIXTURES").is_none() {
        let reason = "cli: ANNALS_FIXTURES names no directory of recorded logs";
        outcome.add(Outcome::left_out(reason));
    }
    for (what, probe) in CLI_PROBES {
        let [program, arguments @ ..] = probe else {
            continue;
        };
        let ran = Command::new(program).args(arguments).output();
        if !ran.is_ok_and(|ran| ran.status.success()) {
            let reason = format!("cli: {what}, `{}` fails", probe.join(" "));
            outcome.add(Outcome::left_out(reason));
        }
    }
    Ok(outcome)
}

/// What tests of the command need beyond it; without it they pass and have seen nothing.
const CLI_PROBES: [(&str, &[&str]); 3] = [
    ("failing system calls", &["strace", "-V"]),
    (
        "full and read-only media",
        &["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
    ),
    (
        "another user",
        &[
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "true",
        ],
    ),
];

fn conformance() -> Result<Outcome> {
    let mut outcome = cargo_test(Profile::Release, &["annals-conformance"])?;
    let Some(vectors) = std::env::var_os("ANNALS_VECTORS") else {
        outcome.add(Outcome::left_out(
            "conformance: ANNALS_VECTORS names no directory of vectors",
        ));
        return Ok(outcome);
    };
    outcome.add(watch(&mut runner(Path::new(&vectors)), counts_line)?);
    Ok(outcome)
}

fn system() -> Result<Outcome> {
    if Command::new("strace").arg("-V").output().is_err() {
        return Ok(Outcome::left_out("system: strace is not installed"));
    }
    cargo_test(Profile::Release, &["annals-system-tests"])
}

/// The checker's own tests, and ten seconds of what `cargo xtask soak` does for minutes.
fn siege() -> Result<Outcome> {
    let mut outcome = cargo_test(Profile::Dev, &["annals-soak"])?;
    let (mut command, left_out) = soak::short()?;
    outcome.add(left_out);
    outcome.add(watch(&mut command, counts_line)?);
    Ok(outcome)
}
