//! System calls of one run of the command, as strace saw them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{arguments, program, run};

/// Everything that reads, writes, names or syncs a file.
const TRACED: &str = "open,openat,creat,read,pread64,readv,preadv,preadv2,mmap,copy_file_range,sendfile,\
                      write,pwrite64,writev,pwritev,pwritev2,ftruncate,fsync,fdatasync,sync_file_range,\
                      link,linkat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat";

/// One system call that succeeded.
#[derive(Debug)]
pub struct Call {
    pub name: String,
    /// The file behind the first file descriptor; for `mmap`, the mapped file.
    pub file: Option<PathBuf>,
    /// What was passed, as strace prints it.
    pub arguments: String,
    pub result: u64,
}

impl Call {
    pub fn reads(&self) -> bool {
        self.name.contains("read") || ["copy_file_range", "sendfile"].contains(&self.name.as_str())
    }

    pub fn writes(&self) -> bool {
        self.name.contains("write")
    }

    pub fn syncs(&self) -> bool {
        ["fsync", "fdatasync"].contains(&self.name.as_str())
    }

    pub fn links(&self) -> bool {
        self.name.starts_with("link")
    }

    pub fn makes_directory(&self) -> bool {
        self.name.starts_with("mkdir")
    }

    pub fn is_on(&self, file: &Path) -> bool {
        self.file.as_deref() == Some(file)
    }
}

/// The calls, in order of their start, of `annals --root root line`, which must succeed; and what it printed.
pub fn trace(root: &Path, line: &str, input: &str) -> (Vec<Call>, String) {
    if Command::new("strace").arg("-V").output().is_err() {
        panic!("strace is not installed: system calls cannot be watched (apt-get install strace)");
    }
    let logs = tempfile::tempdir().unwrap();
    let mut command = Command::new("strace");
    // A file for each thread keeps every call on one line; the times put them in order again.
    command.args(["-ff", "-ttt", "-y", "-s", "16", "-e", TRACED, "-o"]);
    command
        .arg(logs.path().join("calls"))
        .arg(program())
        .args(arguments(root, line));
    let output = run(&mut command, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "strace annals {line} failed: {errors}"
    );

    let mut calls = Vec::new();
    for entry in fs::read_dir(logs.path()).unwrap() {
        let text = fs::read(entry.unwrap().path()).unwrap();
        calls.extend(String::from_utf8_lossy(&text).lines().filter_map(call));
    }
    calls.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let calls = calls.into_iter().map(|(_, call)| call).collect();
    (calls, String::from_utf8(output.stdout).unwrap())
}

/// A call and its start in seconds. `None`: a call that failed, or a line about a signal or the end.
fn call(line: &str) -> Option<(f64, Call)> {
    let (time, line) = line.trim_start().split_once(' ')?;
    let (name, line) = line.split_once('(')?;
    let (arguments, result) = line.rsplit_once(" = ")?;
    let result = result.split(['<', ' ']).next()?;
    let result = match result.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => result.parse().ok()?,
    };
    let place = if name == "mmap" {
        arguments.split(", ").nth(4)?
    } else {
        arguments
    };
    let file = place.split_once('<').and_then(|(number, rest)| {
        number.parse::<u32>().ok()?;
        Some(PathBuf::from(rest.split_once('>')?.0))
    });
    let call = Call {
        name: name.to_owned(),
        file,
        arguments: arguments.to_owned(),
        result,
    };
    Some((time.parse().ok()?, call))
}

#[test]
fn calls_are_read_as_strace_prints_them() {
    let (time, write) =
        call(r#"1700000000.25 pwrite64(7</r/a.jsonl>, "{\"type\":\""..., 120, 64) = 120"#).unwrap();
    assert_eq!(time, 1_700_000_000.25);
    assert!(write.writes() && write.is_on(Path::new("/r/a.jsonl")));
    assert_eq!(write.result, 120);

    let (_, map) =
        call("1.0 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3</r/a>, 0) = 0x7f00").unwrap();
    assert!(map.is_on(Path::new("/r/a")));
    let (_, open) = call(r#"1.0 openat(4</r>, "a", O_RDONLY) = 5</r/a>"#).unwrap();
    assert_eq!((open.name.as_str(), open.result), ("openat", 5));
    assert!(call(r#"1.0 openat(4</r>, "a", O_RDONLY) = -1 ENOENT (No such file)"#).is_none());
    assert!(call("1.0 +++ exited with 0 +++").is_none());
}
