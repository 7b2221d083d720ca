//! Running the command and looking at what it left.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The default backend, and the same backend as a component in a file, linked both ways.
pub fn links() -> Vec<Vec<String>> {
    let jsonl = component("jsonl.wasm").display().to_string();
    let lines = [
        String::new(),
        format!("--link dynamic --backend {jsonl}"),
        format!("--link static --backend {jsonl}"),
    ];
    lines
        .iter()
        .map(|line| line.split_whitespace().map(String::from).collect())
        .collect()
}

/// A component that `cargo xtask build` made.
pub fn component(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/annals")
        .join(name);
    assert!(path.exists(), "{path:?} is missing; run cargo xtask build");
    path
}

/// A temporary directory with a root in it, and the global flags of every run.
pub struct Place {
    pub dir: TempDir,
    flags: Vec<String>,
}

pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Self::linked(&[])
    }

    pub fn linked(flags: &[String]) -> Self {
        let dir = TempDir::new().unwrap();
        let mut flags = flags.to_vec();
        flags.push("--root".into());
        flags.push(dir.path().join("root").display().to_string());
        Self { dir, flags }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    /// The same with another root, beside which nothing is looked at.
    pub fn at(mut self, root: &str) -> Self {
        let path = self.dir.path().join(root).display().to_string();
        *self.flags.last_mut().unwrap() = path;
        self
    }

    /// Writes a file beside the root.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        self.feed(args, b"")
    }

    pub fn feed(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let flags = self.flags.iter().map(String::as_str);
        let args: Vec<&str> = flags.chain(args.iter().copied()).collect();
        run(self.dir.path(), &args, stdin)
    }

    /// A run that another command starts; it gets ours as its last arguments.
    pub fn under(&self, starter: &[&str], args: &[&str], stdin: &[u8]) -> Ran {
        let (first, rest) = starter.split_first().unwrap();
        let mut command = Command::new(first);
        command.args(rest).arg(env!("CARGO_BIN_EXE_annals"));
        command.args(&self.flags).args(args);
        start(command.current_dir(self.dir.path()), stdin)
    }

    /// A run that succeeds: its stdout.
    pub fn ok(&self, args: &[&str]) -> String {
        self.feed(args, b"").ok(args)
    }

    pub fn append(&self, id: &str, lines: &str) -> String {
        self.feed(&["append", id], lines.as_bytes())
            .ok(&["append", id])
    }

    /// The one session log under the root.
    pub fn log(&self) -> PathBuf {
        let logs = files(&self.root());
        let mut logs = logs.into_keys().filter(|path| path.ends_with(".jsonl"));
        let log = logs.next().expect("a log");
        assert_eq!(logs.next(), None, "one log only");
        self.root().join(log)
    }

    /// Everything on disk: the root, and the files beside it.
    pub fn everything(&self) -> BTreeMap<String, Vec<u8>> {
        files(self.dir.path())
    }
}

/// Leases count up with every writer that looked; the rest of what is on disk.
pub fn without_leases(files: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let is_kept = |path: &String| !path.contains("/_leases/");
    files
        .into_iter()
        .filter(|(path, _)| is_kept(path))
        .collect()
}

impl Ran {
    pub fn ok(self, args: &[&str]) -> String {
        assert_eq!(self.code, 0, "annals {args:?}: {}", self.err);
        self.out
    }

    /// A run that fails with one line on stderr, nothing on stdout, and says all of `words`.
    pub fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "stderr: {}", self.err);
        assert_eq!(self.err.lines().count(), 1, "stderr: {}", self.err);
        assert!(self.err.starts_with("annals: "), "stderr: {}", self.err);
        for word in words {
            assert!(
                self.err.contains(word),
                "{word:?} is not in stderr: {}",
                self.err
            );
        }
        assert_eq!(self.out, "");
    }
}

pub fn run(directory: &Path, args: &[&str], stdin: &[u8]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_annals"));
    start(command.args(args).current_dir(directory), stdin)
}

pub fn start(command: &mut Command, stdin: &[u8]) -> Ran {
    let mut child = command
        .env_remove("ANNALS_ROOT")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its stdin may be gone before this is written.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Files under a directory by their paths in it, directories with a trailing slash.
pub fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if path.is_dir() {
                found.insert(format!("{name}/"), Vec::new());
                left.push(path);
            } else {
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Whether a command that a test needs is missing or may not do that here. `cargo xtask test` counts what is left out.
pub fn cannot_run(command: &[&str]) -> bool {
    let (first, rest) = command.split_first().unwrap();
    let ran = Command::new(first).args(rest).output();
    let is_missing = !ran.is_ok_and(|ran| ran.status.success());
    if is_missing {
        eprintln!("left out: {command:?} cannot be run here");
    }
    is_missing
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A turn with one user message and one answer.
pub const TURN: &str = concat!(
    r#"{"type":"turn/start","data":{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}}"#,
    "\n",
    r#"{"type":"user/message","data":{"content":[{"type":"text","text":"hi"}],"source":{"kind":"user"}},"surfaceOp":"append"}"#,
    "\n",
    r#"{"type":"turn/end","data":{"turn":1,"reason":{"kind":"completed"}}}"#,
    "\n",
);

/// The beginning of a turn that is interrupted while a tool runs.
pub const OPEN_TURN: &str = concat!(
    r#"{"type":"turn/start","data":{"turn":2,"trigger":{"kind":"message","source":{"kind":"user"}}}}"#,
    "\n",
    r#"{"type":"user/message","data":{"content":[{"type":"text","text":"go on"}],"source":{"kind":"user"}},"surfaceOp":"append"}"#,
    "\n",
    r#"{"type":"step/start","data":{"turn":2,"step":1}}"#,
    "\n",
    r#"{"type":"assistant/message","data":{"turn":2,"step":1,"content":[{"type":"tool-call","id":"c1","name":"bash","arguments":"{}"}],"provenance":{"provider":"p","model":"m"}},"surfaceOp":"append"}"#,
    "\n",
    r#"{"type":"tool/call","data":{"turn":2,"step":1,"callId":"c1","name":"bash","arguments":"{}"}}"#,
    "\n",
);
