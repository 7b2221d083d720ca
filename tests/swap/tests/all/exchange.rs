//! All of it: threads that write, a backend that changes, and the checker over everything that was left.

use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use annals::{Place, Upkeep};

use crate::changes::{COMMUTER, Changes, Left, Tally};
use crate::checker::{Due, Findings, hold_journal, hold_medium};
use crate::journal::Sessions;
use crate::medium::Medium;
use crate::scene::{COLLIDERS, Counts, Ending, LOOKED_AT, Scene, Stop};
use crate::writers;

/// Threads that append to the same sessions.
const THREADS: u64 = 4;

/// Everything that was said and left.
pub struct Evidence {
    pub sessions: Sessions,
    pub left: Vec<Left>,
    /// Both roots, at the end.
    pub end: [Medium; 2],
    pub tally: Tally,
    pub counts: Counts,
    pub appends: u64,
    pub seconds: f64,
    /// Kept for its directory.
    pub scene: Kept,
}

/// The roots, where they can still be looked at.
pub struct Kept {
    pub first: std::path::PathBuf,
    _directory: tempfile::TempDir,
}

/// Writes and changes until so many appends were acknowledged, then ends the store.
pub fn run(appends: u64) -> Evidence {
    let started = Instant::now();
    let scene = Scene::new();
    let mut changes = Changes::new(&scene);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let scene = &scene;
            scope.spawn(move || writers::append_on(scene, number, appends));
        }
        scope.spawn(|| writers::pass_by(&scene, appends));
        scope.spawn(|| writers::look_on(&scene, appends));
        let _ending = Ending(&scene);
        changes.go(appends);
    });
    let (left, tally) = (changes.left, changes.tally);
    let faults = std::mem::take(&mut *scene.faults.lock().unwrap());
    assert!(faults.is_empty(), "{:#?}", &faults[..faults.len().min(5)]);
    scene.annals.clone().shutdown().unwrap();
    scene.check_foreign();
    for root in [Stop::First, Stop::Second] {
        // no lease that somebody would have to wait for, and nothing half done
        let upkeep = Upkeep::new(Place::jsonl(scene.root(root))).unwrap();
        assert_eq!(upkeep.inspect(10).unwrap(), [], "{root:?}");
    }
    let files = |name: &str, stop| Medium::of_files(name, &scene.root(stop));
    let end = [files("first", Stop::First), files("second", Stop::Second)];
    let (first, appends) = (scene.root(Stop::First), scene.appends());
    let (journal, counts, directory) = scene.into_parts();
    Evidence {
        sessions: journal.into_sessions(),
        left,
        end,
        tally,
        counts,
        appends,
        seconds: started.elapsed().as_secs_f64(),
        scene: Kept {
            first,
            _directory: directory,
        },
    }
}

impl Evidence {
    /// What was said against what was left: every medium that was left has the beginning of every session; at the end,
    /// whoever lived to the end is whole in the first root, and whoever was closed is whole where that was.
    pub fn findings(&self) -> Findings {
        let mut findings = hold_journal(&self.sessions);
        for left in &self.left {
            let due = |id: &str| due(&left.medium, id, &left.least);
            findings.add(hold_medium(&left.medium, &self.sessions, due));
        }
        let [first, second] = &self.end;
        let whole = |id: &str| match is_kept(id) {
            true => Some(Due::Whole),
            false => Some(Due::Prefix(0)),
        };
        findings.add(hold_medium(first, &self.sessions, whole));
        let none = BTreeMap::new();
        let due = |id: &str| due(second, id, &none);
        findings.add(hold_medium(second, &self.sessions, due));
        self.hold_closed(&mut findings);
        findings
    }

    /// Rows that were read, on every medium.
    fn rows(&self) -> u64 {
        let left = self.left.iter().map(|left| &left.medium);
        left.chain(&self.end).map(|medium| medium.rows).sum()
    }

    /// Each of them is whole somewhere.
    fn hold_closed(&self, findings: &mut Findings) {
        let ended = |left: &&Left| left.medium.name == "memory";
        let media = self.left.iter().filter(ended).map(|left| &left.medium);
        let media: Vec<&Medium> = media.chain(&self.end).collect();
        for (id, told) in self.sessions.iter().filter(|(id, _)| !is_kept(id)) {
            let is_whole = |medium: &&&Medium| medium.logs.get(id) == Some(&told.lines);
            if media.iter().find(is_whole).is_none() {
                findings.lost.push(format!("session {id} is whole nowhere"));
            }
        }
    }

    fn print(&self, findings: &Findings) {
        let count = |what: &str| self.counts.of(what);
        let events: usize = self.sessions.values().map(|told| told.lines.len()).sum();
        let tally = &self.tally;
        println!("\nthe backend changes under load ({:.1} s)", self.seconds);
        println!("appends acknowledged     {:>9}", self.appends);
        println!("  of them out of band    {:>9}", count("out of band"));
        println!("events                   {events:>9}");
        println!("flushes                  {:>9}", count("flushed"));
        println!("flushes refused          {:>9}", count("flushes refused"));
        println!("sessions                 {:>9}", self.sessions.len());
        println!("  forked under load      {:>9}", count("forked"));
        println!("  opened and closed      {:>9}", count("opened and closed"));
        println!("  opened again           {:>9}", count("opened again"));
        println!(
            "    not in the new place {:>9}",
            count("not in the new place")
        );
        println!("    older copies let go  {:>9}", count("older copies"));
        println!("  vetoed by an observer  {:>9}", count("vetoed"));
        println!("logs read meanwhile      {:>9}", count("read"));
        println!("swaps                    {:>9}", tally.changes);
        println!("  without a flush        {:>9}", tally.rescues);
        println!("swaps failed and undone  {:>9}", tally.undone);
        println!("sessions adopted         {:>9}", tally.adopted);
        println!("persisted whole          {:>9}", tally.stored);
        println!("refused as a collision   {:>9}", tally.collided);
        println!("only looked at           {:>9}", tally.inspected);
        println!("media read               {:>9}", self.left.len() + 2);
        println!("packed rows              {:>9}", self.rows());
        println!("logs compared            {:>9}", findings.logs);
        println!("events compared          {:>9}", findings.found);
        println!("lost                     {:>9}", findings.lost.len());
        println!("doubled                  {:>9}", findings.doubled.len());
        println!("wrong                    {:>9}", findings.wrong.len());
    }
}

/// Whether the session lives from the beginning to the end.
fn is_kept(id: &str) -> bool {
    let is_one = [COMMUTER, LOOKED_AT].contains(&id);
    is_one || id.starts_with("steady") || id.starts_with("collides")
}

/// At least so much of a session; the logs that are somebody else's were looked at before.
fn due(medium: &Medium, id: &str, least: &BTreeMap<String, u64>) -> Option<Due> {
    let is_foreign = medium.name == "second" && COLLIDERS.iter().any(|(of, _)| *of == id);
    (!is_foreign).then(|| Due::Prefix(least.get(id).copied().unwrap_or(0)))
}

/// A hundred thousand appends while the backend changes ten times, and four changes that come to nothing.
#[test]
fn every_acknowledged_event_is_found_once() {
    const APPENDS: u64 = 100_000;
    let evidence = run(APPENDS);
    let findings = evidence.findings();
    evidence.print(&findings);
    findings.check();
    assert!(evidence.appends >= APPENDS);
    let tally = &evidence.tally;
    assert_eq!((tally.changes, tally.undone, tally.collided), (10, 4, 6));
    assert_eq!(tally.rescues, 3);
    for what in [
        "out of band",
        "forked",
        "opened again",
        "flushes refused",
        "read",
        "listed",
    ] {
        assert!(evidence.counts.of(what) > 0, "no {what}");
    }
    assert!(evidence.rows() > 0);
    assert!(tally.adopted > 0 && tally.stored > 0);
}
