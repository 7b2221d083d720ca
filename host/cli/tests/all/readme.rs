//! The README's commands, as a new user would type them.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const README: &str = include_str!("../../../../README.md");

#[test]
fn the_commands_of_the_readme_work_in_order() {
    let section = README.split("\n## The command\n").nth(1).unwrap();
    let script = section
        .split("```sh\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
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
    assert!(out.contains("try-again"), "{out}");
    assert!(out.contains(r#""text":"hello""#), "{out}");
}
