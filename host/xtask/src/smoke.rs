//! The smoke tests in Node and Python: installs what they need below `target/smoke` and runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::build;
use crate::outcome::{Outcome, watch};

const NODE_MAJOR_MIN: u32 = 20;

/// Both languages; one that is not installed is left out.
pub fn run() -> Result<Outcome> {
    let workspace = build::workspace();
    let mut outcome = node(&workspace)?;
    outcome.add(python(&workspace)?);
    Ok(outcome)
}

fn node(workspace: &Path) -> Result<Outcome> {
    let Some(version) = answer("node", &["--version"]) else {
        return Ok(Outcome::left_out("smoke: node is not installed"));
    };
    let major = version.trim_start_matches('v').split('.').next();
    if major
        .and_then(|major| major.parse().ok())
        .is_none_or(|major: u32| major < NODE_MAJOR_MIN)
    {
        let reason = format!("smoke: node is {version}, at least {NODE_MAJOR_MIN} is needed");
        return Ok(Outcome::left_out(reason));
    }
    if answer("npm", &["--version"]).is_none() {
        return Ok(Outcome::left_out("smoke: npm is not installed"));
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
    let Some(version) = answer("python3", &["--version"]) else {
        return Ok(Outcome::left_out("smoke: python3 is not installed"));
    };
    let place = workspace.join("target/smoke/python");
    let interpreter = place.join("bin/python");
    let sources = workspace.join("tests/smoke/python");
    let requirements = sources.join("requirements.txt");
    if answer("python3", &["-m", "ensurepip", "--version"]).is_none() {
        let reason = format!("smoke: {version} lacks ensurepip (Debian: python3-venv)");
        return Ok(Outcome::left_out(reason));
    }
    install(&place, &requirements, |place| {
        succeed(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(place),
        )?;
        let mut pip = Command::new(&interpreter);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
        ]);
        succeed(pip.arg(&requirements))
    })?;
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

/// Runs `make` unless it has succeeded for these very `wanted` packages before.
fn install(place: &Path, wanted: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let wanted = fs::read(wanted).with_context(|| wanted.display().to_string())?;
    let done = place.join("installed");
    if fs::read(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    make(place)?;
    Ok(fs::write(done, wanted)?)
}

/// What a program says when asked; none when it is not there or fails.
fn answer(program: &str, question: &[&str]) -> Option<String> {
    let output = Command::new(program).args(question).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
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
