//! The contract of a backend, held against every backend there is: natively, and as components in the sandbox.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::build;
use crate::outcome::{Outcome, cargo_line, counts_line, watch};

/// What seals in a test.
const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// All of it, with the tables: each backend alone, and with middleware over it.
pub fn run() -> Result<Outcome> {
    let mut outcome = watch(
        cargo(&build::workspace()).args(["test", "--package", "annals-contract"]),
        cargo_line,
    )?;
    let native = ["test", "--", "--nocapture"];
    outcome.add(watch(template().args(native), cargo_line)?);
    let components = components()?;
    let stacks = components.iter().map(|component| (component, true));
    let alone = components.iter().map(|component| (component, false));
    for (component, is_sealed) in alone.chain(stacks) {
        let through = if is_sealed { " through encrypt" } else { "" };
        println!("\n-- {}{through}", component.display());
        let mut command = Command::new(build::command());
        command.args(["backend", "test"]).arg(component);
        if is_sealed {
            command
                .args(["--through", "encrypt"])
                .env("ANNALS_KEY", KEY);
        }
        outcome.add(watch(&mut command, counts_line)?);
    }
    Ok(outcome)
}

/// The bundled ones by name and as files, and the template.
fn components() -> Result<Vec<PathBuf>> {
    let release = ["build", "--release", "--target", "wasm32-wasip2"];
    let built = template().args(release).status()?;
    ensure!(built.success(), "the template cannot be built: {built}");
    let template = place().join("wasm32-wasip2/release/annals_template.wasm");
    let artefacts = build::artefacts();
    Ok(vec![
        "jsonl".into(),
        "memory".into(),
        artefacts.join("jsonl.wasm"),
        artefacts.join("memory.wasm"),
        template,
    ])
}

/// cargo as a stranger has it: in a crate of another workspace, with a target folder of its own.
fn template() -> Command {
    let mut command = cargo(&build::workspace().join("components/template"));
    command.env("CARGO_TARGET_DIR", place());
    command
}

fn place() -> PathBuf {
    build::workspace().join("target/template")
}

fn cargo(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(directory);
    command
}
