//! The linked components through the Rust library. Needs what `cargo xtask build` leaves.

// A test says what it found by panicking, helpers included.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod agents;
mod bare;
mod cache;
mod components;
mod entries;
mod evictions;
mod faulty;
mod grants;
mod handles;
mod imports;
mod inspecting;
mod large;
mod leases;
mod links;
mod log;
mod middleware;
mod observers;
mod rebinding;
mod rooms;
mod roots;
mod runtimes;
mod strict;
mod swap;
mod traps;
mod upkeep;

use std::path::{Path, PathBuf};

use annals::Annals;

/// One turn, as a user sees it: a message and an answer.
const TURN: &str = concat!(
    r#"{"type":"turn/start","data":{"turn":1}}"#,
    "\n",
    r#"{"type":"user/message","data":{"content":[{"type":"text","text":"hello"}],"source":{"kind":"user"}},"surfaceOp":"append"}"#,
    "\n",
    r#"{"type":"turn/end","data":{"turn":1,"reason":"completed"}}"#,
    "\n",
);

/// A built artefact.
fn artefact(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/annals")
        .join(name);
    assert!(
        path.is_file(),
        "{} is missing: run cargo xtask build",
        path.display()
    );
    path
}

/// Sessions in memory.
fn memory() -> Annals {
    Annals::memory().unwrap()
}
