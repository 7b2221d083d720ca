//! Manifests that can never be used, refused when they are added and not when they are used.

use std::fs;

use crate::backends::Home;

fn refused(more: &str, words: &[&str]) {
    let home = Home::new();
    fs::create_dir(home.path("data")).unwrap();
    home.manifest(more);
    let ran = home.run(&["backend", "add", "backend.toml", "--yes"]);
    let words = [words, &["backend.toml"]].concat();
    ran.fails(2, &words);
    assert_eq!(ran.err.lines().count(), 1, "{more}: {}", ran.err);
    assert_eq!(home.ok(&["backend", "list"]), "", "{more}");
}

fn directory(path: &str, guest: &str) -> String {
    format!("[grants]\ndirectories = [{{ path = {path:?}, guest = {guest:?}, access = \"read\" }}]")
}

#[test]
fn what_the_component_does_not_take() {
    let mine = "backend \"mine\"";
    refused("[settings]\nsynk = \"never\"", &[mine, "\"synk\""]);
    refused("[settings]\nsync = \"perhaps\"", &[mine, "\"sync\""]);
    refused("[settings]\nroot = \"/annals\"", &[mine, "\"root\""]);
}

#[test]
fn grants_that_mean_nothing() {
    for (path, guest, word) in [
        ("nowhere", "/data", "nowhere"),
        ("mine.wasm", "/data", "mine.wasm"),
        ("data", "/annals", "over the root"),
        ("data", "/annals/data", "over the root"),
        ("data", "data", "absolute"),
        ("data", "/data/", "absolute"),
        ("data", "/x/../annals", "absolute"),
        ("data", "", "absolute"),
    ] {
        refused(&directory(path, guest), &[word]);
    }
    let two = "[grants]\ndirectories = [{ path = \"data\", guest = \"/d\", access = \"read\" }, { path = \"root\", guest = \"/d\", access = \"read\" }]";
    refused(two, &["\"/d\"", "two directories"]);
    for name in ["", "A=B", "=", "A\\u0000B"] {
        let names = format!("[grants]\nenvironment = [\"{name}\"]");
        refused(&names, &["environment name"]);
    }
}

#[test]
fn limits_in_which_it_cannot_run() {
    for (limit, word) in [
        ("memory_bytes_max = 1000", "memory-bytes-max is 1000"),
        ("page_bytes_max = 1", "page-bytes-max is 1"),
    ] {
        let more = format!("[limits]\n{limit}");
        refused(&more, &["backend \"mine\"", "cannot run", word]);
    }
}

/// What may be there another time does not keep a backend from being added.
#[test]
fn what_is_missing_here_and_now_is_said() {
    let home = Home::new();
    home.manifest("[settings]\nsynk = \"never\"\n[grants]\nenvironment = [\"SOME_KEY\"]");
    let ran = home.run(&["backend", "add", "backend.toml", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("SOME_KEY is not set"), "{}", ran.err);
    let add = ["backend", "add", "backend.toml", "--yes"];
    home.run_with(&add, &[("SOME_KEY", "v")])
        .fails(2, &["synk"]);
}

#[test]
fn what_goes_wrong_later_names_the_backend_and_its_manifest() {
    let home = Home::new();
    fs::create_dir(home.path("data")).unwrap();
    home.manifest(&directory("data", "/data"));
    home.add();
    fs::remove_dir(home.path("data")).unwrap();
    let words = ["backend \"mine\"", "/data\"", "backend.toml\""];
    home.list().fails(2, &words);
    home.run(&["backend", "test", "mine", "--only", "create/existing"])
        .fails(2, &words);
}
