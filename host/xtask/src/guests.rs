//! The examples in other languages: builds them as their guide says, below `target/guests`, and runs the contract
//! against each, added under its own manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::build;
use crate::outcome::{Outcome, counts_line, watch};
use crate::tools::{answer, install, lacks_node, lacks_python, succeed, venv};

/// Both languages; one that is not installed is left out.
pub fn run() -> Result<Outcome> {
    let mut outcome = match lacks_python() {
        Some(reason) => Outcome::left_out(format!("guests: {reason}")),
        None => tested(&python()?, "python-files")?,
    };
    outcome.add(match lacks_node() {
        Some(reason) => Outcome::left_out(format!("guests: {reason}")),
        None => tested(&javascript()?, "javascript-files")?,
    });
    Ok(outcome)
}

fn python() -> Result<PathBuf> {
    let place = copied("backend-python")?;
    venv(&place.join("venv"), &place.join("requirements.txt"))?;
    let wit = build::workspace().join("wit");
    let mut command = Command::new(place.join("venv/bin/componentize-py"));
    command.arg("-d").arg(wit);
    command.args(["-w", "session-persistence", "componentize", "backend"]);
    command.args(["-o", "give/backend.wasm"]);
    succeed(command.current_dir(&place))?;
    Ok(place)
}

fn javascript() -> Result<PathBuf> {
    let place = copied("backend-javascript")?;
    install(&place, &place.join("package-lock.json"), |place| {
        succeed(Command::new("npm").arg("ci").current_dir(place))
    })?;
    succeed(
        Command::new("npm")
            .args(["run", "build"])
            .current_dir(&place),
    )?;
    Ok(place)
}

/// Adds the backend by its manifest and runs the contract against it by its name: so it has the grants that its manifest
/// asks for, and no others.
fn tested(place: &Path, name: &str) -> Result<Outcome> {
    let give = place.join("give");
    let component = give.join("backend.wasm");
    println!("\n-- {}", component.display());
    let inspect = ["backend", "inspect", "--format", "json"];
    let command = build::command();
    let shown = answer(Command::new(&command).args(inspect).arg(&component));
    let shown: serde_json::Value = serde_json::from_str(&shown.context("inspect failed")?)?;
    let digest = shown.get("sha256").and_then(serde_json::Value::as_str);
    let digest = digest.context("inspect shows no hash")?;
    let manifest = fs::read_to_string(place.join("backend.toml"))?;
    let given = give.join("backend.toml");
    fs::write(&given, format!("sha256 = \"{digest}\"\n{manifest}"))?;
    let annals = || {
        let mut annals = Command::new(&command);
        annals.env("XDG_CONFIG_HOME", place.join("config"));
        annals.arg("backend");
        annals
    };
    succeed(annals().arg("add").arg(&given).arg("--yes"))?;
    watch(annals().args(["test", name]), counts_line)
}

/// A fresh copy of an example's files, beside what was installed for the one before.
fn copied(name: &str) -> Result<PathBuf> {
    let workspace = build::workspace();
    let place = workspace.join("target/guests").join(name);
    copy(&workspace.join("examples").join(name), &place)?;
    fs::create_dir_all(place.join("give"))?;
    Ok(place)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    const BUILT: [&str; 4] = ["give", "venv", "node_modules", "__pycache__"];
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if BUILT.iter().any(|built| entry.file_name() == *built) {
            continue;
        }
        // through links, as that to the interface
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
