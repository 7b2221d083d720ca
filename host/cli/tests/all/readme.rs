//! The README's commands, as a new user would type them.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const README: &str = include_str!("../../../../README.md");

/// The commands of a section.
fn script(section: &str) -> &'static str {
    let section = README.split(&format!("\n## {section}\n")).nth(1).unwrap();
    let script = section.split("```sh\n").nth(1).unwrap();
    script.split("```").next().unwrap()
}

/// What the commands print, one after another in a new home.
fn run(script: &str) -> String {
    let home = TempDir::new().unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_annals")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("sh")
        .args(["-euc", script])
        .env("HOME", home.path())
        .env("PATH", path)
        .current_dir(home.path())
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert!(ran.status.success(), "{out}{err}");
    out.into_owned()
}

#[test]
fn the_commands_of_the_readme_work_in_order() {
    let out = run(script("The command"));
    assert!(out.contains("try-again"), "{out}");
    assert!(out.contains(r#""text":"hello""#), "{out}");
}

#[test]
fn so_do_those_about_damage() {
    let out = run(&format!("{}{}", script("The command"), script("Damage")));
    assert!(out.contains("\ndemo-saved\n"), "{out}");
    assert!(out.ends_with("nothing is wrong with 3 sessions\n"), "{out}");
}

#[test]
fn so_do_those_about_sealed_sessions() {
    let out = run(script("Sealed sessions"));
    assert!(out.contains("dear diary"), "{out}");
}
