//! The whole of it: rounds of trouble, each followed by a look at everything.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use crate::command::{Annals, Ending};
use crate::counts::Counts;
use crate::disk;
use crate::inspection::{Verdict, inspect, retire};
use crate::journal::{Claim, Journal};
use crate::payload::Mint;
use crate::processes::Processes;
use crate::random::Random;
use crate::visitor::{Made, Visitor};
use crate::writer::Writer;

const SHARED: u64 = 4;
const VISITORS: u64 = 2;

/// A session is appended to in so many rounds, and then removed.
const ROUNDS_OF_SESSION: u64 = 2;

/// What to do.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub seconds: u64,
    pub round_seconds: u64,
    pub writers: u64,
    /// Journals, and evidence if there is any.
    pub directory: PathBuf,
    /// Where the root is, and whether that disk may be filled.
    pub disk: PathBuf,
    pub is_filled: bool,
    pub program: PathBuf,
}

/// What came of it.
#[derive(Debug)]
pub struct Report {
    pub rounds: u64,
    pub counts: Counts,
    pub stored: u64,
    pub unacknowledged: u64,
    pub temporaries: u64,
    /// What the last pause showed; the siege ends with the first that shows a fault.
    pub last: Verdict,
    pub is_filled: bool,
}

struct Siege {
    plan: Plan,
    annals: Annals,
    sessions: Vec<String>,
    claims: Vec<Claim>,
    report: Report,
}

/// Runs it.
///
/// # Errors
/// Something that is no fault of Annals, such as a command that cannot be started.
pub fn run(plan: Plan) -> Result<Report> {
    let annals = Annals {
        program: plan.program.clone(),
        root: plan.disk.join("root"),
        processes: Processes::default(),
        counts: Counts::default(),
    };
    let report = Report {
        rounds: 0,
        counts: Counts::default(),
        stored: 0,
        unacknowledged: 0,
        temporaries: 0,
        last: Verdict::default(),
        is_filled: plan.is_filled,
    };
    let mut siege = Siege {
        plan,
        annals,
        sessions: Vec::new(),
        claims: Vec::new(),
        report,
    };
    let started = Instant::now();
    loop {
        let is_last = siege.round(started)?;
        let is_good = siege.report.last.faults().is_empty();
        if is_last || !is_good || !siege.annals.counts.unexpected().is_empty() {
            break;
        }
    }
    let mut report = siege.report;
    report.counts = siege.annals.counts;
    Ok(report)
}

impl Siege {
    /// Whether it was the last, as its time is up.
    fn round(&mut self, started: Instant) -> Result<bool> {
        let round = self.report.rounds;
        let shared = names("shared", round, SHARED);
        let own = names("own", round, self.plan.writers);
        for id in shared.iter().chain(&own) {
            if !self.sessions.contains(id) {
                let ran = self.annals.run(u64::MAX, &["create", "--id", id], "")?;
                ensure!(ran.ending == Ending::Done, "create {id}: {}", ran.errors);
                self.sessions.push(id.clone());
            }
        }
        let made = self.fight(round, &shared, &own)?;
        self.report.rounds += 1;

        let known = [self.sessions.as_slice(), &made.stored].concat();
        let mut verdict = inspect(&self.annals, &known, &made.deleted, &self.claims)?;
        self.report.temporaries += verdict.temporaries;
        let is_last = started.elapsed() >= Duration::from_secs(self.plan.seconds);
        let is_good = verdict.faults().is_empty() && self.annals.counts.unexpected().is_empty();
        let next = [
            names("shared", round + 1, SHARED),
            names("own", round + 1, self.plan.writers),
        ]
        .concat();
        for (id, (stored, unacknowledged)) in verdict.stored.clone() {
            if !is_last && is_good && next.contains(&id) {
                continue;
            }
            self.report.stored += stored;
            self.report.unacknowledged += unacknowledged;
            // what shows a fault stays
            if is_good {
                verdict.litter.extend(retire(&self.annals, &id)?);
                self.sessions.retain(|session| *session != id);
                self.claims.retain(|claim| claim.session != id);
            }
        }
        println!(
            "round {}: {} processes, {} events acknowledged, {} faults",
            self.report.rounds,
            self.annals.counts.started.get(),
            self.annals.counts.acknowledged.get(),
            verdict.faults().len(),
        );
        self.report.last = verdict;
        Ok(is_last)
    }

    /// Everybody at once, for the length of a round.
    fn fight(&mut self, round: u64, shared: &[String], own: &[String]) -> Result<Made> {
        let (is_over, is_quiet) = (AtomicBool::new(false), AtomicBool::new(false));
        let (annals, plan) = (&self.annals, &self.plan);
        let everything = [shared, own].concat();
        let (claims, made) = thread::scope(|scope| {
            let ticker = scope.spawn(|| {
                while !is_quiet.load(Ordering::Relaxed) {
                    annals.processes.tick(&annals.counts);
                    thread::sleep(Duration::from_millis(20));
                }
            });
            let writers: Vec<_> = own
                .iter()
                .zip(0..)
                .map(|(own, owner)| -> Result<_> {
                    let writer = self.writer(round, owner, shared, own)?;
                    Ok(scope.spawn(|| writer.run(&is_over)))
                })
                .collect();
            let visitors = (1000..1000 + VISITORS).map(|owner| {
                let visitor = self.visitor(round, owner, &everything);
                scope.spawn(|| visitor.run(&is_over))
            });
            let visitors: Vec<_> = visitors.collect();
            let mut choice = self.random(round, 2000);
            let filler = plan.is_filled.then(|| {
                let mut random = self.random(round, 2001);
                let is_over = &is_over;
                scope.spawn(move || disk::fill(&plan.disk, &mut random, &annals.counts, is_over))
            });

            thread::sleep(Duration::from_secs(plan.round_seconds));
            is_over.store(true, Ordering::Relaxed);
            annals.processes.kill_half(&mut choice);
            thread::sleep(Duration::from_millis(500));
            annals.processes.kill_half(&mut choice);
            let mut claims = Vec::new();
            let mut made = Made::default();
            let panicked = |_| anyhow!("a thread panicked");
            let end = || -> Result<()> {
                for writer in writers {
                    claims.extend(writer?.join().map_err(panicked)??.journal.into_claims());
                }
                for visitor in visitors {
                    let theirs = visitor.join().map_err(panicked)??.made;
                    made.stored.extend(theirs.stored);
                    made.deleted.extend(theirs.deleted);
                }
                filler.map_or(Ok(()), |filler| filler.join().map_err(panicked))
            };
            let ended = end();
            is_quiet.store(true, Ordering::Relaxed);
            let ticked = ticker.join().map_err(panicked);
            ended.and(ticked).map(|()| (claims, made))
        })
        .context("the round was cut short")?;
        self.claims.extend(claims);
        Ok(made)
    }
}

impl<'a> Siege {
    fn random(&self, round: u64, stream: u64) -> Random {
        Random::new(self.plan.seed, (round << 16) | stream)
    }

    fn writer(
        &'a self,
        round: u64,
        owner: u64,
        shared: &'a [String],
        own: &str,
    ) -> Result<Writer<'a>> {
        let journal = format!("journal-{owner}.jsonl");
        Ok(Writer {
            annals: &self.annals,
            owner,
            shared,
            own: own.to_owned(),
            random: self.random(round, owner),
            mint: Mint::new(format!("w{owner}-r{round}")),
            journal: Journal::open(&self.plan.directory.join(journal))?,
        })
    }

    fn visitor(&'a self, round: u64, owner: u64, sessions: &'a [String]) -> Visitor<'a> {
        Visitor {
            annals: &self.annals,
            owner,
            sessions,
            round,
            random: self.random(round, owner),
            made: Made::default(),
        }
    }
}

/// Names of one kind; not all change in the same round.
fn names(kind: &str, round: u64, count: u64) -> Vec<String> {
    let names = (0..count).map(|n| {
        let generation = (round + n) / ROUNDS_OF_SESSION;
        format!("{kind}{n}-{generation}")
    });
    names.collect()
}

impl Report {
    /// Rows that must be 0, by name.
    #[must_use]
    pub fn faults(&self) -> [(&'static str, u64); 9] {
        let Verdict {
            findings,
            shut,
            unsettled,
            litter,
            ..
        } = &self.last;
        let length = |some: &Vec<String>| some.len() as u64;
        [
            ("unexpected endings", length(&self.counts.unexpected())),
            ("refused, yet stored", length(&findings.uninvited)),
            ("lines unreadable", length(&findings.unreadable)),
            ("sessions changed by a second opening", length(unsettled)),
            ("litter left", length(litter)),
            ("events lost", length(&findings.lost)),
            ("events doubled", length(&findings.doubled)),
            ("gaps", length(&findings.gaps)),
            ("sessions that did not open", length(shut)),
        ]
    }

    /// The table of everything.
    #[must_use]
    pub fn table(&self) -> String {
        let counts = &self.counts;
        let rows = [
            ("rounds", self.rounds),
            ("processes started", counts.started.get()),
            ("killed", counts.killed.get()),
            ("... by a second SIGTERM", counts.unhandled.get()),
            ("ended by SIGTERM", counts.terminated.get()),
            ("stopped", counts.stopped.get()),
            ("... for longer than a lease lives", counts.overtaken.get()),
            ("disk filled", counts.filled.get()),
            ("refused, no space", counts.no_space.get()),
            ("refused, busy", counts.busy.get()),
            ("refused, lease lost", counts.lease_lost.get()),
            ("refused, other", counts.others().values().sum()),
            ("events tried again", counts.retried.get()),
            ("events acknowledged", counts.acknowledged.get()),
            ("events stored", self.stored),
            ("... of killed writers, unacknowledged", self.unacknowledged),
            ("sessions created and forked meanwhile", counts.made.get()),
            ("torn ends cut", counts.torn.get()),
            ("temporaries of killed writers swept", self.temporaries),
        ];
        let mut table = String::new();
        for (name, count) in rows.iter().chain(&self.faults()) {
            let _ = writeln!(table, "{name:<40} {count:>9}");
        }
        for (words, count) in counts.others() {
            let _ = writeln!(table, "other refusal, {count} times: {words}");
        }
        if !self.is_filled {
            table.push_str("the disk was never full\n");
        }
        table
    }
}
