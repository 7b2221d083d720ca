//! The processes that run now, and the signals that they get from each other.

use std::io::{self, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::command::LEASE_TTL;
use crate::counts::Counts;
use crate::locked;
use crate::random::Random;

/// Nothing here takes longer; what does hangs.
const LIFE_MAX: Duration = Duration::from_secs(90);

/// Every process that was started and not yet waited for, so that no signal reaches anything else.
#[derive(Debug, Default)]
pub struct Processes {
    living: Mutex<Vec<Living>>,
}

#[derive(Debug)]
struct Living {
    pid: Pid,
    /// Which thread started it.
    owner: u64,
    /// Whether it is known to hold a lease, and goes on holding it.
    is_holder: bool,
    started: Instant,
    /// When it is continued, for one that is stopped.
    stopped_until: Option<Instant>,
}

/// A process that was started here.
pub struct Running<'a> {
    processes: &'a Processes,
    child: Child,
    pid: Pid,
}

impl Processes {
    /// Starts a process with all three streams piped.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&self, command: &mut Command, owner: u64) -> io::Result<Running<'_>> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
        locked(&self.living).push(Living {
            pid,
            owner,
            is_holder: false,
            started: Instant::now(),
            stopped_until: None,
        });
        Ok(Running {
            processes: self,
            child,
            pid,
        })
    }

    /// `owner` kills, ends or stops a process of somebody else, if there is one.
    pub fn strike(&self, owner: u64, random: &mut Random, counts: &Counts) {
        let mut living = locked(&self.living);
        // who is stopped is mostly left to somebody who takes over from it
        let (is_choosy, spares_stopped) = (random.one_in(2), !random.one_in(8));
        let mut others: Vec<&mut Living> = living
            .iter_mut()
            .filter(|process| process.owner != owner)
            .filter(|process| process.is_holder || !is_choosy)
            .filter(|process| process.stopped_until.is_none() || !spares_stopped)
            .collect();
        let index = random.below(others.len() as u64);
        let Some(victim) = others.get_mut(usize::try_from(index).unwrap_or(0)) else {
            return;
        };
        match random.below(10) {
            0..6 => send(victim.pid, Signal::KILL),
            6..8 => send(victim.pid, Signal::TERM),
            _ if victim.stopped_until.is_none() => {
                let (from, to) = if random.one_in(2) {
                    (200, 1000)
                } else {
                    (2000, 4500)
                };
                let pause = Duration::from_millis(from + random.below(to - from));
                victim.stopped_until = Some(Instant::now() + pause);
                send(victim.pid, Signal::STOP);
                counts.stopped.add(1);
                counts.overtaken.add(u64::from(pause > LEASE_TTL));
            }
            _ => {}
        }
    }

    /// Continues whoever was stopped for long enough, and ends whoever hangs.
    pub fn tick(&self, counts: &Counts) {
        let now = Instant::now();
        for process in locked(&self.living).iter_mut() {
            if process.stopped_until.is_some_and(|until| until <= now) {
                process.stopped_until = None;
                send(process.pid, Signal::CONT);
            }
            if now.duration_since(process.started) > LIFE_MAX {
                process.started = now;
                counts.note_unexpected(format!("process {:?} hung", process.pid));
                send(process.pid, Signal::KILL);
            }
        }
    }

    /// Kills about half of those that run; the others are continued, to end by themselves.
    pub fn kill_half(&self, random: &mut Random) {
        for process in locked(&self.living).iter_mut() {
            if random.one_in(2) {
                send(process.pid, Signal::KILL);
            } else if process.stopped_until.take().is_some() {
                send(process.pid, Signal::CONT);
            }
        }
    }
}

impl Running<'_> {
    /// Where it reads from; once.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// What it prints; once.
    pub fn stdout(&mut self) -> Option<BufReader<ChildStdout>> {
        self.child.stdout.take().map(BufReader::new)
    }

    /// Notes that it holds a lease: who does is struck more often.
    pub fn holds(&self) {
        let mut living = locked(&self.processes.living);
        if let Some(process) = living.iter_mut().find(|process| process.pid == self.pid) {
            process.is_holder = true;
        }
    }

    /// Kills it, by whoever started it.
    pub fn kill(&self) {
        send(self.pid, Signal::KILL);
    }

    /// Waits until it has ended. Whatever it said on stderr; lines on stdout have to be read before.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn end(mut self) -> io::Result<(ExitStatus, String)> {
        let mut errors = Vec::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_end(&mut errors)?;
        }
        // it keeps its number until it is no longer among the living, so that no signal goes astray
        waitid(
            WaitId::Pid(self.pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        )
        .map_err(|error| io::Error::from_raw_os_error(error.raw_os_error()))?;
        locked(&self.processes.living).retain(|process| process.pid != self.pid);
        let status = self.child.wait()?;
        Ok((status, String::from_utf8_lossy(&errors).into_owned()))
    }
}

fn send(pid: Pid, signal: Signal) {
    // one that has ended just now takes none
    let _ = kill_process(pid, signal);
}
