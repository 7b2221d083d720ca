//! What the model leaves out: later blocks of a write are on the disk, and an earlier one is not.

use annals_crash::{Sim, Tree};
use annals_sdk::types::{ErrorCode, EvictionReason};
use annals_store::OpenMode;

use crate::process::{ROOT, events, fact, open, options, start, stored, turn, turn_begun};

const BLOCK_BYTES: usize = 4096;

/// A durable session of one turn, and behind it the batch of a killed process with zeros in its second block.
fn disk(batch: &str) -> (Tree, String) {
    let sim = Sim::default();
    let mut store = start(&sim, 1).unwrap();
    let key = store.create(options("a", None), 1).unwrap();
    store.append(key, &turn(1, "first"), 2).unwrap();
    store.flush(key).unwrap();
    let acknowledged = events(&store, key);
    let batch = store.append(key, batch, 3).unwrap();
    let mut bytes = batch.lines.into_bytes();
    let path = format!("{ROOT}/_no-cwd/a.jsonl");
    let length = sim
        .tree()
        .files()
        .into_iter()
        .find(|(file, _)| file.to_str() == Some(&path))
        .map(|(_, content)| content.len())
        .unwrap();
    let start = BLOCK_BYTES - length;
    bytes[start..start + BLOCK_BYTES].fill(0);
    sim.scribble(&path, &bytes);
    sim.settle();
    (sim.tree(), acknowledged)
}

/// A turn of three blocks.
fn long() -> String {
    "long ".repeat(2400)
}

// It cannot be told from damage to a turn that was stored long ago, so it is not cut.
#[test]
fn a_hole_before_the_end_of_a_turn_is_named_and_hides_nothing() {
    let (tree, acknowledged) = disk(&turn(2, &long()));
    let sim = Sim::over(tree);
    let mut store = start(&sim, 2).unwrap();
    let error = open(&mut store, "a", OpenMode::Resume, EvictionReason::Gone)
        .err()
        .unwrap();
    assert_eq!(error.code, ErrorCode::Corrupt);
    assert!(fact(&error, "line").is_u64() && fact(&error, "byte").is_u64());
    let bytes = stored(&mut store, "a").unwrap();
    assert!(bytes.starts_with(acknowledged.as_bytes()));
    // what is behind the hole can be read too
    assert!(bytes.ends_with(b"\"kind\":\"completed\"}}}\n"));
}

#[test]
fn a_hole_in_an_open_turn_is_cut_with_what_follows() {
    let (tree, acknowledged) = disk(&turn_begun(2, &long()));
    let sim = Sim::over(tree);
    let mut store = start(&sim, 2).unwrap();
    let (key, repair) = open(&mut store, "a", OpenMode::Resume, EvictionReason::Gone).unwrap();
    assert!(repair.cut_bytes > BLOCK_BYTES as u64);
    assert!(events(&store, key).starts_with(&acknowledged));
}
