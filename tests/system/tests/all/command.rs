//! The built command and the logs that these tests give it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// `ANNALS_COMMAND`, or what `cargo xtask build` left.
pub fn program() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/annals/annals");
    let program = std::env::var_os("ANNALS_COMMAND").map_or_else(built, PathBuf::from);
    let found = fs::canonicalize(&program);
    found.unwrap_or_else(|_| panic!("{} is not there: run cargo xtask build", program.display()))
}

/// The command with every signal as it is by default, whatever whoever runs the tests ignores.
pub fn heeding() -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(program());
    command
}

/// The arguments after the program: `--root root` and the words of `line`.
pub fn arguments<'a>(root: &'a Path, line: &'a str) -> Vec<&'a str> {
    let root = root.to_str().unwrap();
    ["--root", root]
        .into_iter()
        .chain(line.split(' '))
        .collect()
}

/// Run the command to its end; it must succeed. What it printed.
pub fn annals(root: &Path, line: &str, input: &str) -> String {
    let mut command = Command::new(program());
    command.args(arguments(root, line));
    let output = run(&mut command, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "annals {line} failed: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Run `command` to its end with `input` on stdin.
pub fn run(command: &mut Command, input: &str) -> Output {
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

/// One finished turn, as `append` takes it.
pub fn turn(turn: u32, text: &str) -> String {
    let kind = r#"{"kind":"user"}"#;
    [
        format!(
            r#"{{"type":"turn/start","data":{{"turn":{turn},"trigger":{{"kind":"message","source":{kind}}}}}}}"#
        ),
        format!(
            r#"{{"type":"user/message","data":{{"content":[{{"type":"text","text":"{text}"}}],"source":{kind}}},"surfaceOp":"append"}}"#
        ),
        format!(
            r#"{{"type":"turn/end","data":{{"turn":{turn},"reason":{{"kind":"completed"}}}}}}"#
        ),
    ]
    .map(|line| line + "\n")
    .concat()
}

/// The log file of a session without a working directory.
pub fn log_path(root: &Path, id: &str) -> PathBuf {
    root.join("_no-cwd").join(format!("{id}.jsonl"))
}
