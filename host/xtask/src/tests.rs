//! `cargo xtask test`: builds, then runs the tests of every part, and ends with a table and the counts.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::conformance::runner;
use crate::{demo, smoke};

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
    /// The command, end to end
    Cli,
    /// The recorded cases in `ANNALS_VECTORS`
    Conformance,
    /// The README's first command
    Demo,
    /// System calls, killed processes, large roots
    System,
    /// The interface from Node and Python
    Smoke,
}

/// How many checks passed and failed, and what could not run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub passed: u64,
    pub failed: u64,
    /// Why something was left out, for people.
    pub left_out: Vec<String>,
}

impl Outcome {
    pub fn left_out(reason: impl Into<String>) -> Self {
        Self {
            left_out: vec![reason.into()],
            ..Self::default()
        }
    }

    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.left_out.extend(other.left_out);
    }

    /// In CI a test that cannot run is a failed one.
    fn judge(&mut self) {
        if std::env::var_os("CI").is_some_and(|value| value == "true") {
            self.failed += self.left_out.len() as u64;
        }
    }
}

struct Row {
    name: String,
    seconds: f64,
    outcome: Outcome,
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
            | Self::Cli
            | Self::Conformance
            | Self::Demo
            | Self::System
            | Self::Smoke => true,
        }
    }

    fn run(self) -> Result<Outcome> {
        match self {
            Self::Core => cargo_test(Profile::Dev, &["annals-core"]),
            Self::Properties => measured("all"),
            Self::Large => measured("large"),
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
            Self::Host => cargo_test(Profile::Release, &["annals", "xtask"]),
            Self::Hostile => hostile(),
            Self::Cli => cli(),
            Self::Conformance => conformance(),
            Self::Demo => demo::check(),
            Self::System => system(),
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
fn hostile() -> Result<Outcome> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "--release", "--package", "annals-hostile"]);
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

/// Runs a command, shows its output as it comes and counts the checks that `read` finds in its lines. A command that
/// fails without a failed check counts as one.
pub fn watch(command: &mut Command, read: fn(&str) -> Option<Outcome>) -> Result<Outcome> {
    let shown = format!("{command:?}");
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| shown.clone())?;
    let mut outcome = Outcome::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            if let Some(read) = read(&line) {
                outcome.add(read);
            }
        }
    }
    if !child.wait()?.success() && outcome.failed == 0 {
        eprintln!("failed: {shown}");
        outcome.failed = 1;
    }
    Ok(outcome)
}

/// `test result: ok. 12 passed; 0 failed; ...`
fn cargo_line(line: &str) -> Option<Outcome> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    counted(counts, "; ")
}

/// `12 passed, 0 failed, 3 skipped`, alone on the line.
fn counts_line(line: &str) -> Option<Outcome> {
    counted(line.trim(), ", ")
}

fn counted(counts: &str, separator: &str) -> Option<Outcome> {
    let mut counts = counts.split(separator);
    let passed = counts.next()?.strip_suffix(" passed")?.parse().ok()?;
    let failed = counts.next()?.strip_suffix(" failed")?.parse().ok()?;
    Some(Outcome {
        passed,
        failed,
        ..Outcome::default()
    })
}

/// Prints the table, what was left out, and the counts as the last line.
fn report(rows: &[Row]) -> ExitCode {
    let mut total = Outcome::default();
    let mut table = format!(
        "\n{:<12} {:>8} {:>8} {:>8}\n",
        "part", "seconds", "passed", "failed"
    );
    for Row {
        name,
        seconds,
        outcome,
    } in rows
    {
        let Outcome { passed, failed, .. } = outcome;
        let _ = writeln!(table, "{name:<12} {seconds:>8.1} {passed:>8} {failed:>8}");
        total.passed += passed;
        total.failed += failed;
    }
    for reason in rows.iter().flat_map(|row| &row.outcome.left_out) {
        let _ = writeln!(table, "left out: {reason}");
    }
    println!("{table}\n{} passed, {} failed", total.passed, total.failed);
    if total.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod closing_lines {
    use super::*;

    fn outcome(passed: u64, failed: u64) -> Option<Outcome> {
        Some(Outcome {
            passed,
            failed,
            ..Outcome::default()
        })
    }

    #[test]
    fn counts_are_read_from_these_only() {
        let closing =
            "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(cargo_line(closing), outcome(12, 3));
        assert_eq!(cargo_line("test surface::fold ... ok"), None);
        assert_eq!(counts_line("9 passed, 0 failed, 2 skipped"), outcome(9, 0));
        assert_eq!(counts_line("jsonl-load: 9 passed, 0 failed"), None);
    }
}
