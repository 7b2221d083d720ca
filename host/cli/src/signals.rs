//! SIGTERM, SIGHUP and SIGINT while a command writes: what it accepted is stored, leases are given back, and the exit
//! code is 128 and the signal's number. A second signal ends the process at once.
//!
//! The signal never interrupts the work on one input: a command that waits, for stdin or for a lease, ends at once, one
//! that stores ends when it has stored and said so.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use annals::Annals;

static STATE: Mutex<State> = Mutex::new(State {
    is_at_work: false,
    received: None,
    open: Vec::new(),
});
static CHANGED: Condvar = Condvar::new();

struct State {
    /// Whether the command is in the middle of something; the end waits for it.
    is_at_work: bool,
    /// The first signal.
    received: Option<i32>,
    /// What is to be closed.
    open: Vec<Annals>,
}

/// Does `work`, which writes, with the signals watched.
pub fn watched<R>(work: impl FnOnce() -> R) -> R {
    watch();
    state().is_at_work = true;
    let result = work();
    let open = std::mem::take(&mut state().open);
    // The last handles: the sessions that are still open are closed here.
    drop(open);
    state().is_at_work = false;
    CHANGED.notify_all();
    result
}

/// Sessions to be closed when a signal comes.
pub fn close_at_end(annals: &Annals) {
    let mut state = state();
    if state.is_at_work {
        state.open.push(annals.clone());
    }
}

/// Waits as `wait` does, for input. When a signal came the process ends before there is an answer.
pub fn idle<R>(wait: impl FnOnce() -> R) -> R {
    let was_at_work = std::mem::replace(&mut state().is_at_work, false);
    CHANGED.notify_all();
    let found = wait();
    let mut state = state();
    while state.received.is_some() {
        // never notified again: the other thread ends the process
        state = waited(state);
    }
    state.is_at_work = was_at_work;
    found
}

/// The exit code that a signal asked for.
pub fn exit_code() -> Option<u8> {
    state().received.map(exit_code_of)
}

fn exit_code_of(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn waited(state: MutexGuard<'static, State>) -> MutexGuard<'static, State> {
    CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner)
}

/// The first signal: stored and closed, then the end.
#[cfg(unix)]
fn end(signal: i32) {
    let mut state = state();
    state.received = Some(signal);
    state.open.iter().for_each(Annals::stop_waiting);
    while state.is_at_work {
        state = waited(state);
    }
    let open = std::mem::take(&mut state.open);
    drop(state);
    for annals in open {
        if let Err(error) = annals.shutdown() {
            crate::output::note(&error.message);
        }
    }
    std::process::exit(exit_code_of(signal).into());
}

#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // What the command was started to ignore, under nohup for one, it goes on to ignore.
    let ignored = ignored();
    let wanted = [SIGTERM, SIGHUP, SIGINT].into_iter();
    let wanted: Vec<i32> = wanted
        .filter(|signal| ignored & (1 << (signal - 1)) == 0)
        .collect();
    // Without the thread a signal does what it does to any process: its lease is found abandoned, its torn end cut.
    let Ok(mut signals) = Signals::new(wanted) else {
        return;
    };
    let wait = move || {
        let mut is_first = true;
        for signal in signals.forever() {
            if !is_first
                || std::thread::Builder::new()
                    .spawn(move || end(signal))
                    .is_err()
            {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
            is_first = false;
        }
    };
    drop(std::thread::Builder::new().spawn(wait));
}

/// The signals that this process ignores, as a mask; none where `/proc` does not say.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .map(str::trim);
    mask.and_then(|mask| u64::from_str_radix(mask, 16).ok())
        .unwrap_or(0)
}

#[cfg(not(unix))]
fn watch() {}
