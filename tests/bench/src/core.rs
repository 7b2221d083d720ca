//! `annals-bench core`: generates the logs, measures, prints the tables and judges.

use std::path::Path;
use std::process::ExitCode;

use annals_core::chunk_rows::pack;
use anyhow::{Result, anyhow};
use clap::Args;

use crate::generator::{self, Stamps, TURN_EVENTS};
use crate::measure::{self, Sides};
use crate::peak::{self, Via};
use crate::report::{Checks, Log, Report};
use crate::side::{Native, Side, Wasm};

/// Turns of the long log: 1,279,200 events.
const LONG_TURNS: u64 = 2400;

/// The short one is that much shorter: 255,840 events.
const SHORTER: u64 = 5;

/// The quick run's logs are that much shorter still.
const QUICKER: u64 = 40;

/// Messages with this many sources, doubled twice: even the shortest is longer than the caches next to a processor, so that
/// time grows with the work and not with where it is done.
const SOURCES: u64 = 200_000;

/// Time load, fold, derive and append, natively and in wasm, and measure peak memory
#[derive(Args, Debug)]
pub struct Core {
    /// Only see whether it runs: short logs, nothing judged
    #[arg(long)]
    quick: bool,
    /// Best of how many runs
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
}

impl Core {
    /// Measures and prints; fails with code 1 when a target is missed.
    ///
    /// # Errors
    /// Something that could not be measured.
    pub fn run(&self) -> Result<ExitCode> {
        let (quicker, samples) = if self.quick {
            (QUICKER, 1)
        } else {
            (1, self.samples)
        };
        let directory = tempfile::tempdir()?;
        let root = directory.path();
        let sha_bytes = if self.quick { 1 << 20 } else { 64 << 20 };
        let mut report = Report::new(samples);
        report.note_yardstick(measure::sha256(sha_bytes, samples));
        report.print_head();

        let long = generator::events(LONG_TURNS / quicker, Stamps::Given);
        let packed = pack(&long).map_err(|fault| anyhow!("{}", fault.message))?;
        let short = generator::events(LONG_TURNS / quicker / SHORTER, Stamps::Given);
        let long_events = LONG_TURNS / quicker * TURN_EVENTS;
        let logs = [
            Log::new("packed", packed, long_events),
            Log::new("unpacked", long, long_events),
            Log::new("short", short, long_events / SHORTER),
        ];
        for log in &logs {
            store(root, log)?;
        }

        let mut sides = Sides {
            native: Native::open(root)?,
            wasm: Wasm::open(root)?,
        };
        for log in &logs {
            let reading = measure::reading(&mut sides, log.id, &log.lines, samples)?;
            report.print_reading(log, &reading);
            report.note_yardstick(measure::sha256(sha_bytes, samples));
        }
        let drafts = generator::events(LONG_TURNS / quicker / SHORTER, Stamps::Absent);
        let appended = measure::append(&mut sides, &drafts, samples)?;
        report.print_appended(long_events / SHORTER, drafts.len(), &appended);
        for log in &logs {
            let after = measure::history(&mut sides, log.id)?;
            report.print_history(log, after);
        }
        for sources in [1, 2, 4].map(|times| times * SOURCES / quicker) {
            let time = measure::sources(&mut sides, "packed", sources, samples)?;
            report.print_sources(sources, time);
        }
        drop(sides);
        for log in &logs {
            let native = peak::of_load(Via::Native, root, log.id)?;
            let wasm = peak::of_load(Via::Wasm, root, log.id)?;
            report.print_peak(log, native, wasm);
        }
        report.note_yardstick(measure::sha256(sha_bytes, samples));
        report.print_yardstick();
        if self.quick {
            println!("\nquick: nothing judged");
            return Ok(ExitCode::SUCCESS);
        }
        Ok(judge(&report.checks()))
    }
}

/// Puts a log where both sides find it, as it was generated.
fn store(root: &Path, log: &Log) -> Result<()> {
    let mut native = Native::open(root)?;
    native.create(log.id, log.lines.clone())?;
    native.flush()?;
    native.leave()
}

fn judge(checks: &Checks) -> ExitCode {
    checks.print();
    if checks.failed() == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
