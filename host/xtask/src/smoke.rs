//! The smoke tests in Node and Python: installs what they need below `target/smoke` and runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::build;
use crate::outcome::{Outcome, watch};
use crate::tools::{install, lacks_node, lacks_python, succeed, venv};

/// Both languages; one that is not installed is left out.
pub fn run() -> Result<Outcome> {
    let workspace = build::workspace();
    let mut outcome = node(&workspace)?;
    outcome.add(python(&workspace)?);
    Ok(outcome)
}

fn node(workspace: &Path) -> Result<Outcome> {
    if let Some(reason) = lacks_node() {
        return Ok(Outcome::left_out(format!("smoke: {reason}")));
    }
    let sources = workspace.join("tests/smoke/node");
    let place = workspace.join("target/smoke/node");
    fs::create_dir_all(&place)?;
    // Node looks for packages beside the script, so the scripts go to where the packages are.
    for entry in fs::read_dir(&sources)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), place.join(entry.file_name()))?;
        }
    }
    install(&place, &sources.join("package-lock.json"), |place| {
        succeed(Command::new("npm").arg("ci").current_dir(place))
    })?;
    let mut command = Command::new("node");
    command
        .arg(place.join("smoke.mjs"))
        .args(arguments(workspace));
    watch(&mut command, check_line)
}

fn python(workspace: &Path) -> Result<Outcome> {
    if let Some(reason) = lacks_python() {
        return Ok(Outcome::left_out(format!("smoke: {reason}")));
    }
    let place = workspace.join("target/smoke/python");
    let interpreter = place.join("bin/python");
    let sources = workspace.join("tests/smoke/python");
    venv(&place, &sources.join("requirements.txt"))?;
    let mut command = Command::new(&interpreter);
    command
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(sources.join("smoke.py"));
    watch(command.args(arguments(workspace)), check_line)
}

/// What both scripts take: the component, the command, the story.
fn arguments(workspace: &Path) -> [PathBuf; 3] {
    let component = build::artefacts().join("annals-jsonl.wasm");
    let story = workspace.join("tests/smoke/story.json");
    [component, build::command(), story]
}

/// `ok node: ...` or `FAILED python: ...`, one line a check.
fn check_line(line: &str) -> Option<Outcome> {
    let (passed, failed) = match line.split_once(' ')?.0 {
        "ok" => (1, 0),
        "FAILED" => (0, 1),
        _ => return None,
    };
    Some(Outcome {
        passed,
        failed,
        ..Outcome::default()
    })
}
