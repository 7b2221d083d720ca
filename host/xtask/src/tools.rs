//! What tests in Node and Python need besides cargo: whether it is there, and packages installed once.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

const NODE_MAJOR_MIN: u32 = 20;

/// Why nothing can run in Node; none where it can.
pub fn lacks_node() -> Option<String> {
    let Some(version) = answer(Command::new("node").arg("--version")) else {
        return Some("node is not installed".to_owned());
    };
    let major = version.trim_start_matches('v').split('.').next();
    if major
        .and_then(|major| major.parse().ok())
        .is_none_or(|major: u32| major < NODE_MAJOR_MIN)
    {
        return Some(format!(
            "node is {version}, at least {NODE_MAJOR_MIN} is needed"
        ));
    }
    match answer(Command::new("npm").arg("--version")) {
        Some(_) => None,
        None => Some("npm is not installed".to_owned()),
    }
}

/// Why nothing can run in Python; none where it can.
pub fn lacks_python() -> Option<String> {
    let Some(version) = answer(Command::new("python3").arg("--version")) else {
        return Some("python3 is not installed".to_owned());
    };
    match answer(Command::new("python3").args(["-m", "ensurepip", "--version"])) {
        Some(_) => None,
        None => Some(format!("{version} lacks ensurepip (Debian: python3-venv)")),
    }
}

/// A virtual environment in `place` that has these packages.
pub fn venv(place: &Path, requirements: &Path) -> Result<()> {
    install(place, requirements, |place| {
        succeed(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(place),
        )?;
        let mut pip = Command::new(place.join("bin/python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
        ]);
        succeed(pip.arg(requirements))
    })
}

/// Runs `make` unless it has succeeded for these very `wanted` packages before.
pub fn install(place: &Path, wanted: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let wanted = fs::read(wanted).with_context(|| wanted.display().to_string())?;
    let done = place.join("installed");
    if fs::read(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    make(place)?;
    Ok(fs::write(done, wanted)?)
}

/// What a program says when asked; none when it is not there or fails.
pub fn answer(question: &mut Command) -> Option<String> {
    let output = question.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Runs a command that has to succeed.
pub fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
