//! `cargo xtask demo`: the story of one session, told by the example `demo` of the library.

use anyhow::Result;

use crate::build;

/// Builds what the example needs, and runs it.
///
/// # Errors
/// The first step that failed.
pub fn run() -> Result<()> {
    build::bundle()?;
    build::cargo(&[
        "run",
        "--quiet",
        "--release",
        "--package",
        "annals",
        "--example",
        "demo",
    ])
}
