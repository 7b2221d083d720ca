//! SIGTERM, SIGHUP and SIGINT while a command writes: what it accepted is stored, leases are given back, and the exit
//! code is 128 and the signal's number. A second signal ends the process at once.
//!
//! The signal never interrupts the work on one input: a command that waits, for stdin or for a lease, ends at once, one
//! that stores ends when it has stored and said so. Only one thread ends the process: that of the work, or while this
//! one waits for input, the one that got the signal.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use annals::Annals;

static STATE: Mutex<State> = Mutex::new(State {
    phase: Phase::Unwatched,
    received: None,
    open: Vec::new(),
});
/// Never notified: who waits for it waits for the end of the process.
static THE_END: Condvar = Condvar::new();

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Signals do what they do to any process, or the work is done and being reported.
    Unwatched,
    /// The command is in the middle of something.
    Working,
    /// It waits for input.
    Idle,
}

struct State {
    phase: Phase,
    /// The first signal.
    received: Option<i32>,
    /// What is to be closed.
    open: Vec<Annals>,
}

/// Does `work`, which writes, with the signals watched.
pub fn watched<R>(work: impl FnOnce() -> R) -> R {
    watch();
    state().phase = Phase::Working;
    let result = work();
    let open = std::mem::take(&mut state().open);
    // The last handles: the sessions that are still open are closed here.
    drop(open);
    state().phase = Phase::Unwatched;
    result
}

/// Sessions to be closed when a signal comes.
pub fn close_at_end(annals: &Annals) {
    let mut state = state();
    if state.phase != Phase::Unwatched {
        state.open.push(annals.clone());
    }
    if state.received.is_some() {
        annals.stop_waiting();
    }
}

/// Waits as `wait` does, for input. When a signal came the process ends before there is an answer.
pub fn idle<R>(wait: impl FnOnce() -> R) -> R {
    let mut before = state();
    if let Some(signal) = before.received {
        let open = std::mem::take(&mut before.open);
        drop(before);
        finish(open, signal);
    }
    let phase = before.phase;
    if phase == Phase::Working {
        before.phase = Phase::Idle;
    }
    drop(before);
    let found = wait();
    let mut after = state();
    while after.received.is_some() {
        // it came while this thread waited, so the other one ends the process
        after = THE_END.wait(after).unwrap_or_else(PoisonError::into_inner);
    }
    after.phase = phase;
    found
}

/// The name of the signal that asked for the end.
#[cfg(unix)]
pub fn received() -> Option<&'static str> {
    let signal = state().received?;
    Some(signal_hook::low_level::signal_name(signal).unwrap_or("a signal"))
}

#[cfg(not(unix))]
pub fn received() -> Option<&'static str> {
    None
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

/// Stores, closes and ends.
fn finish(open: Vec<Annals>, signal: i32) -> ! {
    for annals in open {
        if let Err(error) = annals.shutdown() {
            crate::output::note(&error.message);
        }
    }
    std::process::exit(exit_code_of(signal).into());
}

/// The first signal. Who works finds it when that is done.
#[cfg(unix)]
fn end(signal: i32) {
    let mut state = state();
    state.received = Some(signal);
    state.open.iter().for_each(Annals::stop_waiting);
    if state.phase == Phase::Idle {
        let open = std::mem::take(&mut state.open);
        drop(state);
        finish(open, signal);
    }
}

/// A write past the limit of a file's length (`ulimit -f`) fails, as one to a full disk does. The system's answer is to end
/// the process in the middle of the write.
#[cfg(unix)]
pub fn outlive_long_files() {
    let noted = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    // Nobody reads the flag: that there is a handler is what counts. Without one the signal does what it does.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, noted);
}

#[cfg(not(unix))]
pub fn outlive_long_files() {}

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
