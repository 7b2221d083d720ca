//! What is timed, and how: several runs, native and wasm in turn, so that both meet the same noise.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sha2::{Digest, Sha256};

use crate::generator;
use crate::side::{Native, Side, Wasm};

/// Events appended at a time.
const BATCH_EVENTS: usize = 100;

/// How often one event is appended to see what the history costs then.
const HISTORY_ROUNDS: u64 = 40;

/// Both ways to run, over the same files.
pub struct Sides {
    pub native: Native,
    pub wasm: Wasm,
}

/// The same work both ways.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub native: Duration,
    pub wasm: Duration,
}

impl Pair {
    /// How much longer it takes in wasm.
    fn ratio(self) -> f64 {
        self.wasm.as_secs_f64() / self.native.as_secs_f64()
    }
}

/// The same work both ways, several times, each time one right after the other.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<Pair>);

impl Series {
    /// The shortest time of each.
    #[must_use]
    pub fn best(&self) -> Pair {
        let shortest = |time: fn(&Pair) -> Duration| self.0.iter().map(time).min();
        Pair {
            native: shortest(|pair| pair.native).unwrap_or_default(),
            wasm: shortest(|pair| pair.wasm).unwrap_or_default(),
        }
    }

    /// How much longer it takes in wasm: the median of the pairs. What slows the machine down for a while slows both of a
    /// pair down, while the best of each may come from different moments.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        let mut ratios: Vec<f64> = self.0.iter().map(|pair| pair.ratio()).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// What one log was measured to cost.
#[derive(Default)]
pub struct Reading {
    /// From the stored log to a live session.
    pub load: Series,
    /// From lines in memory to a session.
    pub fold: Series,
    /// From a session that was just loaded to its whole history.
    pub derive: Series,
    /// Messages of that history, and their bytes.
    pub messages: u64,
    pub message_bytes: u64,
}

/// Loads, folds and derives a stored log whose lines are `lines`.
///
/// # Errors
/// Whatever a side answers; both must show the same history.
pub fn reading(sides: &mut Sides, id: &str, lines: &str, samples: u32) -> Result<Reading> {
    let mut reading = Reading::default();
    for _ in 0..samples {
        let ((load, derive), history) = read_once(&mut sides.native, id)?;
        let native = (load, derive);
        let ((load, derive), other) = read_once(&mut sides.wasm, id)?;
        ensure!(history == other, "native and wasm show different histories");
        reading.load.0.push(Pair {
            native: native.0,
            wasm: load,
        });
        reading.derive.0.push(Pair {
            native: native.1,
            wasm: derive,
        });
        reading.fold.0.push(Pair {
            native: fold_once(&mut sides.native, lines)?,
            wasm: fold_once(&mut sides.wasm, lines)?,
        });
        (reading.messages, reading.message_bytes) = history;
    }
    Ok(reading)
}

/// Times of loading and deriving; count and bytes of the messages.
fn read_once(side: &mut impl Side, id: &str) -> Result<((Duration, Duration), (u64, u64))> {
    let started = Instant::now();
    side.load(id)?;
    let load = started.elapsed();
    let started = Instant::now();
    let nodes = side.surface()?;
    let history = whole_history(side)?;
    let derive = started.elapsed();
    ensure!(history.0 <= nodes as u64, "more messages than nodes");
    side.leave()?;
    Ok(((load, derive), history))
}

/// Every page of the history: how many messages, of how many bytes.
fn whole_history(side: &mut impl Side) -> Result<(u64, u64)> {
    let (mut next, mut bytes) = (0, 0);
    loop {
        let page = side.messages(next)?;
        next += u32::try_from(page.lines.bytes().filter(|byte| *byte == b'\n').count())?;
        bytes += page.lines.len() as u64;
        if next >= page.total {
            return Ok((u64::from(next), bytes));
        }
        ensure!(!page.lines.is_empty(), "an empty page before the end");
    }
}

fn fold_once(side: &mut impl Side, lines: &str) -> Result<Duration> {
    let lines = lines.to_owned();
    let started = Instant::now();
    side.fold(lines)?;
    Ok(started.elapsed())
}

/// What appending cost.
#[derive(Default)]
pub struct Appended {
    /// In memory.
    pub append: Series,
    /// In memory and then to the backend, batch by batch.
    pub flush: Series,
}

/// Appends drafts to a new session in batches, in memory first, then with a flush after each.
///
/// # Errors
/// Whatever a side answers.
pub fn append(sides: &mut Sides, drafts: &str, samples: u32) -> Result<Appended> {
    let lines: Vec<&str> = drafts.split_inclusive('\n').collect();
    let batches: Vec<String> = lines
        .chunks(BATCH_EVENTS)
        .map(|batch| batch.concat())
        .collect();
    let mut appended = Appended::default();
    for sample in 0..samples {
        let (native, wasm) = (&mut sides.native, &mut sides.wasm);
        appended.append.0.push(Pair {
            native: append_batches(native, "appended-native", &batches)?,
            wasm: append_batches(wasm, "appended-wasm", &batches)?,
        });
        appended.flush.0.push(Pair {
            native: flush_batches(native, &format!("flushed-native-{sample}"), &batches)?,
            wasm: flush_batches(wasm, &format!("flushed-wasm-{sample}"), &batches)?,
        });
    }
    Ok(appended)
}

fn append_batches(side: &mut impl Side, id: &str, batches: &[String]) -> Result<Duration> {
    side.create(id, String::new())?;
    let started = Instant::now();
    for batch in batches {
        side.append(batch)?;
    }
    let elapsed = started.elapsed();
    side.leave()?;
    Ok(elapsed)
}

fn flush_batches(side: &mut impl Side, id: &str, batches: &[String]) -> Result<Duration> {
    side.create(id, String::new())?;
    let started = Instant::now();
    for batch in batches {
        side.append(batch)?;
        side.flush()?;
    }
    let elapsed = started.elapsed();
    side.leave()?;
    Ok(elapsed)
}

/// The new end of the history after one append to a stored log.
///
/// # Errors
/// Whatever a side answers.
pub fn history(sides: &mut Sides, id: &str) -> Result<Pair> {
    Ok(Pair {
        native: history_once(&mut sides.native, id)?,
        wasm: history_once(&mut sides.wasm, id)?,
    })
}

fn history_once(side: &mut impl Side, id: &str) -> Result<Duration> {
    side.load(id)?;
    let (mut shown, _) = whole_history(side)?;
    let mut best = Duration::MAX;
    for number in 0..HISTORY_ROUNDS {
        side.append(&generator::prompt(number))?;
        let started = Instant::now();
        let page = side.messages(u32::try_from(shown)?)?;
        best = best.min(started.elapsed());
        shown += 1;
        ensure!(u64::from(page.total) == shown, "a message is missing");
    }
    side.leave()?;
    Ok(best)
}

/// One message that names the first `sources` events of a stored log.
///
/// # Errors
/// Whatever a side answers.
pub fn sources(sides: &mut Sides, id: &str, sources: u64, samples: u32) -> Result<Pair> {
    let line = generator::summary(sources);
    Ok(Pair {
        native: sources_once(&mut sides.native, id, &line, samples)?,
        wasm: sources_once(&mut sides.wasm, id, &line, samples)?,
    })
}

fn sources_once(side: &mut impl Side, id: &str, line: &str, samples: u32) -> Result<Duration> {
    side.load(id)?;
    let mut best = Duration::MAX;
    for _ in 0..samples {
        let started = Instant::now();
        side.append(line)?;
        best = best.min(started.elapsed());
    }
    side.leave()?;
    Ok(best)
}

/// How fast this machine hashes, in bytes a second: the yardstick for targets that were set on another one.
#[must_use]
pub fn sha256(bytes: usize, samples: u32) -> f64 {
    let data: Vec<u8> = (0..bytes).map(|at| at.to_le_bytes()[0]).collect();
    let mut best = Duration::MAX;
    for _ in 0..samples.max(1) {
        let started = Instant::now();
        std::hint::black_box(Sha256::digest(std::hint::black_box(&data)));
        best = best.min(started.elapsed());
    }
    data.len() as f64 / best.as_secs_f64()
}
