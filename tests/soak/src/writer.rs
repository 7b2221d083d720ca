//! A writer: appends, is refused, tries again, and after a kill looks at what is there.

use std::collections::HashSet;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;

use crate::checker::Log;
use crate::command::{Annals, Ending, Refusal, seqs_of};
use crate::disk::doze;
use crate::journal::{Journal, State};
use crate::payload::{Mint, Payload};
use crate::random::Random;

/// One thread of the siege; its processes belong to it.
pub struct Writer<'a> {
    pub annals: &'a Annals,
    pub owner: u64,
    /// Sessions that others append to as well.
    pub shared: &'a [String],
    /// One that nobody else appends to.
    pub own: String,
    pub random: Random,
    pub mint: Mint,
    pub journal: Journal,
}

/// How a batch is given to the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Batch,
    /// Line by line, to one that holds the lease meanwhile.
    Stream,
    /// To one that is killed in the middle of it.
    Ambush,
}

/// What one run of the command left undone.
struct Tried {
    left: Vec<Payload>,
    /// Whether some of it may be in the log all the same.
    is_in_doubt: bool,
}

impl Writer<'_> {
    /// Appends until it is over. Gives back what is known of every event.
    ///
    /// # Errors
    /// A command cannot be started, or the journal cannot be written.
    pub fn run(mut self, is_over: &AtomicBool) -> Result<Self> {
        while !is_over.load(Ordering::Relaxed) {
            let is_shared = self.random.one_in(2);
            let chosen = self.random.pick(self.shared).filter(|_| is_shared);
            let session = chosen.unwrap_or(&self.own).clone();
            let (manner, batch) = match self.random.below(60) {
                0 => (Manner::Ambush, self.mint.bulk()),
                1..20 => (Manner::Stream, self.mint.stream(&mut self.random)),
                _ => (Manner::Batch, self.mint.batch(&mut self.random)),
            };
            self.store(&session, batch, manner, is_over)?;
        }
        Ok(self)
    }

    /// Tries until every event is there or it is over.
    fn store(
        &mut self,
        session: &str,
        batch: Vec<Payload>,
        mut manner: Manner,
        is_over: &AtomicBool,
    ) -> Result<()> {
        let mut left = batch;
        loop {
            if is_over.load(Ordering::Relaxed) {
                return self.settle(session, left, State::Refused);
            }
            let tried = match manner {
                Manner::Batch => self.append(session, left)?,
                Manner::Stream => self.follow(session, left)?,
                Manner::Ambush => self.ambush(session, left)?,
            };
            if manner == Manner::Ambush {
                manner = Manner::Batch;
            }
            self.strike();
            left = tried.left;
            if tried.is_in_doubt {
                match self.look(session, is_over)? {
                    None => return self.settle(session, left, State::Unknown),
                    Some(tokens) => {
                        let is_there = |payload: &Payload| tokens.contains(&payload.token);
                        let (found, missing) = left.into_iter().partition(is_there);
                        self.settle(session, found, State::Found)?;
                        left = missing;
                    }
                }
            }
            if left.is_empty() {
                return Ok(());
            }
            self.annals.counts.retried.add(left.len() as u64);
            doze(self.random.below(60), is_over);
        }
    }

    fn append(&mut self, session: &str, batch: Vec<Payload>) -> Result<Tried> {
        let wait = self.wait();
        let arguments = ["append", session, "--wait", &wait];
        let input: String = batch.iter().map(|payload| payload.line.as_str()).collect();
        let ran = self.annals.run(self.owner, &arguments, &input)?;
        let left = self.acknowledge(session, batch, &seqs_of(&ran.printed))?;
        self.judge(ran.ending, &ran.errors, left)
    }

    /// Feeds `append --follow` some lines at a time, and reads the seqs of them.
    fn follow(&mut self, session: &str, batch: Vec<Payload>) -> Result<Tried> {
        let wait = self.wait();
        let arguments = ["append", session, "--follow", "--wait", &wait];
        let mut running = self.annals.start(self.owner, &arguments)?;
        let (stdin, stdout) = (running.stdin(), running.stdout());
        let mut printed = String::new();
        if let (Some(mut stdin), Some(mut stdout)) = (stdin, stdout) {
            let mut given = 0;
            while given < batch.len() {
                let end = batch.len().min(given + 1 + self.below(5));
                let lines = batch.get(given..end).unwrap_or_default();
                let lines: String = lines.iter().map(|payload| payload.line.as_str()).collect();
                if stdin.write_all(lines.as_bytes()).is_err() {
                    break;
                }
                // an ended process prints nothing more
                let seqs = (given..end).map(|_| stdout.read_line(&mut printed).unwrap_or(0));
                if seqs.filter(|bytes| *bytes > 0).count() < end - given {
                    break;
                }
                given = end;
                running.holds();
                match self.random.below(16) {
                    // holds the lease while nothing happens
                    0 => thread::sleep(Duration::from_millis(self.random.below(1200))),
                    1..5 => thread::sleep(Duration::from_millis(self.random.below(40))),
                    _ => {}
                }
            }
            drop(stdin);
            while stdout.read_line(&mut printed).unwrap_or(0) > 0 {}
        }
        let (ending, errors) = self.annals.ended(running, &arguments)?;
        let left = self.acknowledge(session, batch, &seqs_of(&printed))?;
        self.judge(ending, &errors, left)
    }

    /// Gives a process that holds the lease much to write, and kills it, most likely while it writes.
    fn ambush(&mut self, session: &str, batch: Vec<Payload>) -> Result<Tried> {
        let arguments = ["append", session, "--follow", "--wait", "300"];
        let mut running = self.annals.start(self.owner, &arguments)?;
        let (stdin, stdout) = (running.stdin(), running.stdout());
        let mut printed = String::new();
        if let (Some(mut stdin), Some(mut stdout)) = (stdin, stdout) {
            let mut lines = batch.iter().map(|payload| payload.line.as_str());
            let first = lines.next().unwrap_or_default();
            let rest: String = lines.collect();
            let is_given = stdin.write_all(first.as_bytes()).is_ok();
            if is_given && stdout.read_line(&mut printed).unwrap_or(0) > 0 {
                let _ = stdin.write_all(rest.as_bytes());
                thread::sleep(Duration::from_micros(self.random.below(12_000)));
            }
            running.kill();
            while stdout.read_line(&mut printed).unwrap_or(0) > 0 {}
        }
        let (ending, errors) = self.annals.ended(running, &arguments)?;
        let left = self.acknowledge(session, batch, &seqs_of(&printed))?;
        self.judge(ending, &errors, left)
    }

    fn judge(&self, ending: Ending, errors: &str, left: Vec<Payload>) -> Result<Tried> {
        let is_in_doubt = match ending {
            Ending::Done | Ending::Refused(Refusal::Damaged) => {
                if !left.is_empty() {
                    let events = left.len();
                    let text =
                        format!("append ended well or saw damage, {events} events left: {errors}");
                    self.annals.counts.note_unexpected(text);
                }
                true
            }
            Ending::Killed | Ending::Unexpected | Ending::Refused(Refusal::LeaseLost) => true,
            Ending::Terminated
            | Ending::Refused(Refusal::Busy | Refusal::NoSpace | Refusal::Other) => false,
        };
        Ok(Tried {
            is_in_doubt: is_in_doubt && !left.is_empty(),
            left,
        })
    }

    /// Writes down what has a seq; the rest.
    fn acknowledge(
        &mut self,
        session: &str,
        mut batch: Vec<Payload>,
        seqs: &[u64],
    ) -> Result<Vec<Payload>> {
        let left = batch.split_off(seqs.len().min(batch.len()));
        self.annals.counts.acknowledged.add(batch.len() as u64);
        for (payload, seq) in batch.into_iter().zip(seqs) {
            self.journal
                .settle(session, payload, State::Acknowledged { seq: *seq })?;
        }
        Ok(left)
    }

    fn settle(&mut self, session: &str, left: Vec<Payload>, state: State) -> Result<()> {
        let mut settled = left.into_iter();
        settled.try_for_each(|payload| self.journal.settle(session, payload, state))
    }

    /// The tokens in the log, looked up as a user would: repair what the kill left, then read. None when it is over
    /// before the session opened.
    fn look(&mut self, session: &str, is_over: &AtomicBool) -> Result<Option<HashSet<String>>> {
        while !is_over.load(Ordering::Relaxed) {
            let ran = self
                .annals
                .run(self.owner, &["resume", session, "--wait", "1000"], "")?;
            if ran.ending == Ending::Done {
                let log = self.annals.log(session).unwrap_or_default();
                let events = Log::read(&log).events;
                return Ok(Some(
                    events.into_iter().filter_map(|event| event.token).collect(),
                ));
            }
            doze(self.random.below(60), is_over);
        }
        Ok(None)
    }

    fn strike(&mut self) {
        if self.random.one_in(2) {
            thread::sleep(Duration::from_millis(self.random.below(15)));
            let annals = self.annals;
            annals
                .processes
                .strike(self.owner, &mut self.random, &annals.counts);
        }
    }

    fn wait(&mut self) -> String {
        let waits = ["0", "300", "2500", "4000", "6000"];
        (*self.random.pick(&waits).unwrap_or(&"0")).to_owned()
    }

    fn below(&mut self, end: u64) -> usize {
        usize::try_from(self.random.below(end)).unwrap_or(0)
    }
}
