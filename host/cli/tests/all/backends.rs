//! Backends of somebody else: added with their manifest, used by name, and refused once they want more.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, cannot_run, component, json, start};

/// A directory with a component, its manifest, and a configuration of its own.
pub struct Home {
    dir: TempDir,
}

impl Home {
    /// A component that is not the bundled one, and a manifest that grants nothing.
    pub fn new() -> Self {
        let home = Self {
            dir: TempDir::new().unwrap(),
        };
        fs::create_dir(home.path("root")).unwrap();
        // A custom section means nothing.
        let bytes = fs::read(component("jsonl.wasm")).unwrap();
        fs::write(
            home.path("mine.wasm"),
            [&bytes[..], &[0, 5, 4, b's', b'e', b'l', b'f']].concat(),
        )
        .unwrap();
        home.manifest("");
        home
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn sha256(&self) -> String {
        let shown = self.ok(&["backend", "inspect", "mine.wasm", "--format", "json"]);
        json(&shown)["sha256"].as_str().unwrap().to_owned()
    }

    /// Writes the manifest; `more` comes last.
    pub fn manifest(&self, more: &str) {
        let sha256 = self.sha256();
        let text = format!(
            "name = \"mine\"\nversion = \"1.2.3\"\ncomponent = \"mine.wasm\"\nsha256 = \"{sha256}\"\n{more}\n"
        );
        fs::write(self.path("backend.toml"), text).unwrap();
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, &[])
    }

    /// With those variables in the environment.
    pub fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_annals"));
        command
            .args(args)
            .env("XDG_CONFIG_HOME", self.path("config"))
            // shared, so that the component of all these tests is compiled once
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .env_remove("ANNALS_KEY")
            .envs(variables.iter().copied())
            .current_dir(self.dir.path());
        start(&mut command, b"")
    }

    pub fn ok(&self, args: &[&str]) -> String {
        self.run(args).ok(args)
    }

    pub fn add(&self) {
        let added = self.ok(&["backend", "add", "backend.toml", "--yes"]);
        assert_eq!(added, "added backend \"mine\" 1.2.3\n");
    }

    pub fn list(&self) -> Ran {
        self.run(&["--backend", "mine", "--root", "root", "list"])
    }

    /// The one backend that was added, as it is listed.
    pub fn listed(&self) -> Value {
        let listed = json(&self.ok(&["backend", "list", "--format", "json"]));
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
        listed[0].clone()
    }
}

#[test]
fn a_backend_is_added_used_and_removed() {
    let home = Home::new();
    home.list().fails(2, &["no backend \"mine\" was added"]);
    assert_eq!(home.ok(&["backend", "list"]), "");
    home.add();
    assert_eq!(home.listed()["version"], "1.2.3");
    assert_eq!(home.listed()["trouble"], Value::Null);

    let flags = ["--backend", "mine", "--root", "made"];
    home.ok(&[&flags[..], &["create", "--id", "a"]].concat());
    let listed = home.ok(&[&flags[..], &["list"]].concat());
    assert!(listed.contains(" a "), "{listed}");
    home.ok(&[&flags[..], &["doctor"]].concat());
    home.ok(&["backend", "test", "mine", "--only", "create/existing"]);
    home.run(&["--backend", "mine", "create"])
        .fails(2, &["backend \"mine\"", "no directory is granted"]);
    home.run(&[&flags[..], &["--link", "static", "list"]].concat())
        .fails(2, &["--link static"]);

    home.ok(&["backend", "remove", "mine"]);
    home.run(&["backend", "remove", "mine"])
        .fails(1, &["no backend \"mine\""]);
    home.list().fails(2, &["no backend \"mine\" was added"]);
}

#[test]
fn settings_come_from_the_manifest_and_from_the_command_line() {
    let home = Home::new();
    home.manifest("[settings]\nsync = \"always\"");
    home.add();
    home.list().ok(&["list"]);
    let perhaps = ["--set", "sync=perhaps", "list"];
    home.run(&[&["--backend", "mine", "--root", "root"], &perhaps[..]].concat())
        .fails(2, &["sync", "backend \"mine\"", "backend.toml"]);
    home.ok(&[
        "--backend",
        "mine",
        "--root",
        "root",
        "--set",
        "sync=never",
        "create",
    ]);
}

#[cfg(unix)]
#[test]
fn what_was_accepted_is_kept_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;

    let home = Home::new();
    home.add();
    let mode = |name: &str| {
        let found = fs::metadata(home.path(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!(mode("config/annals/backends"), 0o700);
    let record = "config/annals/backends/mine.toml";
    assert_eq!(mode(record), 0o600);
    let others = PermissionsExt::from_mode(0o622);
    fs::set_permissions(home.path(record), others).unwrap();
    home.list().fails(2, &["others than you"]);
}

#[test]
fn what_is_asked_for_is_shown_and_needs_a_yes() {
    let home = Home::new();
    fs::create_dir(home.path("data")).unwrap();
    home.manifest(
        "[settings]\nsync = \"never\"\n[grants]\ndirectories = [{ path = \"data\", guest = \"/data\", access = \"read\" }]\ntcp = [\"127.0.0.1:5432\"]\nenvironment = [\"MY_KEY\"]\n[limits]\nmemory_bytes_max = 1000000000\ncall_ms_max = 5000\npage_bytes_max = 1000000",
    );
    let ran = home.run(&["backend", "add", "backend.toml"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    for word in [
        "the directory that --root names, read and write",
        "/data\", read\n",
        "TCP connections to 127.0.0.1:5432",
        "the value of MY_KEY",
        "1000000000 bytes of memory",
        "5000 milliseconds",
        "1000000 bytes in an answer",
        "setting sync=never",
        "--yes",
    ] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
    assert_eq!(home.ok(&["backend", "list"]), "");
}

#[test]
fn a_terminal_is_asked() {
    if cannot_run(&["script", "--version"]) {
        return;
    }
    let home = Home::new();
    let add = format!("{} backend add backend.toml", env!("CARGO_BIN_EXE_annals"));
    for (answer, code, added) in [("n\n", 1, false), ("\n", 1, false), ("y\n", 0, true)] {
        let mut command = Command::new("script");
        command
            .args(["--quiet", "--return", "--command", &add, "/dev/null"])
            .env("XDG_CONFIG_HOME", home.path("config"))
            .current_dir(home.dir.path());
        let ran = start(&mut command, answer.as_bytes());
        assert_eq!(ran.code, code, "{answer:?}: {}", ran.out);
        assert!(ran.out.contains("accept? [y/N]"), "{}", ran.out);
        assert_eq!(home.ok(&["backend", "list"]).is_empty(), !added);
    }
}

#[test]
fn another_component_is_asked_for_again() {
    let home = Home::new();
    home.add();
    let mut bytes = fs::read(home.path("mine.wasm")).unwrap();
    *bytes.last_mut().unwrap() = b'g';
    fs::write(home.path("mine.wasm"), bytes).unwrap();
    let words = [
        "its component has changed",
        "asked for again",
        "run annals backend add",
    ];
    home.list().fails(2, &words);
    assert!(home.listed()["trouble"].is_string());
    // The manifest still names the former one.
    home.run(&["backend", "add", "backend.toml", "--yes"])
        .fails(2, &["the manifest says"]);
    home.manifest("");
    home.list().fails(2, &words);
    home.add();
    home.list().ok(&["list"]);
}

#[test]
fn a_wider_grant_is_asked_for_again() {
    let directory = |access: &str, path: &str| {
        format!(
            "[grants]\ndirectories = [{{ path = \"{path}\", guest = \"/data\", access = \"{access}\" }}]"
        )
    };
    let none = String::new();
    let table = [
        (none.clone(), directory("read", "data"), "read"),
        (
            directory("read", "data"),
            directory("write", "data"),
            "read and write",
        ),
        (
            directory("read", "data"),
            directory("read", "other"),
            "other",
        ),
        (
            none.clone(),
            "[grants]\ntcp = [\"[::1]:80\"]".into(),
            "[::1]:80",
        ),
        (
            none.clone(),
            "[grants]\nenvironment = [\"KEY\"]".into(),
            "KEY",
        ),
        (
            "[limits]\ncall_ms_max = 10000".into(),
            none.clone(),
            "call_ms_max",
        ),
        (
            "[limits]\nmemory_bytes_max = 100000000".into(),
            "[limits]\nmemory_bytes_max = 100000001".into(),
            "memory_bytes_max 100000001",
        ),
    ];
    for (accepted, wider, word) in table {
        let home = Home::new();
        fs::create_dir(home.path("data")).unwrap();
        home.manifest(&accepted);
        home.add();
        home.list().ok(&["list"]);
        home.manifest(&wider);
        home.list().fails(2, &[word, "asked for again"]);
        home.manifest(&accepted);
        home.list().ok(&["list"]);
    }
}

#[test]
fn a_narrower_grant_is_taken_without_a_question() {
    let home = Home::new();
    fs::create_dir(home.path("data")).unwrap();
    let with = |access: &str| {
        format!(
            "[grants]\ndirectories = [{{ path = \"data\", guest = \"/data\", access = \"{access}\" }}]\ntcp = [\"127.0.0.1:1\"]"
        )
    };
    home.manifest(&with("write"));
    home.add();
    home.manifest(&with("read"));
    home.list().ok(&["list"]);
    home.manifest("");
    home.list().ok(&["list"]);
}

#[test]
fn a_manifest_that_is_none_is_refused_with_its_line() {
    let home = Home::new();
    for (more, words) in [
        ("colour = \"red\"", ["line 5", "`colour`"]),
        ("[grants]\nfiles = true", ["line 6", "`files`"]),
        ("[limits]\nmemory = 1", ["line 6", "`memory`"]),
        ("[limits]\ncall_ms_max = -1", ["line 6", "-1"]),
        ("[grants]\ntcp = [\"localhost:80\"]", ["line 6", "address"]),
        (
            "[grants]\ndirectories = [{ path = \"x\", guest = \"/x\", access = \"execute\" }]",
            ["line 6", "execute"],
        ),
        (
            "[grants]\ndirectories = [{ path = \"x\", guest = \"/x\", access = \"read\", more = 1 }]",
            ["line 6", "`more`"],
        ),
        ("[settings]\nn = 3", ["line 6", "string"]),
        ("name = \"again\"", ["line 5", "duplicate"]),
        ("[grants", ["line 5", ""]),
    ] {
        home.manifest(more);
        let ran = home.run(&["backend", "add", "backend.toml", "--yes"]);
        ran.fails(2, &["manifest \"backend.toml\"", words[0], words[1]]);
    }
    for name in ["", "jsonl", "memory", "Mine", "a/b", "..", "-x", "a.b"] {
        home.manifest("");
        let text = fs::read_to_string(home.path("backend.toml")).unwrap();
        let text = text.replace("\"mine\"", &format!("{name:?}"));
        fs::write(home.path("backend.toml"), text).unwrap();
        home.run(&["backend", "add", "backend.toml", "--yes"])
            .fails(2, &["manifest \"backend.toml\"", "name"]);
    }
    home.run(&["backend", "add", "nowhere.toml", "--yes"])
        .fails(2, &["nowhere.toml", "cannot be read"]);
}

#[test]
fn a_component_that_imports_more_is_not_added() {
    let home = Home::new();
    let store = component("store.wasm");
    fs::copy(store, home.path("mine.wasm")).unwrap();
    home.manifest("");
    home.run(&["backend", "add", "backend.toml", "--yes"])
        .fails(2, &["backend \"mine\"", "exports no interface persistence"]);
}
