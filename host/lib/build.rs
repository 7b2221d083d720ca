//! Embeds the bundle that `annals-bundle` wrote, where there is one.
//!
//! The crate builds without it, since `annals-bundle` is part of the crate; then it has no bundled backends.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const BACKENDS: [&str; 2] = ["jsonl", "memory"];
const MIDDLEWARE: [&str; 1] = ["encrypt"];

fn main() {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/annals/bundle");
    // A path that does not exist would make the script run at every build; an empty directory is seen to fill.
    if let Err(error) = fs::create_dir_all(&bundle) {
        println!("cargo::error={} cannot be made: {error}", bundle.display());
    }
    println!("cargo::rerun-if-changed={}", bundle.display());

    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    if let Some(out) = out {
        let text = generate(&bundle).unwrap_or_else(|| {
            "pub(super) static STORE: Option<BundledStore> = None;\npub(super) static BACKENDS: &[Bundled] = &[];\npub(super) static MIDDLEWARE: &[BundledMiddleware] = &[];\n"
                .to_owned()
        });
        if let Err(error) = fs::write(out.join("bundle.rs"), text) {
            println!("cargo::error=bundle.rs cannot be written: {error}");
        }
    }
}

/// The statics, or none when a file is missing.
fn generate(bundle: &Path) -> Option<String> {
    let file = |name: &str| {
        let path = bundle.join(name);
        path.is_file()
            .then(|| format!("include_bytes!({:?})", path.display().to_string()))
    };
    let code = |name: &str| {
        let code = file(&format!("{name}.cwasm"))?;
        // SAFETY of what is generated: annals-bundle writes these files, out of `Engine::precompile_component`.
        Some(format!("unsafe {{ Precompiled::embedded({code}) }}"))
    };

    let mut text = String::new();
    let (wasm, alone) = (file("store.wasm")?, code("store")?);
    writeln!(text, "pub(super) static STORE: Option<BundledStore> = Some(BundledStore {{ wasm: {wasm}, alone: {alone} }});").ok()?;
    writeln!(text, "pub(super) static BACKENDS: &[Bundled] = &[").ok()?;
    for name in BACKENDS {
        let wasm = file(&format!("{name}.wasm"))?;
        let alone = code(name)?;
        let composed = code(&format!("annals-{name}"))?;
        writeln!(
            text,
            "Bundled {{ name: {name:?}, wasm: {wasm}, alone: {alone}, composed: {composed} }},"
        )
        .ok()?;
    }
    writeln!(text, "];").ok()?;
    writeln!(
        text,
        "pub(super) static MIDDLEWARE: &[BundledMiddleware] = &["
    )
    .ok()?;
    for name in MIDDLEWARE {
        let wasm = file(&format!("{name}.wasm"))?;
        writeln!(
            text,
            "BundledMiddleware {{ name: {name:?}, wasm: {wasm} }},"
        )
        .ok()?;
    }
    writeln!(text, "];").ok()?;
    Some(text)
}
