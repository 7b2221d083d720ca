//! Time and memory of one call, at three sizes.

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use annals_core::fault::{Fault, Reason};
use annals_properties::large::Shape;
use cpu_time::ThreadTime;

use crate::HEAP;
use crate::calls::{self, Call, Run};

/// Sizes are so much smaller where nothing is optimised.
pub const UNOPTIMISED: usize = if cfg!(debug_assertions) { 20 } else { 1 };

/// Four times the input may take so many times as long.
const TIMES_MAX: u32 = 6;
/// A call that is over in less says nothing about growth.
const SLACK: Duration = Duration::from_millis(20);
/// Fresh memory from the system costs time of its own, which small inputs do not show: they get memory that was used
/// before.
const FRESH_BYTES_PER_MS: usize = 500_000;
/// Memory at most, as a multiple of the event or log.
const MEMORY_MAX: usize = 4;
/// What is small is not measured by multiples.
const MEMORY_SLACK: usize = 1 << 20;
/// The best of so many runs counts.
const RUNS: usize = 2;

/// What a call gives: anything, kept until memory was measured, or a fault.
pub type Outcome = Result<Box<dyn Any>, Fault>;

/// Checks that all calls take a shape.
pub fn taken(shape: &Shape, calls: &[Call]) {
    check(shape, calls, None);
}

/// Checks that all calls refuse a shape with this reason.
pub fn refused(shape: &Shape, calls: &[Call], reason: Reason) {
    check(shape, calls, Some(reason));
}

/// One at a time, or each would measure the others.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs calls on a shape at n, 2n and 4n, prints what they took, and holds it against the bounds.
fn check(shape: &Shape, calls: &[Call], refused: Option<Reason>) {
    let _alone = alone();
    let size = shape.size / UNOPTIMISED;
    let [one, two, four] = [1, 2, 4].map(|times| {
        let input = (shape.make)(size * times);
        let taken = calls.iter().map(|call| run(&input, *call, refused));
        taken.collect::<Vec<Taken>>()
    });
    println!("\n{} (n = {size})", shape.name);
    println!(
        "  {:<14} {:>9} {:>9} {:>9} {:>7} {:>9} {:>7}",
        "call", "n", "2n", "4n", "4n/n", "MB at 4n", "memory"
    );
    let mut beyond = Vec::new();
    for (((call, one), two), four) in calls.iter().zip(one).zip(two).zip(four) {
        let growth = four.time.as_secs_f64() / one.time.as_secs_f64().max(1e-9);
        println!(
            "  {:<14} {:>9} {:>9} {:>9} {growth:>6.1}x {:>9.1} {:>6.1}x",
            call.name,
            shown(one.time),
            shown(two.time),
            shown(four.time),
            four.bytes as f64 / 1e6,
            four.memory as f64 / four.bytes as f64
        );
        let fresh = Duration::from_millis(1) * (four.memory / FRESH_BYTES_PER_MS) as u32;
        let is_linear = four.time <= one.time * TIMES_MAX + SLACK + fresh;
        let is_small = four.memory <= four.bytes * MEMORY_MAX + MEMORY_SLACK;
        if !(is_linear && is_small) {
            beyond.push(call.name);
        }
    }
    assert!(
        beyond.is_empty(),
        "{}: beyond the bounds: {beyond:?}",
        shape.name
    );
}

/// What one call took, at its best.
struct Taken {
    time: Duration,
    /// The event or log, or what was made of it where that is longer.
    bytes: usize,
    memory: usize,
}

fn run(input: &str, call: Call, due: Option<Reason>) -> Taken {
    let mut taken = Taken {
        time: Duration::MAX,
        bytes: input.len(),
        memory: 0,
    };
    for _ in 0..RUNS {
        let before = HEAP.current_usage();
        let (time, outcome, held) = match call.run {
            Run::Medium(run) => {
                let (time, outcome) = timed(|| run(input));
                (time, outcome, 0)
            }
            Run::Text(run) => {
                let (time, outcome) = timed(|| run(input));
                (time, outcome, input.len())
            }
            Run::Session(run) => {
                let mut session = calls::load(input).unwrap();
                let (time, outcome) = timed(|| run(&mut session));
                (time, outcome, 0)
            }
        };
        taken.time = taken.time.min(time);
        taken.memory = HEAP.peak_usage() - before + held;
        let refused = outcome.as_ref().err().map(|fault| fault.reason);
        assert_eq!(refused, due, "{}", call.name);
        if let Some(made) = outcome.ok().and_then(|made| made.downcast::<String>().ok()) {
            taken.bytes = taken.bytes.max(made.len());
        }
    }
    taken
}

/// The processor time of a call; from its begin on the heap's peak is counted.
fn timed(run: impl FnOnce() -> Outcome) -> (Duration, Outcome) {
    HEAP.reset_peak_usage();
    let started = ThreadTime::now();
    let outcome = run();
    (started.elapsed(), outcome)
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
