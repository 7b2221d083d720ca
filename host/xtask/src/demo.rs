//! `cargo xtask demo`: the story of one session, told by the example `demo` of the library.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::build;
use crate::outcome::Outcome;

const RUN: [&str; 7] = [
    "run",
    "--quiet",
    "--release",
    "--package",
    "annals",
    "--example",
    "demo",
];

/// How long the demo takes at most once it is built.
const DEMO_MAX: Duration = Duration::from_secs(10);

/// What it tells, in this order.
const CHAPTERS: [&str; 8] = [
    "got SIGKILL",
    "Preserved, every one of the",
    "Added by repair",
    "replaces the first",
    "byte for byte",
    "In memory:",
    "forked from",
    "The files are in",
];

/// Builds what the example needs, and runs it.
///
/// # Errors
/// The first step that failed.
pub fn run() -> Result<()> {
    build::bundle()?;
    build::cargo(&RUN)
}

/// The demo as a test: it ends well, in time, and tells everything. It checks its own numbers.
///
/// # Errors
/// What is missing.
pub fn check() -> Result<Outcome> {
    build::cargo(&[
        "build",
        "--quiet",
        "--release",
        "--package",
        "annals",
        "--example",
        "demo",
    ])?;
    let started = Instant::now();
    let ran = Command::new(env!("CARGO"))
        .args(RUN)
        .current_dir(build::workspace())
        .output()?;
    let elapsed = started.elapsed();
    let told = String::from_utf8_lossy(&ran.stdout);
    ensure!(
        ran.status.success(),
        "the demo failed: {told}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    ensure!(
        elapsed < DEMO_MAX,
        "the demo took {elapsed:?}, more than {DEMO_MAX:?}"
    );
    let mut rest: &str = &told;
    for chapter in CHAPTERS {
        let Some((_, after)) = rest.split_once(chapter) else {
            anyhow::bail!("the demo does not say {chapter:?} in its place: {told}");
        };
        rest = after;
    }
    println!("ok the demo tells its story in {elapsed:.1?}");
    Ok(Outcome {
        passed: 1,
        ..Outcome::default()
    })
}
