//! Close and reopen: through the store, over memory and over files.

use std::path::Path;

use annals_jsonl::Jsonl;
use annals_memory::Memory;
use annals_properties::model::{self, Event, State};
use annals_properties::script::{Spelling, TIME_MS};
use annals_sdk::Persistence;
use annals_store::{CreateOptions, OpenMode, SessionKey, Store, StoreOptions};
use proptest::prelude::*;

use crate::check::{LOGS, STEPS_MAX, Verdict, holds};

/// How many logs go through files: each costs a directory and a handful of stores.
const FILE_LOGS: u32 = LOGS / 10;

#[test]
fn what_a_crash_left_in_memory_is_closed_once() {
    let extra = (any::<prop::sample::Index>(), any::<bool>());
    holds(
        "reopen (memory)",
        LOGS,
        STEPS_MAX,
        &[Spelling::Usual],
        extra,
        |log, (cut, is_closed)| reopens(in_memory(), |store| store, &log.events, cut, is_closed),
    );
}

#[test]
fn what_a_crash_left_in_files_is_closed_once() {
    let extra = (any::<prop::sample::Index>(), any::<bool>());
    holds(
        "reopen (files)",
        FILE_LOGS,
        STEPS_MAX,
        &[Spelling::Usual],
        extra,
        |log, (cut, is_closed)| {
            let root = tempfile::tempdir().unwrap();
            reopens(
                in_files(root.path()),
                |_| in_files(root.path()),
                &log.events,
                cut,
                is_closed,
            )
        },
    );
}

/// A store over a backend that is in memory only.
pub fn in_memory() -> Store<Memory, ()> {
    configured(Memory::default(), Vec::new())
}

/// A store over files that are not synced.
fn in_files(root: &Path) -> Store<Jsonl, ()> {
    let settings = [("root", root.to_str().unwrap()), ("sync", "never")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    configured(Jsonl::default(), settings.into())
}

fn configured<P: Persistence>(backend: P, settings: Vec<(String, String)>) -> Store<P, ()> {
    let mut store = Store::new(backend, ());
    store
        .configure("{}", StoreOptions::default(), Some(settings))
        .unwrap();
    store
}

/// A session `s`, to be given these lines to begin with.
pub fn options(seed: &str) -> CreateOptions {
    CreateOptions {
        id: Some("s".to_owned()),
        cwd: None,
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        created_at_ms: None,
        seed: (!seed.is_empty()).then(|| seed.to_owned()),
        extra: None,
    }
}

/// Whether a session of the store shows what is due.
pub fn shows<P: Persistence>(store: &mut Store<P, ()>, key: SessionKey, due: &State) -> Verdict {
    prop_assert_eq!(store.next_seq(key), Some(due.next_seq));
    prop_assert_eq!(&store.events(key, 0, u32::MAX).unwrap().lines, &due.events);
    let surface = store.surface(key).unwrap();
    prop_assert_eq!(
        (&surface.nodes, surface.generation),
        (&due.nodes, due.generation)
    );
    prop_assert_eq!(
        &store.messages(key, 0, u32::MAX).unwrap().lines,
        &due.messages
    );
    let request_header = store.request_header(key).map_err(|error| error.reason);
    prop_assert_eq!(&request_header, &due.request_header);
    prop_assert_eq!(
        store.next_turn(key),
        Some(due.last_turn.map_or(1, |turn| turn + 1))
    );
    Ok(())
}

/// Stores the events up to `cut`, loses or stores the rest, and opens what is stored again and again.
fn reopens<P: Persistence>(
    mut store: Store<P, ()>,
    again: impl Fn(Store<P, ()>) -> Store<P, ()>,
    events: &[Event],
    cut: prop::sample::Index,
    is_closed: bool,
) -> Verdict {
    let cut = cut.index(events.len() + 1);
    let key = store.create(options(""), TIME_MS).unwrap();
    append(&mut store, key, &events[..cut]);
    store.flush(key).unwrap();
    append(&mut store, key, &events[cut..]);
    let stored = match is_closed {
        true => {
            store.close(key).unwrap();
            events
        }
        false => {
            // without a flush, as a crash leaves it
            store.detach(key).unwrap();
            &events[..cut]
        }
    };
    let mut store = again(store);
    if stored.is_empty() {
        prop_assert!(!store.has("s").unwrap());
        return Ok(());
    }
    let due = State::due(stored);
    let closers = due.closers.lines().count() as u32;
    let (key, repair) = store.open("s", OpenMode::Inspect).unwrap();
    prop_assert_eq!(repair.closers, closers);
    shows(&mut store, key, &due)?;
    store.close(key).unwrap();
    let (key, repair) = store.open("s", OpenMode::Continue).unwrap();
    prop_assert_eq!((repair.closers, repair.cut_bytes), (0, 0));
    shows(&mut store, key, &due)?;
    store.close(key).unwrap();
    let mut store = again(store);
    let (key, repair) = store.open("s", OpenMode::Resume).unwrap();
    prop_assert_eq!((repair.closers, repair.cut_bytes), (closers, 0));
    let closed = format!("{}{}", due.events, due.closers);
    prop_assert_eq!(&store.events(key, 0, u32::MAX).unwrap().lines, &closed);
    store.close(key).unwrap();
    let mut store = again(store);
    let (key, repair) = store.open("s", OpenMode::Resume).unwrap();
    prop_assert_eq!((repair.closers, repair.cut_bytes), (0, 0));
    prop_assert_eq!(&store.events(key, 0, u32::MAX).unwrap().lines, &closed);
    // what was closed is a seed like any other, and has nothing left to close
    let mut seeded = crate::check::session_of(&closed);
    prop_assert_eq!(&State::of(&mut seeded).closers, "");
    prop_assert_eq!(
        &store.messages(key, 0, u32::MAX).unwrap().lines,
        &State::of(&mut seeded).messages
    );
    Ok(())
}

fn append<P: Persistence>(store: &mut Store<P, ()>, key: SessionKey, events: &[Event]) {
    let drafts = events.iter().map(|event| format!("{}\n", event.draft));
    let drafts: String = drafts.collect();
    let batch = store.append(key, &drafts, TIME_MS).unwrap();
    assert_eq!(batch.lines, model::lines(events));
}
