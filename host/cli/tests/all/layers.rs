//! Manifests with middleware over the backend.

use std::fs;

use serde_json::Value;

use crate::backends::Home;
use crate::support::{Ran, component, json};

const KEY: (&str, &str) = (
    "ANNALS_KEY",
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
);
const OTHER: (&str, &str) = ("OTHER_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHiA=");

/// `encrypt` as it comes with the command, under the usual key.
const SEALED: &str = "[[layers]]\ncomponent = \"encrypt\"\ngrants.environment = [\"ANNALS_KEY\"]\n";

/// The same as somebody else's, in a file; `more` comes last.
fn foreign(home: &Home, more: &str) -> String {
    let bytes = fs::read(component("encrypt.wasm")).unwrap();
    let bytes = [&bytes[..], &[0, 5, 4, b's', b'e', b'l', b'f']].concat();
    fs::write(home.path("layer.wasm"), bytes).unwrap();
    let sha256 = sha256(home, "layer.wasm");
    format!("[[layers]]\ncomponent = \"layer.wasm\"\nsha256 = \"{sha256}\"\n{more}\n")
}

fn sha256(home: &Home, file: &str) -> String {
    let shown = home.ok(&["backend", "inspect", file, "--format", "json"]);
    json(&shown)["sha256"].as_str().unwrap().to_owned()
}

fn add(home: &Home) -> Ran {
    home.run_with(&["backend", "add", "backend.toml", "--yes"], &[KEY, OTHER])
}

fn with(home: &Home, args: &[&str]) -> Ran {
    let args = [&["--backend", "mine", "--root", "made"], args].concat();
    home.run_with(&args, &[KEY, OTHER])
}

fn is_sealed(home: &Home) -> bool {
    let log = fs::read_to_string(home.path("made/_no-cwd/a.jsonl")).unwrap();
    log.contains("annals/sealed")
}

#[test]
fn a_stack_is_added_and_used() {
    let home = Home::new();
    home.manifest(SEALED);
    let asked = home.run(&["backend", "add", "backend.toml"]);
    for word in [
        "layer encrypt, which comes with annals",
        "the value of ANNALS_KEY",
    ] {
        assert!(asked.err.contains(word), "{word}: {}", asked.err);
    }
    add(&home).ok(&["add"]);
    with(&home, &["create", "--id", "a"]).ok(&["create"]);
    with(&home, &["update", "a", "--title", "a title"]).ok(&["update"]);
    assert!(with(&home, &["list"]).out.contains("a title"));
    with(&home, &["doctor"]).ok(&["doctor"]);
    assert!(is_sealed(&home));
    home.list()
        .fails(2, &["ANNALS_KEY", "backend \"mine\"", "backend.toml"]);
    home.run(&["--root", "made", "update", "a", "--title", "t"])
        .fails(3, &["is sealed"]);
    let only = ["backend", "test", "mine", "--only", "create"];
    home.run_with(&only, &[KEY]).ok(&only);

    assert_eq!(home.listed()["layers"][0]["component"], "encrypt");
    assert_eq!(home.listed()["layers"][0]["sha256"], Value::Null);
    let table = home.run(&["backend", "list"]).out;
    assert!(table.contains("encrypt over "), "{table}");
}

/// Each layer has settings of its own, and what is given on the command line goes over all of them.
#[test]
fn two_layers_have_two_keys() {
    let home = Home::new();
    let outer = "[[layers]]\ncomponent = \"encrypt\"\nsettings.\"encrypt.key-env\" = \"OTHER_KEY\"\ngrants.environment = [\"OTHER_KEY\"]\n";
    home.manifest(&format!("{outer}{SEALED}"));
    add(&home).ok(&["add"]);
    with(&home, &["create", "--id", "a"]).ok(&["create"]);
    // the outer layer is the one with the other key
    home.manifest(SEALED);
    home.run(&["backend", "list"]);
    let again = ["--through", "encrypt", "--set", "encrypt.key-env=OTHER_KEY"];
    with(&home, &[&again[..], &["list"]].concat()).fails(2, &["layers", "asked for again"]);
    add(&home).ok(&["add"]);
    with(&home, &[&again[..], &["verify"]].concat()).ok(&["verify"]);
    let damaged = with(&home, &["--through", "encrypt", "list"]);
    assert!(damaged.out.contains("another key"), "{}", damaged.out);
}

#[test]
fn bundled_backends_are_named_and_have_no_digest() {
    let home = Home::new();
    let text = |more: &str| {
        let head = "name = \"mine\"\nversion = \"1.2.3\"\ncomponent = \"jsonl\"\n";
        fs::write(home.path("backend.toml"), format!("{head}{more}")).unwrap();
    };
    text(SEALED);
    add(&home).ok(&["add"]);
    with(&home, &["create", "--id", "a"]).ok(&["create"]);
    assert!(is_sealed(&home));
    // limits hold for it too
    text(&format!("limits.memory_bytes_max = 1000\n{SEALED}"));
    add(&home).fails(2, &["memory-bytes-max is 1000"]);
    text(&format!("sha256 = \"{}\"\n", "0".repeat(64)));
    add(&home).fails(2, &["jsonl comes with annals", "./jsonl"]);
}

#[test]
fn what_changes_in_a_layer_is_asked_for_again() {
    let home = Home::new();
    let key = "grants.environment = [\"ANNALS_KEY\"]";
    let layer = foreign(&home, key);
    home.manifest(&layer);
    add(&home).ok(&["add"]);
    with(&home, &["create", "--id", "a"]).ok(&["create"]);
    assert!(is_sealed(&home));
    let layer_words = ["its layer", "layer.wasm", "asked for again"];
    for wider in [
        "grants.environment = [\"ANNALS_KEY\", \"OTHER_KEY\"]",
        "grants.environment = [\"ANNALS_KEY\"]\ngrants.tcp = [\"[::1]:1\"]",
    ] {
        home.manifest(&foreign(&home, wider));
        with(&home, &["list"]).fails(2, &layer_words);
    }
    // the same grant for another part
    let none = foreign(&home, "");
    home.manifest(&format!("[grants]\nenvironment = [\"ANNALS_KEY\"]\n{none}"));
    with(&home, &["list"]).fails(2, &["asked for again", "ANNALS_KEY"]);
    for other in [SEALED.to_owned(), String::new(), format!("{none}{SEALED}")] {
        home.manifest(&other);
        with(&home, &["list"]).fails(2, &["asked for again"]);
    }
    home.manifest(&layer);
    with(&home, &["list"]).ok(&["list"]);
    let mut bytes = fs::read(home.path("layer.wasm")).unwrap();
    *bytes.last_mut().unwrap() = b'g';
    fs::write(home.path("layer.wasm"), bytes).unwrap();
    let words = [&layer_words[..], &["has changed", "sha256"]].concat();
    with(&home, &["list"]).fails(2, &words);
    assert!(
        home.listed()["trouble"]
            .as_str()
            .unwrap()
            .contains("has changed")
    );
    add(&home).fails(2, &["layer.wasm", "the manifest says"]);
    let sha256 = sha256(&home, "layer.wasm");
    home.manifest(&format!(
        "[[layers]]\ncomponent = \"layer.wasm\"\nsha256 = \"{sha256}\"\n{key}\n"
    ));
    add(&home).ok(&["add"]);
    with(&home, &["list"]).ok(&["list"]);
}

#[test]
fn layers_that_are_none_are_refused() {
    let home = Home::new();
    let digest = |name: &str| {
        fs::copy(component(name), home.path(name)).unwrap();
        format!(
            "component = {name:?}\nsha256 = \"{}\"\n",
            sha256(&home, name)
        )
    };
    let zeros = "0".repeat(64);
    for (more, words) in [
        (
            "[[layers]]\ncomponent = \"encrypt\"\ncolour = 1".to_owned(),
            ["line 7", "`colour`"],
        ),
        (
            "[[layers]]\nsha256 = \"0\"".to_owned(),
            ["line 5", "`component`"],
        ),
        (
            "[[layers]]\ncomponent = \"x.wasm\"".to_owned(),
            ["x.wasm", "sha256 is missing"],
        ),
        (
            format!("[[layers]]\ncomponent = \"encrypt\"\nsha256 = \"{zeros}\""),
            ["encrypt", "./encrypt"],
        ),
        (
            format!("[[layers]]\n{}", digest("memory.wasm")),
            ["memory.wasm", "no middleware"],
        ),
        (
            format!("{SEALED}[layers.limits]\nmemory = 1"),
            ["line 9", "`memory`"],
        ),
        (
            format!("{SEALED}settings.\"encrypt.colour\" = \"red\""),
            ["backend \"mine\"", "encrypt.colour"],
        ),
        (
            format!("[grants]\nenvironment = [\"MINE\"]\n{SEALED}"),
            ["MINE", "would not be seen"],
        ),
    ] {
        home.manifest(&more);
        add(&home).fails(2, &[&words[..], &["backend.toml"]].concat());
    }
    // middleware is no backend
    let text = fs::read_to_string(home.path("backend.toml")).unwrap();
    let encrypt = digest("encrypt.wasm");
    let head: String = text
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(home.path("backend.toml"), head + &encrypt).unwrap();
    add(&home).fails(2, &["its component is middleware", "[[layers]]"]);
}
