//! Tables on a terminal, and where nobody sees them.

#![cfg(target_os = "linux")]

use crate::support::{Place, cannot_run};

/// Long ids broke the rows of a table in two.
#[test]
fn a_table_fits_the_terminal_and_is_whole_elsewhere() {
    let place = Place::new();
    let id = "x".repeat(300);
    place.ok(&["create", "--id", &id]);
    place.ok(&["create", "--id", "short", "--cwd", "/a/directory"]);
    assert!(place.ok(&["list"]).contains(&id));
    assert!(place.ok(&["list", "--format", "json"]).contains(&id));
    if cannot_run(&["script", "--version"]) {
        return;
    }
    for columns in [60, 80] {
        let shell = format!("stty cols {columns}; exec \"$0\" \"$@\"");
        let root = place.root().display().to_string();
        let command = format!(
            "sh -c '{shell}' {} --root {root} list",
            env!("CARGO_BIN_EXE_annals")
        );
        let ran = std::process::Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .output()
            .unwrap();
        let shown = String::from_utf8(ran.stdout).unwrap();
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        assert_eq!(lines.len(), 3, "{shown}");
        for line in &lines {
            assert!(line.chars().count() <= columns, "{shown}");
        }
        assert!(shown.contains("xxx…") && shown.contains("short"), "{shown}");
    }
}
