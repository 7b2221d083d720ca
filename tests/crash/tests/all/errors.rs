//! The error matrix: every operation of the workload fails once, or from there on until the disk is healed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use annals_crash::{Fault, Plan, PowerCut, Sim};
use annals_sdk::types::{Error, ErrorCode, EvictionReason};

use crate::examination::{Promise, examine_tree};
use crate::process::is_typed;
use crate::story::{Facts, Listener, Smooth, Teller};

/// After how many acknowledgements that follow a fault the disk is looked at.
const LOOKS_MAX: usize = 2;

/// Hears what an agent is told while a fault is due.
struct Watch<'a> {
    sim: &'a Sim,
    fault: Fault,
    errors: Vec<String>,
    looks: usize,
    failures: Vec<String>,
}

impl Watch<'_> {
    fn expected(&self) -> ErrorCode {
        match self.fault {
            Fault::NoSpace | Fault::ShortThenNoSpace => ErrorCode::NoSpace,
            Fault::ReadOnly => ErrorCode::ReadOnly,
            _ => ErrorCode::Other,
        }
    }

    fn look(&mut self, facts: &Facts) {
        let tree = self.sim.tree();
        let power = PowerCut::of(&tree);
        let promise = Promise {
            now: facts,
            next: facts,
        };
        for state in [power.nothing(), power.everything()] {
            if let Err(what) = examine_tree(power.disk(&state), &promise, EvictionReason::Gone) {
                self.failures
                    .push(format!("{}: {what}", power.shown(&state)));
            }
        }
    }
}

impl Listener for Watch<'_> {
    fn error(&mut self, what: &str, error: &Error) {
        let is_due = self.sim.met().is_some();
        if !is_due || !is_typed(error) || error.code != self.expected() {
            self.failures.push(format!("{what} answers {error:?}"));
        }
        self.errors.push(what.to_owned());
    }

    fn acknowledged(&mut self, facts: &Facts) {
        let Some(met) = self.sim.met() else { return };
        let is_of_log = met.ends_with(".jsonl") && !met.contains("look at");
        let has_another_way = self.fault == Fault::Short || self.fault.is_of_links();
        if is_of_log && self.errors.is_empty() && !has_another_way {
            self.failures
                .push("the log was not written, and nobody was told".to_owned());
        }
        if self.looks < LOOKS_MAX {
            self.looks += 1;
            self.look(facts);
        }
    }
}

/// What came of one plan.
struct Told {
    met: Option<String>,
    is_surfaced: bool,
    failures: Vec<String>,
}

fn disk(links: Option<Fault>) -> Sim {
    match links {
        None => Sim::default(),
        Some(fault) => Sim::default().without_links(fault),
    }
}

fn tell(plan: Plan, links: Option<Fault>) -> Told {
    let sim = disk(links).failing(plan);
    let mut watch = Watch {
        sim: &sim,
        fault: plan.fault,
        errors: Vec::new(),
        looks: 0,
        failures: Vec::new(),
    };
    let told = quietly(|| {
        let mut teller = Teller::new(&sim, &mut watch, false);
        teller.tell();
        teller.versions.pop().unwrap()
    });
    match told {
        Ok(facts) => watch.look(&facts),
        Err(words) => watch.failures.push(words),
    }
    watch.failures.extend(sim.misuse());
    Told {
        met: sim.met(),
        is_surfaced: !watch.errors.is_empty(),
        failures: watch.failures,
    }
}

/// A panic as words, printed by nobody.
fn quietly<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    thread_local!(static IS_QUIET: Cell<bool> = const { Cell::new(false) });
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                usual(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let done = panic::catch_unwind(panic::AssertUnwindSafe(call));
    IS_QUIET.set(false);
    done.map_err(|payload| match payload.downcast::<String>() {
        Ok(words) => *words,
        Err(payload) => format!("panics: {:?}", payload.downcast_ref::<&str>()),
    })
}

fn plans(links: Option<Fault>) -> Vec<Plan> {
    let sim = disk(links).keeping_steps();
    Teller::new(&sim, &mut Smooth, false).tell();
    let mut plans = Vec::new();
    // what tears a log is not an operation of the workload, and not counted among those that may fail
    for step in sim.steps() {
        for fault in Fault::of(step.operation) {
            let is_lasting = [false, fault.lasts_for(step.operation)];
            plans.extend(is_lasting.iter().take(1 + usize::from(is_lasting[1])).map(
                |is_lasting| Plan {
                    at: step.at,
                    is_look: false,
                    fault,
                    is_lasting: *is_lasting,
                },
            ));
        }
    }
    let look = |at| Plan {
        at,
        is_look: true,
        fault: Fault::Io,
        is_lasting: false,
    };
    plans.extend((0..sim.looks()).map(look));
    plans
}

#[test]
fn whatever_fails_is_said_and_done_again_without_a_restart() {
    run("hard links", None);
    run("no hard links", Some(Fault::LinkUnsupported));
}

fn run(name: &str, links: Option<Fault>) {
    let plans = plans(links);
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut failures = Vec::new();
    let told = thread::scope(|scope| {
        let work = || {
            let mut all = Vec::new();
            while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
                all.push((*plan, tell(*plan, links)));
            }
            all
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let told = workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap());
        told.collect::<Vec<_>>()
    });
    for (plan, told) in told {
        let Some(met) = told.met else { continue };
        let which = match (plan.is_look, plan.is_lasting) {
            (true, _) => "Io while looking".to_owned(),
            (false, true) => format!("{:?}, lasting", plan.fault),
            (false, false) => format!("{:?}", plan.fault),
        };
        counts.entry(which).or_default()[usize::from(told.is_surfaced)] += 1;
        let lasting = if plan.is_lasting { ", lasting" } else { "" };
        let failed = told.failures.first();
        failures.extend(failed.map(|failure| format!("{}: {met}{lasting}: {failure}", plan.at)));
    }
    println!("\nerror matrix, {name}");
    println!(
        "{:<24} {:>10} {:>10} {:>10}",
        "fault", "operations", "surfaced", "absorbed"
    );
    let mut all = 0;
    for (which, [absorbed, surfaced]) in &counts {
        println!(
            "{which:<24} {:>10} {surfaced:>10} {absorbed:>10}",
            absorbed + surfaced
        );
        all += absorbed + surfaced;
    }
    println!("{all} faults");
    failures.sort_by_key(String::len);
    for failure in failures.iter().take(30) {
        println!("{failure}");
    }
    assert!(
        failures.is_empty(),
        "{} of {all} faults are handled badly",
        failures.len()
    );
}
