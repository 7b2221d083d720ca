//! A disk without a free block: people delete to make room.

use annals_crash::{Draws, PowerCut, Sim, Tree};
use annals_sdk::types::{ErrorCode, EvictionReason};
use annals_store::OpenMode;

use crate::process::{ROOT, events, open, options, start, stored, turn, with_lease};

/// Sessions `a` and `b`, durable and closed, with a title each.
fn disk(has_leases: bool) -> Tree {
    let sim = Sim::default();
    let mut store = start(&sim, 1).unwrap();
    for id in ["a", "b"] {
        let key = store.create(options(id, None), 1).unwrap();
        store.append(key, &turn(1, "first"), 2).unwrap();
        store.close(key).unwrap();
    }
    if !has_leases {
        use annals_jsonl::files::Fs;
        let leases = std::path::PathBuf::from(format!("{ROOT}/_leases/a.lease"));
        for (name, _) in sim.names(&leases).unwrap() {
            sim.remove(&leases.join(name)).unwrap();
        }
        sim.remove_directory(&leases).unwrap();
    }
    sim.settle();
    sim.tree()
}

#[test]
fn a_delete_needs_no_free_block() {
    let sim = Sim::over(disk(true));
    sim.fill();
    let mut store = start(&sim, 2).unwrap();
    // nothing else goes
    let error = store.open("b", OpenMode::Resume).unwrap_err();
    assert_eq!(error.code, ErrorCode::NoSpace);
    store.delete("a").unwrap();
    assert_eq!(sim.misuse(), [""; 0]);
    assert!(!store.has("a").unwrap());
    let names: Vec<String> = sim
        .tree()
        .files()
        .into_iter()
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(names.iter().all(|name| !name.contains("/a.")), "{names:?}");
    // there is room now
    let (key, _) = store.open("b", OpenMode::Resume).unwrap();
    store.append(key, &turn(2, "second"), 3).unwrap();
    store.flush(key).unwrap();
    let key = store.create(options("a", None), 4).unwrap();
    store.append(key, &turn(1, "again"), 5).unwrap();
    store.close(key).unwrap();
}

// Of a session without a lease nothing is cut, for somebody may open it just now; where the directory has room for a name
// it goes.
#[test]
fn a_session_without_a_lease_is_kept_whole_or_deleted() {
    let sim = Sim::over(disk(false));
    sim.fill();
    let mut store = start(&sim, 2).unwrap();
    let before = stored(&mut store, "a").unwrap();
    let error = store.delete("a").unwrap_err();
    assert_eq!(error.code, ErrorCode::NoSpace);
    assert_eq!(stored(&mut store, "a").unwrap(), before);
    store.delete("b").unwrap();
    store.delete("a").unwrap();
}

/// Whatever a power loss leaves of such a delete, the other session is whole, the id is free or can be deleted again, and
/// nothing of the old one is in a new one.
#[test]
fn a_power_loss_during_such_a_delete_harms_nothing_else() {
    let sim = Sim::over(disk(true)).keeping_steps();
    sim.fill();
    start(&sim, 2).unwrap().delete("a").unwrap();
    let mut states = 0;
    for step in sim.steps() {
        let power = PowerCut::of(&step.tree);
        for state in power.states(256, &mut Draws::new(step.at as u64)).states {
            states += 1;
            let sim = Sim::over(power.disk(&state));
            let mut store = start(&sim, 3).unwrap();
            let gone = EvictionReason::Gone;
            let (key, _) = open(&mut store, "b", OpenMode::Resume, gone).unwrap();
            assert_eq!(events(&store, key).lines().count(), 3);
            if store.has("a").unwrap() {
                with_lease(&mut store, "a", gone, |store| store.delete("a")).unwrap();
            }
            let key = store.create(options("a", None), 4).unwrap();
            store.append(key, &turn(1, "again"), 5).unwrap();
            with_lease(&mut store, "a", gone, |store| store.flush(key)).unwrap();
            assert_eq!(events(&store, key).lines().count(), 3);
        }
    }
    assert!(states > 20, "{states}");
}
