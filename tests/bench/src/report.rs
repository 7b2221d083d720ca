//! The tables, and what they are held against.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::measure::{Appended, Pair, Reading, Series};

/// Time in wasm over time natively, at most.
const WASM_RATIO_MAX: f64 = 1.5;

/// The targets below were set where sha256 hashes that many bytes a second.
const YARDSTICK: f64 = 0.9e9;

/// Resume of the long packed log in wasm, at most: a tenth of the reference's time.
const PACKED_LOAD_MAX: Duration = Duration::from_millis(170);

/// Peak memory of that, at most: a quarter of the reference's.
const PACKED_PEAK_MAX: u64 = 116_000_000;

/// Resume of the short log in wasm, at most: a fifth of the reference's time.
const SHORT_LOAD_MAX: Duration = Duration::from_millis(136);

/// Peak memory of that, at most: half of the reference's.
const SHORT_PEAK_MAX: u64 = 131_000_000;

/// Events appended and flushed a second in wasm, at least.
const FLUSHED_MIN: f64 = 500_000.0;

/// Time of what must not depend on a length, over the time at a much smaller length, at most. It is 1 but for noise.
const INDEPENDENT_RATIO_MAX: f64 = 2.0;

/// Time for four times as much over the time for once, at most. Linear is 4, quadratic is 16.
const LINEAR_RATIO_MAX: f64 = 8.0;

/// A generated log.
pub struct Log {
    /// Names it in the tables; the session's id.
    pub id: &'static str,
    /// Its stored lines.
    pub lines: String,
    /// The events that they stand for.
    pub events: u64,
    line_count: u64,
    /// The first bytes of the sha256 of its lines: a log that was generated otherwise shows.
    fingerprint: String,
}

impl Log {
    pub fn new(id: &'static str, lines: String, events: u64) -> Self {
        let line_count = lines.bytes().filter(|byte| *byte == b'\n').count() as u64;
        let digest = Sha256::digest(&lines);
        let fingerprint = digest.iter().take(4).map(|byte| format!("{byte:02x}"));
        let fingerprint = fingerprint.collect();
        Self {
            id,
            lines,
            events,
            line_count,
            fingerprint,
        }
    }
}

/// What was measured so far.
pub struct Report {
    samples: u32,
    sha_bytes_per_second: f64,
    rows: Vec<(String, Series)>,
    flushed_per_second: f64,
    histories: Vec<(u64, Pair)>,
    sources: Vec<(u64, Pair)>,
    peaks: Vec<(&'static str, u64)>,
}

impl Report {
    pub fn new(samples: u32) -> Self {
        Self {
            samples,
            sha_bytes_per_second: 0.0,
            rows: Vec::new(),
            flushed_per_second: 0.0,
            histories: Vec::new(),
            sources: Vec::new(),
            peaks: Vec::new(),
        }
    }

    /// Takes note of how fast sha256 was; the fastest counts, since anything else was noise.
    pub fn note_yardstick(&mut self, bytes_per_second: f64) {
        self.sha_bytes_per_second = self.sha_bytes_per_second.max(bytes_per_second);
    }

    pub fn print_head(&self) {
        println!(
            "best of {}, and the median of the ratios; rates in lines, events and bytes a second",
            self.samples
        );
        println!(
            "{:<9} {:<8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {:>5}",
            "log",
            "work",
            "native ms",
            "lines/s",
            "events/s",
            "MB/s",
            "wasm ms",
            "lines/s",
            "events/s",
            "MB/s",
            "ratio"
        );
    }

    pub fn print_reading(&mut self, log: &Log, reading: &Reading) {
        let whole = Amount {
            lines: log.line_count,
            events: log.events,
            bytes: log.lines.len() as u64,
        };
        println!(
            "{} (sha256 {}): {} events in {} lines, {:.1} MB; history: {} messages, {:.1} MB",
            log.id,
            log.fingerprint,
            log.events,
            log.line_count,
            log.lines.len() as f64 / 1e6,
            reading.messages,
            reading.message_bytes as f64 / 1e6
        );
        self.print_row(log.id, "load", whole, &reading.load);
        self.print_row(log.id, "fold", whole, &reading.fold);
        let history = Amount {
            lines: reading.messages,
            bytes: reading.message_bytes,
            ..whole
        };
        self.print_row(log.id, "derive", history, &reading.derive);
    }

    pub fn print_appended(&mut self, events: u64, bytes: usize, appended: &Appended) {
        let amount = Amount {
            lines: events,
            events,
            bytes: bytes as u64,
        };
        println!(
            "new: {events} events in batches of 100, in memory (append) and each flushed (flush), sync = never"
        );
        self.print_row("new", "append", amount, &appended.append);
        self.print_row("new", "flush", amount, &appended.flush);
        // Files are the host's, natively as in wasm: what counts is the rate, not the same code twice.
        self.rows.pop();
        self.flushed_per_second = events as f64 / appended.flush.best().wasm.as_secs_f64();
    }

    pub fn print_yardstick(&self) {
        let scale = YARDSTICK / self.sha_bytes_per_second;
        println!(
            "\nsha256 {:.2} GB/s natively: targets for {:.1} GB/s are scaled by {scale:.2}, 170 ms to {:.0} ms",
            self.sha_bytes_per_second / 1e9,
            YARDSTICK / 1e9,
            milliseconds(PACKED_LOAD_MAX) * scale
        );
    }

    fn print_row(&mut self, log: &str, work: &str, amount: Amount, series: &Series) {
        let best = series.best();
        println!(
            "{log:<9} {work:<8} {} {}  {:>5.2}",
            amount.over(best.native),
            amount.over(best.wasm),
            series.ratio()
        );
        self.rows.push((format!("{log} {work}"), series.clone()));
    }

    pub fn print_history(&mut self, log: &Log, time: Pair) {
        if self.histories.is_empty() {
            println!("\nhistory after one append, microseconds");
        }
        print_small(log.id, log.events, "events", time);
        self.histories.push((log.events, time));
    }

    pub fn print_sources(&mut self, sources: u64, time: Pair) {
        if self.sources.is_empty() {
            println!("\nappend of a message with that many sourceEventSeqs, microseconds");
        }
        print_small("packed", sources, "sources", time);
        self.sources.push((sources, time));
    }

    pub fn print_peak(&mut self, log: &Log, native: u64, wasm: u64) {
        if self.peaks.is_empty() {
            println!("\npeak memory of a process that loads the log, MB");
        }
        println!(
            "{:<9} {:>9} events     native {:>9.1}    wasm {:>9.1}",
            log.id,
            log.events,
            native as f64 / 1e6,
            wasm as f64 / 1e6
        );
        self.peaks.push((log.id, wasm));
    }

    /// Every target, and whether it is met.
    pub fn checks(&self) -> Checks {
        let mut checks = Checks(Vec::new());
        for (row, series) in &self.rows {
            let what = format!("{row}: wasm over native");
            checks.at_most(what, series.ratio(), WASM_RATIO_MAX, "x");
        }
        let scale = YARDSTICK / self.sha_bytes_per_second;
        for (log, max) in [("packed", PACKED_LOAD_MAX), ("short", SHORT_LOAD_MAX)] {
            let row = self
                .rows
                .iter()
                .find(|(row, _)| *row == format!("{log} load"));
            let taken = row.map_or(f64::NAN, |(_, series)| milliseconds(series.best().wasm));
            let what = format!("{log} load in wasm, {} ms scaled", max.as_millis());
            checks.at_most(what, taken, milliseconds(max) * scale, "ms");
        }
        for (log, max) in [("packed", PACKED_PEAK_MAX), ("short", SHORT_PEAK_MAX)] {
            let peak = self.peaks.iter().find(|(id, _)| *id == log);
            let taken = peak.map_or(f64::NAN, |(_, bytes)| *bytes as f64 / 1e6);
            let what = format!("{log} load in wasm, peak memory");
            checks.at_most(what, taken, max as f64 / 1e6, "MB");
        }
        checks.at_most(
            "append and flush in wasm, time of an event".to_owned(),
            1e6 / self.flushed_per_second,
            1e6 / FLUSHED_MIN,
            "us",
        );
        let growth = |of: &[(u64, Pair)]| {
            let least = of.iter().min_by_key(|(length, _)| *length);
            let most = of.iter().max_by_key(|(length, _)| *length);
            least.zip(most).map_or(f64::NAN, |((_, least), (_, most))| {
                most.wasm.as_secs_f64() / least.wasm.as_secs_f64()
            })
        };
        let what = "history after one append, long log over short".to_owned();
        checks.at_most(what, growth(&self.histories), INDEPENDENT_RATIO_MAX, "x");
        let what = "four times the sources over once".to_owned();
        checks.at_most(what, growth(&self.sources), LINEAR_RATIO_MAX, "x");
        checks
    }
}

#[derive(Clone, Copy)]
struct Amount {
    lines: u64,
    events: u64,
    bytes: u64,
}

impl Amount {
    /// Time and rates as columns of the table.
    fn over(self, time: Duration) -> String {
        let seconds = time.as_secs_f64();
        let rate = |amount: u64| amount as f64 / seconds / 1e6;
        format!(
            "{:>9.2} {:>8.3}M {:>8.2}M {:>9.0}",
            milliseconds(time),
            rate(self.lines),
            rate(self.events),
            rate(self.bytes)
        )
    }
}

fn print_small(log: &str, length: u64, unit: &str, time: Pair) {
    println!(
        "{log:<9} {length:>9} {unit:<10} native {:>9.1}    wasm {:>9.1}",
        time.native.as_secs_f64() * 1e6,
        time.wasm.as_secs_f64() * 1e6
    );
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Targets: what is measured, the measure, the most that it may be, the unit.
pub struct Checks(Vec<(String, f64, f64, &'static str)>);

impl Checks {
    fn at_most(&mut self, what: String, measured: f64, max: f64, unit: &'static str) {
        self.0.push((what, measured, max, unit));
    }

    /// How many targets are missed. What could not be measured misses.
    pub fn failed(&self) -> usize {
        let missed = self
            .0
            .iter()
            .filter(|(_, measured, max, _)| !is_met(*measured, *max));
        missed.count()
    }

    pub fn print(&self) {
        println!("\nchecks");
        for (what, measured, max, unit) in &self.0 {
            let verdict = if is_met(*measured, *max) {
                "pass"
            } else {
                "FAIL"
            };
            println!("{verdict}  {what:<48} {measured:>8.2} {unit:<2} at most {max:>8.2} {unit}");
        }
        let failed = self.failed();
        println!("{} passed, {failed} failed", self.0.len() - failed);
    }
}

fn is_met(measured: f64, max: f64) -> bool {
    measured <= max
}
