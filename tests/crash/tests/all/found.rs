//! What the matrices found, one story each.

use annals_crash::{Draws, Fault, Loss, Operation, Plan, PowerCut, Sim, Tree};
use annals_sdk::Result;
use annals_sdk::types::{ErrorCode, EvictionReason, SessionSummary};
use annals_store::{OpenMode, SessionKey};

use crate::process::{ROOT, Sessions, events, open, options, start, stored, turn, turn_begun};

/// A live session of that id with one turn that is not stored yet.
fn begun(sim: &Sim, id: &str) -> (Sessions, SessionKey) {
    let mut store = start(sim, 1).unwrap();
    let key = store.create(options(id, None), 1).unwrap();
    store.append(key, &turn(1, "first"), 2).unwrap();
    (store, key)
}

/// A disk with session `a` of one turn, everything durable.
fn quiet_disk() -> Tree {
    let sim = Sim::default();
    let (mut store, key) = begun(&sim, "a");
    store.close(key).unwrap();
    sim.settle();
    sim.tree()
}

/// The number of the first operation of that kind on such a file, as `work` goes on from `tree`.
fn first(tree: &Tree, operation: Operation, name: &str, work: impl Fn(&Sim)) -> usize {
    let sim = Sim::over(tree.clone()).keeping_steps();
    work(&sim);
    let steps = sim.steps();
    let is_it =
        |step: &&annals_crash::Step| step.operation == operation && step.what.contains(name);
    steps.iter().find(is_it).unwrap().at
}

fn once(at: usize, fault: Fault) -> Plan {
    Plan {
        at,
        is_look: false,
        fault,
        is_lasting: false,
    }
}

fn lasting(at: usize, fault: Fault) -> Plan {
    Plan {
        is_lasting: true,
        ..once(at, fault)
    }
}

/// What a power loss leaves that leaves as little as it can.
fn after_power_loss(sim: &Sim) -> Sim {
    let tree = sim.tree();
    let power = PowerCut::of(&tree);
    Sim::over(power.disk(&power.nothing()))
}

fn text_of(sim: &Sim, id: &str) -> Result<String> {
    let bytes = stored(&mut start(sim, 9).unwrap(), id)?;
    Ok(String::from_utf8(bytes).unwrap())
}

fn resume(sim: &Sim, why: EvictionReason) -> Result<(Sessions, SessionKey)> {
    let mut store = start(sim, 2)?;
    let (key, _) = open(&mut store, "a", OpenMode::Resume, why)?;
    Ok((store, key))
}

fn tear(sim: &Sim) {
    // longer than what comes in its place
    let (begun, rest) = (turn_begun(2, "torn"), "d".repeat(3000));
    let end = format!("{begun}{{\"type\":\"turn/en{rest}");
    sim.scribble(&format!("{ROOT}/_no-cwd/a.jsonl"), end.as_bytes());
}

fn append_one(store: &mut Sessions, key: SessionKey) -> Result<()> {
    store.append(key, &turn(2, "second"), 3).unwrap();
    store.flush(key)
}

// How many lines of the log of session a a power loss leaves.
fn lines_left(sim: &Sim) -> usize {
    let text = text_of(&after_power_loss(sim), "a");
    text.unwrap().lines().count()
}

// The handle whose sync had failed was used to cut the batch off again, and its next sync was believed.
#[test]
fn a_batch_is_taken_back_by_a_handle_that_did_not_fail() {
    let tree = quiet_disk();
    let work = |sim: &Sim| {
        let (mut store, key) = resume(sim, EvictionReason::Gone).unwrap();
        let _ = append_one(&mut store, key);
    };
    let faults = [Loss::Kept, Loss::Zeros, Loss::Gone].map(Fault::LostSync);
    for fault in faults {
        let at = first(&tree, Operation::Sync, "a.jsonl", work);
        let sim = Sim::over(tree.clone()).failing(once(at, fault));
        work(&sim);
        assert_eq!(sim.misuse(), [""; 0], "{fault:?}");
        // the batch is gone, whatever was seen in its place
        assert_eq!(text_of(&sim, "a").unwrap().lines().count(), 3, "{fault:?}");
    }
}

// The sync failed and so did taking the batch back. The next flush saw the events in the log, took them for stored and
// said ok; they were nowhere but in memory.
#[test]
fn events_that_are_only_seen_are_not_taken_for_stored() {
    let tree = quiet_disk();
    let work = |sim: &Sim| {
        let (mut store, key) = resume(sim, EvictionReason::Gone).unwrap();
        if append_one(&mut store, key).is_err() {
            sim.heal();
            store.flush(key).unwrap();
        }
    };
    let at = first(&tree, Operation::Sync, "a.jsonl", work);
    let sim = Sim::over(tree).failing(lasting(at, Fault::Io));
    work(&sim);
    assert!(sim.met().is_some());
    assert_eq!(lines_left(&sim), 6);
}

// The same for a new session: its log had a name, which was not durable, and the next flush took it for stored.
#[test]
fn a_new_log_that_is_only_seen_is_not_taken_for_stored() {
    let work = |sim: &Sim| {
        let (mut store, key) = begun(sim, "a");
        if store.flush(key).is_err() {
            sim.heal();
            store.flush(key).unwrap();
        }
    };
    let at = first(&Tree::default(), Operation::SyncDirectory, "_no-cwd", work);
    let sim = Sim::default().failing(lasting(at, Fault::Io));
    work(&sim);
    assert!(sim.met().is_some());
    assert_eq!(lines_left(&sim), 3);
}

// A torn end was cut, and the sync of that failed. The next append wrote where the log ended now, and after a power loss
// the rest of the torn end stood behind it.
#[test]
fn a_cut_that_was_not_synced_is_made_good_before_the_next_append() {
    let tree = quiet_disk();
    let work = |sim: &Sim| {
        tear(sim);
        sim.settle();
        let (mut store, key) = match resume(sim, EvictionReason::Gone) {
            Ok(resumed) => resumed,
            Err(_) => panic!("opening fails"),
        };
        append_one(&mut store, key).unwrap();
    };
    let at = first(&tree, Operation::Sync, "a.jsonl", work);
    let sim = Sim::over(tree).failing(once(at, Fault::LostSync(Loss::Kept)));
    tear(&sim);
    sim.settle();
    let mut store = start(&sim, 2).unwrap();
    assert!(store.open("a", OpenMode::Resume).is_err());
    assert!(sim.met().is_some());
    let (key, _) = store.open("a", OpenMode::Resume).unwrap();
    append_one(&mut store, key).unwrap();
    let text = events(&store, key);
    let tree = sim.tree();
    let power = PowerCut::of(&tree);
    for state in power.states(256, &mut Draws::new(1)).states {
        let disk = Sim::over(power.disk(&state));
        assert_eq!(
            text_of(&disk, "a").unwrap(),
            text,
            "{}",
            power.shown(&state)
        );
    }
}

// The root was made, and making its own name durable failed: the next try found the root there, and never tried again.
#[test]
fn directories_above_the_root_are_synced_by_the_next_try() {
    for name in ["", "/srv"] {
        let work = |sim: &Sim| {
            let (mut store, key) = begun(sim, "a");
            if store.flush(key).is_err() {
                store.flush(key).unwrap();
            }
        };
        let sim = Sim::default().keeping_steps();
        work(&sim);
        let wanted = if name.is_empty() { "/" } else { name };
        let steps = sim.steps();
        let mut syncs = steps
            .iter()
            .filter(|step| step.operation == Operation::SyncDirectory);
        let at = syncs.find(|step| step.what == wanted).unwrap().at;
        let sim = Sim::default().failing(once(at, Fault::Io));
        work(&sim);
        assert!(sim.met().is_some());
        assert_eq!(lines_left(&sim), 3);
    }
}

// A process was killed between naming a new log and making the name durable. The next one went on with the log, and a
// power loss took the log away with everything that the second one had been told is stored.
#[test]
fn names_that_a_killed_process_left_are_made_durable_by_the_next() {
    for (operation, of) in [
        (Operation::MakeDirectory, "/srv"),
        (Operation::MakeDirectory, "_no-cwd"),
        (Operation::Link, "a.jsonl"),
    ] {
        let sim = Sim::default().keeping_steps();
        let (mut store, key) = begun(&sim, "a");
        store.flush(key).unwrap();
        let steps = sim.steps();
        let cut = steps
            .iter()
            .find(|step| step.operation == operation && step.what.contains(of));
        let sim = Sim::over(cut.unwrap().tree.clone());
        let mut store = start(&sim, 2).unwrap();
        let key = match open(&mut store, "a", OpenMode::Resume, EvictionReason::Gone) {
            Ok((key, _)) => key,
            Err(_) => store.create(options("a", None), 1).unwrap(),
        };
        store.append(key, &turn(2, "second"), 3).unwrap();
        crate::process::with_lease(&mut store, "a", EvictionReason::Gone, |store| {
            store.flush(key)
        })
        .unwrap();
        let text = events(&store, key);
        assert_eq!(text_of(&after_power_loss(&sim), "a").unwrap(), text, "{of}");
    }
}

// Whoever took over from the killed process could not make the names durable either and gave the lease back: the next
// one found it free, and asked no more.
#[test]
fn what_a_successor_could_not_make_durable_is_left_to_the_next() {
    let sim = Sim::default().keeping_steps();
    let (mut store, key) = begun(&sim, "a");
    store.flush(key).unwrap();
    let mut steps = sim.steps().into_iter();
    let is_link = |step: &annals_crash::Step| {
        step.operation == Operation::Link && step.what.contains("a.jsonl")
    };
    let tree = steps.find(is_link).unwrap().tree;
    let at = first(&tree, Operation::SyncDirectory, "_no-cwd", |sim| {
        resume(sim, EvictionReason::Gone).unwrap();
    });
    let sim = Sim::over(tree).failing(once(at, Fault::Io));
    assert!(resume(&sim, EvictionReason::Gone).is_err());
    assert!(sim.met().is_some());
    let mut store = start(&sim, 3).unwrap();
    let (key, _) = store.open("a", OpenMode::Resume).unwrap();
    append_one(&mut store, key).unwrap();
    let text = events(&store, key);
    assert_eq!(text_of(&after_power_loss(&sim), "a").unwrap(), text);
}

// The lease was taken, then looking at it failed once. Its own process was told from then on that it is in the way.
#[test]
fn a_lease_that_was_taken_in_vain_is_in_nobodys_way_here() {
    let sim = Sim::default();
    let (mut store, key) = begun(&sim, "a");
    store.flush(key).unwrap();
    let looks = sim.looks();
    let mut is_met = 0;
    for at in 0..looks {
        let plan = Plan {
            at,
            is_look: true,
            fault: Fault::Io,
            is_lasting: false,
        };
        let sim = Sim::default().failing(plan);
        let Ok(mut store) = start(&sim, 1) else {
            continue;
        };
        let Ok(key) = store.create(options("a", None), 1) else {
            continue;
        };
        store.append(key, &turn(1, "first"), 2).unwrap();
        if store.flush(key).is_err() {
            is_met += 1;
            assert!(store.flush(key).is_ok(), "{:?}", sim.met());
        }
    }
    assert!(is_met > 3);
}

// A power loss took the log of a deleted session and left its summary and cut bytes, for the next session of that id.
#[test]
fn a_deleted_session_leaves_nothing_beside_a_log_that_is_gone() {
    let sim = Sim::over(quiet_disk());
    let mut store = start(&sim, 1).unwrap();
    let title = Some("a title".to_owned());
    store
        .update(
            "a",
            &SessionSummary {
                title,
                first_prompt: None,
            },
        )
        .unwrap();
    tear(&sim);
    let (key, _) = store.open("a", OpenMode::Resume).unwrap();
    store.close(key).unwrap();
    sim.settle();
    let sim = Sim::over(sim.tree()).keeping_steps();
    start(&sim, 1).unwrap().delete("a").unwrap();
    let mut is_ever_gone = false;
    for step in sim.steps() {
        let power = PowerCut::of(&step.tree);
        for state in power.states(4096, &mut Draws::new(1)).states {
            let files = power.disk(&state).files();
            let has = |suffix: &str| {
                let mut names = files.iter().map(|(path, _)| path.to_string_lossy());
                names.any(|name| name.contains("_no-cwd/a.") && name.ends_with(suffix))
            };
            is_ever_gone |= !has(".jsonl");
            assert!(
                has(".jsonl") || !(has(".summary") || has(".torn")),
                "{}",
                power.shown(&state)
            );
        }
    }
    assert!(is_ever_gone);
}

// A session was removed, making that durable failed, and whoever tried again was told that there is no such session: it
// was there again after a power loss.
#[test]
fn a_session_is_not_said_to_be_gone_before_that_is_durable() {
    let tree = quiet_disk();
    let at = first(&tree, Operation::Rename, "a.jsonl -> ", |sim| {
        start(sim, 1).unwrap().delete("a").unwrap();
    });
    let sim = Sim::over(tree.clone()).keeping_steps();
    start(&sim, 1).unwrap().delete("a").unwrap();
    let steps = sim.steps();
    let mut syncs = steps
        .iter()
        .filter(|step| step.operation == Operation::SyncDirectory);
    let at = syncs.find(|step| step.at > at).unwrap().at;
    let sim = Sim::over(tree).failing(lasting(at, Fault::Io));
    let mut store = start(&sim, 1).unwrap();
    for _ in 0..2 {
        assert_eq!(store.delete("a").unwrap_err().reason, "delete-not-durable");
    }
    sim.heal();
    assert_eq!(store.delete("a").unwrap_err().code, ErrorCode::NotFound);
    let mut store = start(&after_power_loss(&sim), 2).unwrap();
    assert!(!store.has("a").unwrap());
}
