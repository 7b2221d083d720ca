//! A visitor: reads, repairs, makes, forks, renames and deletes while others append.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use serde_json::Value;

use crate::checker::Log;
use crate::command::{Annals, Ending, Ran, Refusal};
use crate::disk::doze;
use crate::random::Random;

/// One thread; the sessions are the writers', those it makes its own.
pub struct Visitor<'a> {
    pub annals: &'a Annals,
    pub owner: u64,
    pub sessions: &'a [String],
    pub round: u64,
    pub random: Random,
    pub made: Made,
}

/// What is known of sessions that visitors made.
#[derive(Debug, Default)]
pub struct Made {
    /// Their id was printed.
    pub stored: Vec<String>,
    /// Their deletion was said to be done.
    pub deleted: Vec<String>,
    next: u64,
}

impl Visitor<'_> {
    /// Visits until it is over. Gives back what it made.
    ///
    /// # Errors
    /// A command cannot be started.
    pub fn run(mut self, is_over: &AtomicBool) -> Result<Self> {
        while !is_over.load(Ordering::Relaxed) {
            let Some(id) = self.random.pick(self.sessions).cloned() else {
                break;
            };
            match self.random.below(13) {
                0 => self.read(&["list"])?,
                1 => self.read(&["list", "--verify"])?,
                2 => self.verify(&["verify", "--format", "jsonl"])?,
                3 => self.verify(&["verify", &id, "--format", "jsonl"])?,
                4 => self.read(&["show", &id])?,
                5 => drop(self.run_one(&["messages", &id])?),
                6 => drop(self.run_one(&["doctor"])?),
                7 => drop(self.run_one(&["doctor", "--fix", "--wait", "0"])?),
                8 => drop(self.run_one(&["resume", &id, "--wait", "500"])?),
                9 => drop(self.run_one(&["update", &id, "--title", "under siege"])?),
                10 => self.fork(&id)?,
                11 => self.create()?,
                _ => self.delete()?,
            }
            if self.random.one_in(4) {
                let annals = self.annals;
                annals
                    .processes
                    .strike(self.owner, &mut self.random, &annals.counts);
            }
            doze(self.random.below(80), is_over);
        }
        Ok(self)
    }

    fn run_one(&self, arguments: &[&str]) -> Result<Ran> {
        self.annals.run(self.owner, arguments, "")
    }

    /// Reading needs no lease and no room.
    fn read(&self, arguments: &[&str]) -> Result<()> {
        let ran = self.run_one(arguments)?;
        if let Ending::Refused(_) = ran.ending {
            self.unexpected(arguments, &ran.errors);
        }
        Ok(())
    }

    /// What somebody is writing just now may look torn, and nothing else.
    fn verify(&self, arguments: &[&str]) -> Result<()> {
        let ran = self.run_one(arguments)?;
        if ran.ending == Ending::Refused(Refusal::Damaged) {
            for line in ran.printed.lines() {
                let report: Value = serde_json::from_str(line).unwrap_or_default();
                let is_damaged = report.get("status").and_then(Value::as_str) != Some("ok");
                let message = report.get("message").and_then(Value::as_str);
                if is_damaged && !message.is_some_and(|text| text.contains("would be cut")) {
                    self.unexpected(arguments, line);
                }
            }
        } else if let Ending::Refused(_) = ran.ending {
            self.unexpected(arguments, &ran.errors);
        }
        Ok(())
    }

    /// Forks after a turn that is finished. A kill leaves open whether the fork is there.
    fn fork(&mut self, id: &str) -> Result<()> {
        let bytes = self.annals.log(id).unwrap_or_default();
        let log = Log::read(&bytes);
        let mut ends = log.events.iter().rev();
        let is_end = |line: &str| line.starts_with("{\"type\":\"turn/end\"");
        let Some(end) = ends.find(|event| is_end(event.line)) else {
            return Ok(());
        };
        let (fork, at) = (self.new_id("fork"), end.seq.to_string());
        let ran = self.run_one(&["fork", id, "--at", &at, "--id", &fork])?;
        self.note_made(fork, &ran);
        Ok(())
    }

    /// Makes one without events; likewise.
    fn create(&mut self) -> Result<()> {
        let id = self.new_id("new");
        let ran = self.run_one(&["create", "--id", &id])?;
        self.note_made(id, &ran);
        Ok(())
    }

    fn new_id(&mut self, kind: &str) -> String {
        self.made.next += 1;
        format!("{kind}-{}-{}-{}", self.owner, self.round, self.made.next)
    }

    fn note_made(&mut self, id: String, ran: &Ran) {
        if ran.printed == format!("{id}\n") {
            self.annals.counts.made.add(1);
            self.made.stored.push(id);
        }
    }

    fn delete(&mut self) -> Result<()> {
        let index = self.random.below(self.made.stored.len() as u64);
        let index = usize::try_from(index).unwrap_or(0);
        if index >= self.made.stored.len() {
            return Ok(());
        }
        let id = self.made.stored.swap_remove(index);
        match self.run_one(&["delete", &id])?.ending {
            Ending::Done => self.made.deleted.push(id),
            // nothing was done
            Ending::Refused(Refusal::Busy) => self.made.stored.push(id),
            // there or not
            Ending::Refused(_) | Ending::Terminated | Ending::Killed | Ending::Unexpected => {}
        }
        Ok(())
    }

    fn unexpected(&self, arguments: &[&str], errors: &str) {
        let shown = arguments.join(" ");
        self.annals
            .counts
            .note_unexpected(format!("annals {shown}: {errors}"));
    }
}
