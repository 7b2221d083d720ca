//! A medium whose links fail, as on FAT, over some networks and between devices.

use std::path::Path;
use std::process::{Command, Output};

use crate::command::{annals, arguments, log_path, program, run, turn};

/// Runs the command with every link failing like that.
fn without_links(error: &str, root: &Path, line: &str, input: &str) -> Output {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=linkat"]);
    command
        .arg("-e")
        .arg(format!("inject=linkat:error={error}"));
    command.arg(program()).args(arguments(root, line));
    run(&mut command, input)
}

// A link into another device was an input/output error by the time it reached the backend, and nothing could be stored.
#[test]
fn sessions_are_stored_without_hard_links_and_never_over_another() {
    for error in ["EPERM", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let created = without_links(error, &root, "create --id a1", "");
        assert!(created.status.success(), "{error}: {created:?}");
        let appended = without_links(error, &root, "append a1", &turn(1, "hello"));
        assert!(appended.status.success(), "{error}: {appended:?}");
        let before = std::fs::read(log_path(&root, "a1")).unwrap();
        let again = without_links(error, &root, "create --id a1", "");
        assert_eq!(again.status.code(), Some(1), "{error}: {again:?}");
        assert_eq!(std::fs::read(log_path(&root, "a1")).unwrap(), before);
        annals(&root, "verify a1", "");
    }
}
