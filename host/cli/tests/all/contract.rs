//! Components held against the contract, and looked at.

use std::fs;

use crate::backends::Home;
use crate::support::{component, json};

#[test]
fn bundled_backends_keep_the_contract_as_components() {
    let home = Home::new();
    for (name, passed) in [("memory", 60), ("mine.wasm", 75)] {
        let report = json(&home.ok(&["backend", "test", name, "--format", "json"]));
        assert_eq!(report["component"], name);
        assert_eq!(report["failed"], 0);
        assert!(report["passed"].as_u64().unwrap() > passed, "{report}");
        let checks = report["checks"].as_array().unwrap();
        assert!(checks.iter().all(|check| check["outcome"] != "failed"));
    }
}

/// Middleware over a backend is a backend.
#[test]
fn a_backend_keeps_the_contract_through_middleware() {
    let home = Home::new();
    let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    for (name, passed) in [("jsonl", 75), ("memory", 60)] {
        let args = [
            "backend",
            "test",
            name,
            "--through",
            "encrypt",
            "--format",
            "json",
        ];
        let ran = home.run_with(&args, &[("ANNALS_KEY", key)]);
        let report = json(&ran.out);
        assert_eq!(ran.code, 0, "{report}");
        assert_eq!(report["through"], json(r#"["encrypt"]"#));
        assert!(report["passed"].as_u64().unwrap() > passed, "{report}");
    }
    let only = [
        "backend",
        "test",
        "jsonl",
        "--through",
        "encrypt",
        "--only",
        "restart",
    ];
    let ran = home.run(&only);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.out.contains("\"ANNALS_KEY\" is not set"), "{}", ran.out);
}

#[test]
fn some_checks_are_run_alone() {
    let home = Home::new();
    let table = home.ok(&["backend", "test", "jsonl", "--only", "create/existing"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2, "{table}");
    assert!(lines[0].starts_with("create/existing "), "{table}");
    assert!(lines[0].contains(" passed "), "{table}");
    assert_eq!(lines[1], "1 passed, 0 failed, 0 not applicable");
    let rows = home.ok(&[
        "backend", "test", "jsonl", "--only", "restart", "--format", "jsonl",
    ]);
    assert!(rows.lines().count() > 1, "{rows}");
    for row in rows.lines() {
        assert!(json(row)["name"].as_str().unwrap().starts_with("restart/"));
    }
    home.run(&["backend", "test", "jsonl", "--only", "crate"])
        .fails(2, &["\"crate\""]);
}

#[test]
fn settings_reach_the_backend_under_test() {
    let home = Home::new();
    let only = [
        "backend",
        "test",
        "jsonl",
        "--only",
        "create/existing",
        "--set",
    ];
    home.ok(&[&only[..], &["sync=never"]].concat());
    let ran = home.run(&[&only[..], &["synk=never"]].concat());
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.out.contains("synk"), "{}", ran.out);
}

/// A component whose errors have a reason that is no label.
#[test]
fn a_broken_contract_is_shown_and_is_no_success() {
    let home = Home::new();
    let mut bytes = fs::read(component("memory.wasm")).unwrap();
    let word = b"session-already-exists";
    let at: Vec<usize> = (0..bytes.len() - word.len())
        .filter(|at| bytes[*at..].starts_with(word))
        .collect();
    assert!(!at.is_empty());
    for at in at {
        bytes[at] = b'S';
    }
    fs::write(home.path("broken.wasm"), bytes).unwrap();
    let ran = home.run(&["backend", "test", "broken.wasm", "--only", "create"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    let row = ran.out.lines().find(|row| row.contains(" failed "));
    assert!(row.unwrap().contains("kebab case"), "{}", ran.out);
    let counts = ran.out.lines().last().unwrap();
    assert!(!counts.contains(" 0 failed"), "{counts}");
}

#[test]
fn what_is_no_backend_is_not_tested() {
    let home = Home::new();
    let store = component("store.wasm").display().to_string();
    for (path, words) in [
        ("nowhere.wasm", "cannot be read"),
        (store.as_str(), "does not export"),
    ] {
        home.run(&["backend", "test", path]).fails(2, &[words]);
    }
}

#[test]
fn a_component_is_inspected() {
    let home = Home::new();
    let found = json(&home.ok(&["backend", "inspect", "mine.wasm", "--format", "json"]));
    assert_eq!(found["isBackend"], true);
    assert_eq!(found["isMiddleware"], false);
    assert_eq!(found["needs"], json(r#"["files"]"#));
    assert_eq!(found["refused"], json("[]"));
    assert_eq!(
        found["bytes"],
        fs::metadata(home.path("mine.wasm")).unwrap().len()
    );
    let shown = home.ok(&["backend", "inspect", "mine.wasm"]);
    for word in ["a backend", "wasi:filesystem/preopens", "--root"] {
        assert!(shown.contains(word), "{shown}");
    }
    let store = component("store.wasm").display().to_string();
    let shown = home.ok(&["backend", "inspect", &store]);
    assert!(shown.contains("no backend"), "{shown}");
    home.run(&["backend", "inspect", "backend.toml"])
        .fails(2, &["is not a WebAssembly component"]);
}
