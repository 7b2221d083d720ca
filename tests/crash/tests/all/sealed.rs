//! A sealed log after a power loss: what a crash tore is repaired as it is in a plain one, and never taken for a record
//! that somebody altered.

use std::collections::HashSet;

use annals_crash::{Draws, PowerCut, Sim};
use annals_encrypt::{Encrypt, Surroundings};
use annals_jsonl::Jsonl;
use annals_sdk::Result;
use annals_sdk::types::{ErrorCode, Eviction, EvictionReason};
use annals_store::{OpenMode, SessionKey, Store, StoreOptions};

use crate::process::{ROOT, fact, options, turn, turn_begun};

type Sessions = Store<Encrypt<Jsonl>, ()>;

/// The most states of one cut.
const STATES_MAX: usize = 48;

fn start(sim: &Sim, number: u32) -> Sessions {
    let key = Surroundings {
        variable: |_| Some("5eed".repeat(16)),
        ..Surroundings::own()
    };
    let files = Jsonl::over(std::rc::Rc::new(sim.clone()));
    let mut store = Store::new(Encrypt::over(files, key), ());
    let holder = format!("{{\"host\":\"h\",\"pid\":{number},\"since\":{number}}}");
    let settings = vec![("root".to_owned(), ROOT.to_owned())];
    store
        .configure(&holder, StoreOptions::default(), Some(settings))
        .unwrap();
    store
}

fn open(store: &mut Sessions) -> Result<SessionKey> {
    let opened = match store.open("a", OpenMode::Resume) {
        Err(busy) if busy.reason == "lease-held" => {
            let token = fact(&busy, "token").as_str().unwrap().to_owned();
            let why = EvictionReason::Gone;
            store.evict("a", Eviction { token, why })?;
            store.open("a", OpenMode::Resume)
        }
        opened => opened,
    };
    opened.map(|(key, _)| key)
}

fn events(store: &Sessions, key: SessionKey) -> String {
    store.events(key, 0, u32::MAX).unwrap().lines
}

#[test]
fn whatever_a_power_loss_leaves_of_a_sealed_log_opens() {
    let sim = Sim::default().keeping_steps();
    let mut store = start(&sim, 1);
    let key = store.create(options("a", None), 1).unwrap();
    let mut acknowledged = vec![String::new()];
    let long = "long ".repeat(1500);
    for number in 1..=3 {
        let text = if number == 2 { long.as_str() } else { "short" };
        let batch = match number {
            3 => turn_begun(3, text),
            _ => turn(number, text),
        };
        store.append(key, &batch, 2).unwrap();
        store.flush(key).unwrap();
        acknowledged.push(events(&store, key));
        sim.set_mark(number as usize);
    }
    store.close(key).unwrap();
    let mut states = 0;
    for (at, step) in sim.steps().iter().enumerate() {
        let power = PowerCut::of(&step.tree);
        let mut seen = HashSet::new();
        for state in &power.states(STATES_MAX, &mut Draws::new(at as u64)).states {
            let disk = power.disk(state);
            if !seen.insert(disk.fingerprint()) {
                continue;
            }
            states += 1;
            let shown = || format!("cut {at}, after {:?} {}", step.operation, step.what);
            let mut store = start(&Sim::over(disk), 2);
            let kept = match open(&mut store) {
                Ok(key) => events(&store, key),
                Err(error) if error.code == ErrorCode::NotFound => String::new(),
                Err(error) => panic!("{}: {}", shown(), error.message),
            };
            let due = &acknowledged[step.mark];
            assert!(kept.starts_with(due.as_str()), "{}", shown());
        }
    }
    assert!(states >= 200, "{states} states are too few");
}
