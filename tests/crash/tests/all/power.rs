//! The crash matrix: the workload is cut after every operation, and the disk looked at in every state of the model.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use annals_crash::{Draws, Fault, Operation, PowerCut, Sim, Step};
use annals_sdk::types::EvictionReason;

use crate::examination::{Promise, examine, examine_tree};
use crate::story::{Facts, Smooth, Teller};

/// The most states of one cut.
const STATES_MAX: usize = 256;

/// How often the first steps after a power loss are cut by a second one.
const AGAIN_MAX: usize = 8;

struct Variant {
    name: &'static str,
    links: Option<Fault>,
    is_settling: bool,
    seed: u64,
}

#[derive(Default)]
struct Count {
    cuts: usize,
    exhaustive: usize,
    states: usize,
}

#[derive(Default)]
struct Found {
    counts: BTreeMap<Operation, Count>,
    /// States after a second power loss.
    again: usize,
    failures: Vec<String>,
}

#[test]
fn whatever_a_power_loss_leaves_everything_acknowledged_is_there() {
    let variants = [
        Variant {
            name: "hard links, quiet times",
            links: None,
            is_settling: true,
            seed: 1,
        },
        Variant {
            name: "hard links",
            links: None,
            is_settling: false,
            seed: 2,
        },
        Variant {
            name: "no hard links, quiet times",
            links: Some(Fault::LinkNotPermitted),
            is_settling: true,
            seed: 3,
        },
        Variant {
            name: "no hard links",
            links: Some(Fault::LinkUnsupported),
            is_settling: false,
            seed: 4,
        },
    ];
    let started = Instant::now();
    let mut states = 0;
    for variant in &variants {
        states += run(variant);
    }
    println!(
        "{states} disk states in {:.1} s",
        started.elapsed().as_secs_f64()
    );
    assert!(states >= 50_000, "{states} states are too few");
}

fn run(variant: &Variant) -> usize {
    let sim = Sim::default().keeping_steps();
    let sim = match variant.links {
        None => sim,
        Some(fault) => sim.without_links(fault),
    };
    let mut smooth = Smooth;
    let mut teller = Teller::new(&sim, &mut smooth, variant.is_settling);
    teller.tell();
    let versions = teller.versions;
    let (steps, misuse) = (sim.steps(), sim.misuse());
    assert!(misuse.is_empty(), "{misuse:?}");
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let found = thread::scope(|scope| {
        let work = || {
            let mut found = Found::default();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(step) = steps.get(at) else {
                    return found;
                };
                cut(variant, at, step, &versions, &mut found);
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let found = workers.into_iter().map(|worker| worker.join().unwrap());
        found.collect::<Vec<_>>()
    });
    report(variant, found)
}

fn cut(variant: &Variant, at: usize, step: &Step, versions: &[Facts], found: &mut Found) {
    let promise = Promise {
        now: &versions[step.mark],
        next: versions.get(step.mark + 1).unwrap_or(&versions[step.mark]),
    };
    if let Err(what) = lose_power_after_a_kill(step, &promise) {
        found.failures.push(format!(
            "cut {at}, after {:?} {}; killed: {what}",
            step.operation, step.what
        ));
    }
    let power = PowerCut::of(&step.tree);
    let mut draws = Draws::new(variant.seed << 32 | at as u64);
    match lose_power_again(&power, &promise, &mut draws) {
        Ok(count) => found.again += count,
        Err(what) => found.failures.push(format!(
            "cut {at}, after {:?} {}; {what}",
            step.operation, step.what
        )),
    }
    let states = power.states(STATES_MAX, &mut draws);
    let count = found.counts.entry(step.operation).or_default();
    count.cuts += 1;
    count.exhaustive += usize::from(states.is_exhaustive);
    let mut seen = HashSet::new();
    for state in &states.states {
        let disk = power.disk(state);
        if !seen.insert(disk.fingerprint()) {
            continue;
        }
        count.states += 1;
        let why = match count.states % 2 {
            0 => EvictionReason::Gone,
            _ => EvictionReason::Silent,
        };
        if let Err(what) = examine_tree(disk, &promise, why) {
            found.failures.push(format!(
                "cut {at}, after {:?} {}; {}: {what}",
                step.operation,
                step.what,
                power.shown(state)
            ));
        }
    }
}

/// What goes on after a power loss is cut by another one, and nothing of the first promise is lost: how often that was
/// looked at.
fn lose_power_again(
    power: &PowerCut,
    promise: &Promise,
    draws: &mut Draws,
) -> Result<usize, String> {
    if !promise.now.keys().eq(promise.next.keys()) {
        return Ok(0);
    }
    let first = power.states(AGAIN_MAX, draws).states;
    let first = &first[draws.below(first.len())];
    let sim = Sim::over(power.disk(first)).keeping_steps();
    let after = examine(&sim, promise, EvictionReason::Gone)?;
    let [_, next] = promise.kept(after);
    let promise = Promise {
        now: promise.now,
        next: &next,
    };
    let steps = sim.steps();
    for _ in 0..AGAIN_MAX {
        let step = &steps[draws.below(steps.len())];
        let again = PowerCut::of(&step.tree);
        let states = again.states(AGAIN_MAX, draws).states;
        let second = &states[draws.below(states.len())];
        examine_tree(again.disk(second), &promise, EvictionReason::Silent).map_err(|what| {
            let (operation, on) = (step.operation, &step.what);
            format!(
                "{}; again after {operation:?} {on}; {}: {what}",
                power.shown(first),
                again.shown(second)
            )
        })?;
    }
    Ok(AGAIN_MAX)
}

/// Another process goes on at once with what a killed one left, durable or not, and what that one is told is stored
/// survives a power loss.
fn lose_power_after_a_kill(step: &Step, promise: &Promise) -> Result<(), String> {
    let sim = Sim::over(step.tree.clone());
    let after = examine(&sim, promise, EvictionReason::Gone)?;
    let tree = sim.tree();
    let power = PowerCut::of(&tree);
    let [now, next] = promise.kept(after);
    let promise = Promise {
        now: &now,
        next: &next,
    };
    examine_tree(
        power.disk(&power.nothing()),
        &promise,
        EvictionReason::Silent,
    )
    .map_err(|what| format!("then {}: {what}", power.shown(&power.nothing())))?;
    Ok(())
}

fn report(variant: &Variant, found: Vec<Found>) -> usize {
    let mut counts: BTreeMap<Operation, Count> = BTreeMap::new();
    let mut failures = Vec::new();
    let mut again = 0;
    for part in found {
        failures.extend(part.failures);
        again += part.again;
        for (operation, count) in part.counts {
            let total = counts.entry(operation).or_default();
            total.cuts += count.cuts;
            total.exhaustive += count.exhaustive;
            total.states += count.states;
        }
    }
    println!("\ncrash matrix, {}", variant.name);
    println!(
        "{:<18} {:>10} {:>12} {:>12}",
        "cut after", "cuts", "exhaustive", "disk states"
    );
    let mut all = Count::default();
    for (operation, count) in &counts {
        let name = format!("{operation:?}");
        println!(
            "{name:<18} {:>10} {:>12} {:>12}",
            count.cuts, count.exhaustive, count.states
        );
        all.cuts += count.cuts;
        all.exhaustive += count.exhaustive;
        all.states += count.states;
    }
    println!(
        "{:<18} {:>10} {:>12} {:>12}",
        "all", all.cuts, all.exhaustive, all.states
    );
    println!(
        "{again} states after a second power loss, {} cuts after a killed process",
        all.cuts
    );
    failures.sort_by_key(String::len);
    for failure in failures.iter().take(20) {
        println!("{failure}");
    }
    assert!(
        failures.is_empty(),
        "{} of {} states fail",
        failures.len(),
        all.states
    );
    all.states + again
}
