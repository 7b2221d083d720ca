//! A medium without hard links: nothing is replaced all the same, and what a crash leaves half-way is no session.

use std::path::Path;
use std::rc::Rc;

use annals_crash::{Fault, Operation, Plan, PowerCut, Sim};
use annals_jsonl::Jsonl;
use annals_jsonl::files::{Fs, Mode};
use annals_sdk::Persistence;
use annals_sdk::types::{ErrorCode, EvictionReason, SessionStatus};

use crate::process::{ROOT, options, start, stored, turn, with_lease};

const FAULTS: [Fault; 4] = [
    Fault::LinkNotPermitted,
    Fault::LinkUnsupported,
    Fault::TooManyLinks,
    Fault::OtherDevice,
];

fn log(id: &str) -> String {
    format!("{ROOT}/_no-cwd/{id}.jsonl")
}

fn notes(sim: &Sim) -> Vec<String> {
    let mut backend = Jsonl::over(Rc::new(sim.clone()));
    let settings = [("root".to_owned(), ROOT.to_owned())];
    backend.configure(&settings).unwrap().notes
}

fn says_without(notes: &[String]) -> bool {
    notes.iter().any(|note| note.contains("no hard links"))
}

#[test]
fn every_kind_of_refused_link_is_got_around() {
    for fault in FAULTS {
        let sim = Sim::default().without_links(fault);
        let mut store = start(&sim, 1).unwrap();
        let key = store.create(options("a", None), 1).unwrap();
        store.append(key, &turn(1, "first"), 2).unwrap();
        store.close(key).unwrap();
        let again = store.create(options("a", None), 1).err().unwrap();
        assert_eq!(again.code, ErrorCode::AlreadyExists, "{fault:?}");
        let names: Vec<String> = sim
            .names(Path::new(&format!("{ROOT}/_no-cwd")))
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["a.jsonl", "a.summary"], "{fault:?}");
    }
}

#[test]
fn the_notes_say_which_way_is_used() {
    let sim = Sim::default();
    assert!(!says_without(&notes(&sim)));
    let sim = sim.without_links(Fault::LinkUnsupported);
    let mut store = start(&sim, 1).unwrap();
    let key = store.create(options("a", None), 1).unwrap();
    store.append(key, &turn(1, "first"), 2).unwrap();
    store.close(key).unwrap();
    // also to another process
    assert!(says_without(&notes(&sim)));
    // moved to a medium that has them
    let moved = Sim::over(sim.tree());
    let mut store = start(&moved, 2).unwrap();
    let key = store.create(options("b", None), 1).unwrap();
    store.append(key, &turn(1, "first"), 2).unwrap();
    store.close(key).unwrap();
    assert!(!says_without(&notes(&moved)));
}

/// The disk after the operation that makes the log's name, and before the one that gives it its content.
fn half_way() -> Sim {
    let sim = Sim::default()
        .without_links(Fault::LinkUnsupported)
        .keeping_steps();
    let mut store = start(&sim, 1).unwrap();
    let key = store.create(options("a", None), 1).unwrap();
    store.append(key, &turn(1, "first"), 2).unwrap();
    store.flush(key).unwrap();
    let steps = sim.steps();
    let is_claim =
        |step: &&annals_crash::Step| step.operation == Operation::MakeFile && step.what == log("a");
    let step = steps.iter().find(is_claim).unwrap();
    Sim::over(step.tree.clone()).without_links(Fault::LinkUnsupported)
}

#[test]
fn a_log_without_its_content_is_no_session_and_is_gone_on_with() {
    // also where it is told by a hard link that the name is taken
    for sim in [half_way(), Sim::over(half_way().tree())] {
        let mut store = start(&sim, 2).unwrap();
        assert!(!store.has("a").unwrap());
        assert!(store.list(None, 9).unwrap().sessions.is_empty());
        assert_eq!(store.delete("a").unwrap_err().code, ErrorCode::NotFound);
        let key = store.create(options("a", None), 1).unwrap();
        store.append(key, &turn(1, "again"), 2).unwrap();
        with_lease(&mut store, "a", EvictionReason::Gone, |store| {
            store.flush(key)
        })
        .unwrap();
        store.close(key).unwrap();
        assert!(
            stored(&mut store, "a")
                .unwrap()
                .windows(5)
                .any(|part| part == b"again")
        );
        let names = sim.names(Path::new(&format!("{ROOT}/_no-cwd"))).unwrap();
        let mut names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["a.jsonl", "a.summary"]);
    }
}

#[test]
fn an_empty_log_without_its_content_beside_it_is_damaged_as_ever() {
    let sim = half_way();
    let directory = format!("{ROOT}/_no-cwd");
    for (name, _) in sim.names(Path::new(&directory)).unwrap() {
        if name.ends_with(".new") {
            sim.remove(&Path::new(&directory).join(name)).unwrap();
        }
    }
    let mut store = start(&sim, 2).unwrap();
    assert!(store.has("a").unwrap());
    let listed = store.list(None, 9).unwrap().sessions;
    assert_eq!(listed[0].status, SessionStatus::Damaged);
}

// One who lost the lease while it was between the two steps goes on when another has stored the session.
#[test]
fn a_slow_creator_replaces_nothing() {
    let sim = half_way();
    let directory = format!("{ROOT}/_no-cwd");
    let names = sim.names(Path::new(&directory)).unwrap();
    let (coming, _) = names
        .into_iter()
        .find(|(name, _)| name.ends_with(".new"))
        .unwrap();
    let mut store = start(&sim, 2).unwrap();
    let key = store.create(options("a", None), 1).unwrap();
    store.append(key, &turn(1, "quicker"), 2).unwrap();
    with_lease(&mut store, "a", EvictionReason::Silent, |store| {
        store.flush(key)
    })
    .unwrap();
    let before = stored(&mut store, "a").unwrap();
    // its next step
    let renamed = sim.rename(&Path::new(&directory).join(coming), Path::new(&log("a")));
    assert!(renamed.is_err());
    assert_eq!(stored(&mut store, "a").unwrap(), before);
}

// Whatever else has the name keeps it, also when it comes at the last moment.
#[test]
fn what_has_the_name_is_never_replaced() {
    for is_empty in [false, true] {
        let sim = Sim::default().without_links(Fault::LinkUnsupported);
        let mut store = start(&sim, 1).unwrap();
        let key = store.create(options("a", None), 1).unwrap();
        store.append(key, &turn(1, "first"), 2).unwrap();
        sim.make_directory(Path::new(&format!("{ROOT}/_no-cwd")))
            .unwrap();
        let mut foreign = sim.open(Path::new(&log("a")), Mode::New).unwrap();
        if !is_empty {
            foreign.write_all(b"not ours\n").unwrap();
        }
        let before = sim.tree().files();
        let error = store.flush(key).unwrap_err();
        assert_eq!(error.code, ErrorCode::AlreadyExists);
        let is_log = |(path, _): &&(std::path::PathBuf, std::sync::Arc<Vec<u8>>)| {
            path == Path::new(&log("a"))
        };
        let after = sim.tree().files();
        assert_eq!(before.iter().find(is_log), after.iter().find(is_log));
    }
}

#[test]
fn whatever_a_power_loss_leaves_of_the_two_steps_is_one_of_them() {
    let tree = half_way().tree();
    let power = PowerCut::of(&tree);
    for state in power.states(4096, &mut annals_crash::Draws::new(1)).states {
        let sim = Sim::over(power.disk(&state)).without_links(Fault::OtherDevice);
        let mut store = start(&sim, 2).unwrap();
        assert!(!store.has("a").unwrap(), "{}", power.shown(&state));
        assert!(store.list(None, 9).unwrap().sessions.is_empty());
    }
}

// The empty lease stayed behind, and its own process took it for somebody unknown.
#[test]
fn a_lease_that_could_not_be_filled_is_in_nobodys_way_here() {
    let begun = |sim: &Sim| {
        let mut store = start(sim, 1).unwrap();
        let key = store.create(options("a", None), 1).unwrap();
        store.append(key, &turn(1, "first"), 2).unwrap();
        (store, key)
    };
    let sim = Sim::default()
        .without_links(Fault::LinkUnsupported)
        .keeping_steps();
    let (mut store, key) = begun(&sim);
    store.flush(key).unwrap();
    let steps = sim.steps();
    let mut renames = steps
        .iter()
        .filter(|step| step.operation == Operation::Rename);
    let plan = Plan {
        at: renames.next().unwrap().at,
        is_look: false,
        fault: Fault::Io,
        is_lasting: true,
    };
    let sim = Sim::default()
        .without_links(Fault::LinkUnsupported)
        .failing(plan);
    let (mut store, key) = begun(&sim);
    assert!(store.flush(key).is_err());
    sim.heal();
    store.flush(key).unwrap();
}
