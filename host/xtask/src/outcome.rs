//! What checks came to: counted out of the lines that a command prints, and shown as one table.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};

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
    pub fn judge(&mut self) {
        if std::env::var_os("CI").is_some_and(|value| value == "true") {
            self.failed += self.left_out.len() as u64;
        }
    }
}

/// One part of the tests, run.
pub struct Row {
    pub name: String,
    pub seconds: f64,
    pub outcome: Outcome,
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
pub fn cargo_line(line: &str) -> Option<Outcome> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    counted(counts, "; ")
}

/// `12 passed, 0 failed, 3 skipped`, alone on the line.
pub fn counts_line(line: &str) -> Option<Outcome> {
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
pub fn report(rows: &[Row]) -> ExitCode {
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
