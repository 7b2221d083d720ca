//! `cargo xtask fuzz`: looks for inputs that break a property, target by target.
//!
//! Everything it writes lies below `target/fuzz`: the build, inputs to begin with, the corpus of each target, what
//! was found, and what the fuzzer said.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::build;

/// What the fuzzer may use: memory, time and length of one input.
const LIMITS: [&str; 3] = ["-rss_limit_mb=1024", "-timeout=25", "-max_len=16384"];
/// Longest input that is shown; a longer one is only named.
const SHOWN_BYTES_MAX: usize = 2000;

/// Look for inputs that break a property of the core; needs cargo-fuzz and a nightly compiler
#[derive(Args, Debug)]
pub struct Fuzz {
    /// Run this target only; may be repeated
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Minutes for each target
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    minutes: f64,
}

impl Fuzz {
    /// Runs the chosen targets one after another, each with one process, going on past what is found.
    ///
    /// # Errors
    /// A tool is missing, or something cannot be built or started.
    pub fn run(&self) -> Result<ExitCode> {
        let known = targets()?;
        for name in &self.targets {
            ensure!(
                known.contains(name),
                "no fuzz target {name:?}; there are {}",
                known.join(", ")
            );
        }
        let chosen = if self.targets.is_empty() {
            known
        } else {
            self.targets.clone()
        };
        let triple = nightly()?;
        let place = build::workspace().join("target/fuzz");
        write_seeds(&place.join("seeds"))?;
        let mut is_clean = true;
        for name in &chosen {
            let binary = build_target(name, &place, &triple)?;
            is_clean &= self.run_target(name, &binary, &place)?;
        }
        Ok(if is_clean {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// Whether nothing was found.
    fn run_target(&self, name: &str, binary: &Path, place: &Path) -> Result<bool> {
        let seconds = (self.minutes * 60.0).max(1.0).round();
        let (corpus, found, log) = (
            place.join("corpus").join(name),
            place.join("found"),
            place.join(format!("{name}.log")),
        );
        fs::create_dir_all(&corpus)?;
        fs::create_dir_all(&found)?;
        let before = files(&found)?;
        println!("{name}: {seconds} s, log in {}", log.display());
        let mut command = Command::new(binary);
        command.args([&corpus, &place.join("seeds")]);
        command.arg(format!(
            "-dict={}",
            fuzz_crate().join("json.dict").display()
        ));
        command.arg(format!("-artifact_prefix={}/{name}-", found.display()));
        command.arg(format!("-max_total_time={seconds}"));
        command.args(LIMITS).env("RUST_BACKTRACE", "0");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?);
        let status = command.status().with_context(|| format!("{command:?}"))?;
        let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        if status.success() {
            let done = said
                .lines()
                .rev()
                .find(|line| line.starts_with("Done "))
                .unwrap_or("nothing said");
            println!(
                "ok {name}: {done}, {} inputs in the corpus",
                files(&corpus)?.len()
            );
            return Ok(true);
        }
        println!("FAILED {name}");
        let panic = said
            .lines()
            .skip_while(|line| !line.contains("panicked at"));
        panic
            .take_while(|line| !line.starts_with("note: "))
            .for_each(|line| println!("  {line}"));
        for input in files(&found)?
            .iter()
            .filter(|input| !before.contains(input))
        {
            show_input(input)?;
        }
        Ok(false)
    }
}

fn show_input(input: &Path) -> Result<()> {
    println!("  input: {}", input.display());
    let bytes = fs::read(input)?;
    if bytes.len() <= SHOWN_BYTES_MAX {
        println!(
            "  for tests/properties/tests/all/regressions.rs: b\"{}\"",
            bytes.escape_ascii()
        );
    }
    Ok(())
}

fn fuzz_crate() -> PathBuf {
    build::workspace().join("tests/fuzz")
}

/// The host triple of the nightly compiler; checks that it and cargo-fuzz are there.
fn nightly() -> Result<String> {
    let answer = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(version) = answer("rustup", &["run", "nightly", "rustc", "-vV"]) else {
        bail!(
            "fuzzing needs a nightly compiler; hint: run rustup toolchain install nightly --profile minimal"
        );
    };
    ensure!(
        answer("cargo", &["fuzz", "--version"]).is_some(),
        "fuzzing needs cargo-fuzz; hint: run cargo install cargo-fuzz"
    );
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// Builds one target and says where it is. No code here is unsafe, so no sanitizer slows it down; debug assertions and
/// checks of overflows are in.
fn build_target(name: &str, place: &Path, triple: &str) -> Result<PathBuf> {
    let target = place.join("build");
    let mut command = Command::new("rustup");
    command.args([
        "run",
        "nightly",
        "cargo",
        "fuzz",
        "build",
        "--sanitizer",
        "none",
        "--target",
        triple,
    ]);
    command.arg("--fuzz-dir").arg(fuzz_crate());
    command.arg("--target-dir").arg(&target).arg(name);
    // Those of this build are not meant for that one.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(target.join(triple).join("release").join(name))
}

/// Inputs to begin with: small ones made here, and the lines of `ANNALS_VECTORS` and `ANNALS_FIXTURES`.
fn write_seeds(place: &Path) -> Result<()> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "annals-properties",
        "--bin",
        "fuzz-seeds",
        "--",
    ]);
    let status = command
        .arg(place)
        .status()
        .with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

/// The names of all targets.
fn targets() -> Result<Vec<String>> {
    let files = files(&fuzz_crate().join("targets"))?;
    let names = files
        .iter()
        .filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    entries.map(|entry| Ok(entry?.path())).collect()
}
