//! A process that holds a session: `annals append ID --follow`, fed line by line.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::command::{arguments, heeding};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Follower {
    child: Child,
    stdin: Option<ChildStdin>,
    printed: Receiver<String>,
}

/// How a follower ended.
pub struct Ended {
    /// As a shell shows it: 128 and the signal's number for one that a signal ended.
    pub code: i32,
    /// Seqs that were printed and not asked for.
    pub printed: Vec<String>,
    pub errors: String,
}

impl Follower {
    /// Starts `annals append id --follow` with more flags.
    pub fn start(root: &Path, id: &str, flags: &str) -> Self {
        let line = format!("append {id} --follow{flags}");
        let mut command = heeding();
        command.args(arguments(root, &line));
        Self::of(command)
    }

    /// Starts a command that appends what it reads and prints the seqs.
    pub fn of(mut command: Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, printed) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            printed,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives it lines and waits for nothing. One that has ended takes none.
    pub fn give(&mut self, lines: &str) {
        let given = self.stdin.as_mut().unwrap().write_all(lines.as_bytes());
        if let Err(error) = given {
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        }
    }

    /// The next seq that it prints: that event is durable.
    pub fn seq(&self) -> u64 {
        let line = self.printed.recv_timeout(PATIENCE).unwrap();
        line.parse().unwrap()
    }

    /// Gives it one line and waits until it is durable; its seq.
    pub fn append(&mut self, line: &str) -> u64 {
        self.give(line);
        self.seq()
    }

    /// Sends a signal, by its name.
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// What it reads from, to feed it from elsewhere; once.
    pub fn stdin(&mut self) -> ChildStdin {
        self.stdin.take().unwrap()
    }

    /// SIGKILL, without a detour through a shell.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Ends its input.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end, which something brought about.
    pub fn end(mut self) -> Ended {
        use std::os::unix::process::ExitStatusExt;
        let (done, is_done) = mpsc::channel();
        let pid = self.pid();
        let watch = thread::spawn(move || {
            if is_done.recv_timeout(PATIENCE).is_err() {
                signal(pid, "KILL");
            }
        });
        let mut errors = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut stderr, &mut errors).unwrap();
        let status = self.child.wait().unwrap();
        done.send(()).unwrap();
        watch.join().unwrap();
        Ended {
            code: status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap()),
            printed: self.printed.iter().collect(),
            errors,
        }
    }
}

/// Sends a signal to a process, by its name; the library has no call for that.
pub fn signal(pid: u32, name: &str) {
    let mut kill = Command::new("sh");
    let kill = kill.args(["-c", "kill -$0 $1", name, &pid.to_string()]);
    assert!(kill.status().unwrap().success(), "kill -{name} {pid}");
}
