//! `cargo xtask build`: the components, their bundle, and the command, all below `target/annals`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use wit_component::ComponentEncoder;

/// A component that becomes one only when it is wrapped: nothing in it needs WASI.
const BARE: &str = "wasm32-unknown-unknown";
/// A component that uses files; the target's linker makes the component.
const WASI: &str = "wasm32-wasip2";

/// Components by name and target; the crate of each is `annals-<name>`.
const COMPONENTS: [(&str, &str); 3] = [("store", BARE), ("memory", BARE), ("jsonl", WASI)];

/// Builds everything and prints a table of sizes. Quick when nothing changed.
///
/// # Errors
/// The first step that failed.
pub fn run() -> Result<()> {
    bundle()?;
    cargo(&["build", "--release", "--package", "annals-cli"])?;
    let built = release_binary("annals");
    if write_changed(&command(), &fs::read(&built)?)? {
        fs::set_permissions(command(), fs::metadata(&built)?.permissions())?;
    }
    print_sizes(&artefacts())
}

/// Builds the components and what the library embeds of them.
///
/// # Errors
/// The first step that failed.
pub fn bundle() -> Result<()> {
    let artefacts = artefacts();
    fs::create_dir_all(&artefacts)?;
    add_targets()?;
    for target in [BARE, WASI] {
        build_components(target)?;
    }
    for (name, target) in COMPONENTS {
        let built = target_directory()
            .join(target)
            .join("guest")
            .join(format!("annals_{name}.wasm"));
        let bytes = fs::read(&built).with_context(|| built.display().to_string())?;
        let component = if target == BARE {
            wrap(name, &bytes)?
        } else {
            bytes
        };
        write_changed(&artefacts.join(format!("{name}.wasm")), &component)?;
    }

    cargo(&[
        "build",
        "--release",
        "--package",
        "annals",
        "--bin",
        "annals-bundle",
    ])?;
    let mut bundle = Command::new(release_binary("annals-bundle"));
    run_command(bundle.arg(&artefacts))
}

/// The top of the repository.
#[must_use]
pub fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// Where the artefacts are.
#[must_use]
pub fn artefacts() -> PathBuf {
    workspace().join("target/annals")
}

/// The command as `cargo xtask build` leaves it.
#[must_use]
pub fn command() -> PathBuf {
    artefacts().join(format!("annals{}", std::env::consts::EXE_SUFFIX))
}

/// Where cargo puts what it builds.
fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

fn release_binary(name: &str) -> PathBuf {
    binary("release", name)
}

/// A binary that is built to be debugged.
pub(crate) fn debug_binary(name: &str) -> PathBuf {
    binary("debug", name)
}

fn binary(profile: &str, name: &str) -> PathBuf {
    target_directory()
        .join(profile)
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Adds the wasm targets that are missing. Without rustup they have to be there already, and cargo says so if not.
fn add_targets() -> Result<()> {
    let Ok(listed) = rustup(&["target", "list", "--installed"]).output() else {
        return Ok(());
    };
    let installed = String::from_utf8_lossy(&listed.stdout);
    for target in [BARE, WASI] {
        if installed.lines().any(|line| line.trim() == target) {
            continue;
        }
        println!("adding the target {target} with rustup");
        run_command(&mut rustup(&["target", "add", target]))?;
    }
    Ok(())
}

/// In the workspace, whose toolchain file decides what is asked for.
fn rustup(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(arguments).current_dir(workspace());
    command
}

fn build_components(target: &str) -> Result<()> {
    let mut arguments = vec!["build", "--profile", "guest", "--target", target];
    let packages: Vec<String> = COMPONENTS
        .iter()
        .filter(|(_, of)| *of == target)
        .map(|(name, _)| format!("--package=annals-{name}"))
        .collect();
    arguments.extend(packages.iter().map(String::as_str));
    cargo(&arguments)
}

/// Makes a component of a core module that carries its interface.
fn wrap(name: &str, module: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|encoder| encoder.encode())
        .with_context(|| format!("{name} is no component"))
}

/// Keeps the time of a file whose content stays, so that nothing is built again because of it.
fn write_changed(path: &Path, bytes: &[u8]) -> Result<bool> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(false);
    }
    // A running command keeps its file; the new one takes its name.
    let _ = fs::remove_file(path);
    fs::write(path, bytes).with_context(|| path.display().to_string())?;
    Ok(true)
}

pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    run_command(
        Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(workspace()),
    )
}

fn run_command(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("{command:?} cannot be started"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

fn print_sizes(artefacts: &Path) -> Result<()> {
    println!("\n{:<20} {:>12}", "target/annals", "bytes");
    let mut files = Vec::new();
    for entry in fs::read_dir(artefacts)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.push((entry.file_name(), entry.metadata()?.len()));
        }
    }
    files.sort();
    for (name, bytes) in files {
        println!("{:<20} {bytes:>12}", name.to_string_lossy());
    }
    Ok(())
}
