//! What a manifest that was accepted cannot come to mean afterwards, and what nobody can accept.

use std::fs;

use crate::backends::Home;

const KEY: (&str, &str) = (
    "ANNALS_KEY",
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
);

fn directory(path: &str) -> String {
    format!(
        "[grants]\ndirectories = [{{ path = {path:?}, guest = \"/data\", access = \"write\" }}]"
    )
}

// Settings say where a backend sends what it is given, and they could change once it was accepted.
#[test]
fn a_setting_that_changes_is_asked_for_again() {
    let home = Home::new();
    for (accepted, changed) in [
        ("", "sync = \"never\""),
        ("sync = \"always\"", "sync = \"never\""),
        ("sync = \"never\"", ""),
    ] {
        home.manifest(&format!("[settings]\n{accepted}"));
        home.add();
        home.list().ok(&["list"]);
        home.manifest(&format!("[settings]\n{changed}"));
        home.list().fails(2, &["setting sync", "asked for again"]);
    }
}

#[test]
fn settings_of_the_middleware_that_seals_belong_to_it() {
    let home = Home::new();
    home.manifest("[settings]\n\"encrypt.key-env\" = \"OTHER_KEY\"");
    home.run(&["backend", "add", "backend.toml", "--yes"])
        .fails(2, &["encrypt.key-env", "backend.toml"]);
}

// A name that a manifest asks for and a layer's key too was granted twice, and refused for that.
#[test]
fn a_key_is_granted_once() {
    let home = Home::new();
    home.manifest("[grants]\nenvironment = [\"ANNALS_KEY\"]");
    home.add();
    let flags = [
        "--backend",
        "mine",
        "--root",
        "root",
        "--through",
        "encrypt",
    ];
    let args = [&flags[..], &["create", "--id", "a"]].concat();
    home.run_with(&args, &[KEY]).ok(&args);
}

#[cfg(unix)]
mod links {
    use super::{Home, directory, fs};
    use std::os::unix::fs::symlink;

    // A directory was accepted by its spelling, and whoever could exchange a link in it said what that meant.
    #[test]
    fn a_directory_is_accepted_where_it_really_is() {
        let home = Home::new();
        for name in ["data", "other"] {
            fs::create_dir(home.path(name)).unwrap();
        }
        symlink("data", home.path("link")).unwrap();
        home.manifest(&directory("link"));
        let asked = home.run(&["backend", "add", "backend.toml"]);
        let shown = |name: &str| {
            let path = home.path(name);
            format!("directory {:?}", path.display().to_string())
        };
        assert!(asked.err.contains(&shown("data")), "{}", asked.err);
        home.add();
        home.list().ok(&["list"]);
        fs::remove_file(home.path("link")).unwrap();
        symlink("other", home.path("link")).unwrap();
        home.list().fails(2, &["/other\"", "asked for again"]);
        // the directory itself is a link now
        home.manifest(&directory("data"));
        home.list().ok(&["list"]);
        fs::remove_dir(home.path("data")).unwrap();
        symlink("other", home.path("data")).unwrap();
        home.list().fails(2, &["/other\"", "asked for again"]);
    }
}

// What was accepted is written there, and machine code that is run as it is.
#[test]
fn no_directory_of_this_program_is_granted() {
    let home = Home::new();
    home.add();
    for path in ["config", "config/annals/backends", "."] {
        home.manifest(&directory(path));
        let added = home.run(&["backend", "add", "backend.toml", "--yes"]);
        let refused = if added.code == 0 { home.list() } else { added };
        refused.fails(2, &["/config/annals\"", "kept off"]);
    }
    let root = ["--backend", "mine", "--root", ".", "list"];
    home.manifest("");
    home.add();
    home.run(&root).fails(2, &["/config/annals\"", "kept off"]);
}

// One that was accepted as asking for nothing could read and write the sessions under ANNALS_ROOT.
#[test]
fn a_backend_that_asks_for_nothing_gets_nothing() {
    let home = Home::new();
    home.manifest("[grants]\ninert = [\"files\"]\n[settings]\nroot = \"/annals\"");
    let asked = home.run(&["backend", "add", "backend.toml"]);
    assert!(asked.err.contains("  nothing\n"), "{}", asked.err);
    home.add();
    let root = home.path("root").display().to_string();
    let create = ["--backend", "mine", "create", "--id", "a"];
    home.run_with(&create, &[("ANNALS_ROOT", &root)])
        .fails(1, &["mine"]);
    assert_eq!(fs::read_dir(home.path("root")).unwrap().count(), 0);

    home.manifest("[settings]\nroot = \"/annals\"");
    home.run_with(&create, &[("ANNALS_ROOT", &root)])
        .fails(2, &["files, which were inert", "asked for again"]);

    fs::create_dir(home.path("data")).unwrap();
    let both = directory("data").replace("[grants]", "[grants]\ninert = [\"files\"]");
    home.manifest(&both);
    let added = home.run(&["backend", "add", "backend.toml", "--yes"]);
    let refused = if added.code == 0 { home.list() } else { added };
    refused.fails(2, &["inert"]);
}

/// The parts of a stack share what they are granted, and files are inert only where no part needs them.
#[test]
fn a_layer_without_files_takes_none_from_the_backend() {
    let home = Home::new();
    let layer = "[[layers]]\ncomponent = \"encrypt\"\ngrants.environment = [\"ANNALS_KEY\"]\ngrants.inert = [\"files\"]";
    home.manifest(layer);
    home.add();
    let create = ["--backend", "mine", "--root", "root", "create", "--id", "a"];
    home.run_with(&create, &[KEY]).ok(&create);

    let bundled =
        "name = \"mine\"\nversion = \"1\"\ncomponent = \"jsonl\"\ngrants.inert = [\"files\"]";
    fs::write(home.path("backend.toml"), bundled).unwrap();
    home.run(&["backend", "add", "backend.toml", "--yes"])
        .fails(2, &["inert", "jsonl"]);
}
