//! Machine code of somebody else's backend, kept from one command to the next.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::component;

/// What a command prints, with that directory for caches.
fn run(home: &TempDir, args: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_annals"))
        .args(args)
        .env("XDG_CACHE_HOME", home.path().join("caches"))
        .current_dir(home.path())
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn what_is_kept_is_shown_and_removed() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("caches/annals").display().to_string();
    let nothing = format!("0 components, 0 bytes in {directory}\n");
    assert_eq!(run(&home, &["cache"]), nothing);
    assert_eq!(run(&home, &["cache", "--format", "json"]), "[]\n");

    // A bundled one with some bytes more, which mean nothing, is no bundled one.
    let mut bytes = fs::read(component("jsonl.wasm")).unwrap();
    bytes.extend_from_slice(&[0, 5, 4, b's', b'e', b'l', b'f']);
    fs::write(home.path().join("other.wasm"), bytes).unwrap();
    let flags = ["--root", "root", "--backend", "other.wasm"];
    run(&home, &[&["create", "--id", "a"], &flags[..]].concat());
    let listed = run(&home, &["cache", "--format", "jsonl"]);
    let entry: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(entry["component"].as_str().unwrap().len(), 64);
    assert!(entry["bytes"].as_u64().unwrap() > 10_000);
    let shown = run(&home, &["cache"]);
    assert!(
        shown.contains(entry["component"].as_str().unwrap()),
        "{shown}"
    );
    assert!(shown.contains("\n1 component, "), "{shown}");

    run(&home, &[&["list"], &flags[..]].concat());
    let cleared = run(&home, &["cache", "--clear"]);
    assert!(cleared.contains("\nremoved 1 component, "), "{cleared}");
    assert_eq!(run(&home, &["cache"]), nothing);
}
