//! `annals-bench link`: what a call and a batch cost as a native function call, and through each way of linking.

mod alone;
mod sides;
mod table;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use annals::{Backend, Link, Need, Place};
use annals_jsonl::Jsonl;
use annals_memory::Memory;
use anyhow::{Context, Result, ensure};
use clap::Args;

use alone::{Alone, Instance};
use sides::{Linked, Native, Side};

/// Events of a batch, and how many bytes each of them has when it is given to `append`.
const BATCH_EVENTS: usize = 1_000;
const EVENT_BYTES: usize = 250;

/// Single calls between two looks at the clock.
const CALLS: u32 = 200;

/// Time one call and a batch of 1,000 events: natively, statically linked, dynamically linked, and in the sandbox
#[derive(Args, Debug)]
pub struct LinkCost {
    /// Only see whether it runs
    #[arg(long)]
    quick: bool,
    /// Median of how many runs
    #[arg(long, default_value_t = 51, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
}

/// Which backend is behind the calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Memory,
    Files,
}

/// What is timed.
#[derive(Clone, Copy)]
struct Work {
    name: &'static str,
    /// Calls of a sample.
    calls: u32,
    run: fn(&mut dyn Side, &str) -> Result<()>,
    /// Done after each sample, and not timed.
    after: fn(&mut dyn Side) -> Result<()>,
}

const WORKS: [Work; 6] = [
    Work {
        name: "hand over",
        calls: CALLS,
        run: |side, _| side.close_closed(),
        after: |_| Ok(()),
    },
    Work {
        name: "call, next-seq",
        calls: CALLS,
        run: |side, _| side.next_seq().map(|seq| _ = black_box(seq)),
        after: |_| Ok(()),
    },
    Work {
        name: "call, has",
        calls: CALLS,
        run: |side, _| is_there(side.has()?),
        after: |_| Ok(()),
    },
    Work {
        name: "batch, append",
        calls: 1,
        run: |side, batch| side.append(batch),
        after: |side| side.flush(),
    },
    Work {
        name: "batch, append and flush",
        calls: 1,
        run: |side, batch| side.append(batch).and_then(|()| side.flush()),
        after: |_| Ok(()),
    },
    Work {
        name: "batch, read",
        calls: 1,
        run: |side, _| is_batch(side.read()?),
        after: |_| Ok(()),
    },
];

impl LinkCost {
    /// Measures and prints; nothing is judged.
    ///
    /// # Errors
    /// Something that could not be measured.
    pub fn run(&self) -> Result<ExitCode> {
        let samples = if self.quick { 3 } else { self.samples };
        table::print_head(samples, BATCH_EVENTS, EVENT_BYTES);
        for kept in [Kept::Memory, Kept::Files] {
            let directory = tempfile::tempdir()?;
            table::print_columns(kept.name(), &["native", "static", "dynamic", "sandbox"]);
            let mut sides = kept.sides(directory.path())?;
            let batch = batch();
            for side in &mut sides {
                side.append(&batch)?;
                side.flush()?;
            }
            for work in WORKS {
                let run = |side: &mut Box<dyn Side>| work.sample(side.as_mut(), &batch);
                table::print_row(work.name, &medians(&mut sides, samples, run)?);
            }
        }
        for kept in [Kept::Memory, Kept::Files] {
            let directory = tempfile::tempdir()?;
            let name = format!("{}, the backend alone", kept.name());
            table::print_columns(&name, &["native", "", "dynamic", "sandbox"]);
            let mut instances = kept.instances(directory.path())?;
            let has = |instance: &mut Box<dyn Instance>| {
                timed(CALLS, || is_there(instance.has("measured")?))
            };
            table::print_row_alone("call, has", &medians(&mut instances, samples, has)?);
            let append = |instance: &mut Box<dyn Instance>| {
                instance.prepare(BATCH_EVENTS);
                timed(1, || instance.append())
            };
            let appended = medians(&mut instances, samples, append)?;
            table::print_row_alone("batch, append", &appended);
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Work {
    fn sample(self, side: &mut dyn Side, batch: &str) -> Result<f64> {
        let taken = timed(self.calls, || (self.run)(side, batch))?;
        (self.after)(side)?;
        Ok(taken)
    }
}

impl Kept {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Files => "jsonl, sync = never",
        }
    }

    /// Of the component that came with the library.
    fn place(self, root: &Path) -> Place {
        match self {
            Self::Memory => Place::new(Backend::Memory),
            Self::Files => Place::jsonl(root).setting("sync", "never"),
        }
    }

    /// Of the same component as if somebody else had made it.
    fn foreign(self, root: &Path) -> Result<Place> {
        let name = match self {
            Self::Memory => "memory.wasm",
            Self::Files => "jsonl.wasm",
        };
        let place = self.place(root).backend(Backend::Bytes(foreign(name)?));
        Ok(place.inert(Need::Network))
    }

    fn sides(self, root: &Path) -> Result<Vec<Box<dyn Side>>> {
        let [native, composed, dynamic, sandbox] = roots(root)?;
        let native: Box<dyn Side> = match self {
            Self::Memory => Box::new(Native::open(Memory::default(), &[])?),
            Self::Files => Box::new(Native::open(Jsonl::default(), &settings(&native)?)?),
        };
        Ok(vec![
            native,
            Box::new(Linked::open(self.place(&composed), Link::Static)?),
            Box::new(Linked::open(self.place(&dynamic), Link::Dynamic)?),
            Box::new(Linked::open(self.foreign(&sandbox)?, Link::Dynamic)?),
        ])
    }

    fn instances(self, root: &Path) -> Result<Vec<Box<dyn Instance>>> {
        let [native, _, dynamic, sandbox] = roots(root)?;
        let native: Box<dyn Instance> = match self {
            Self::Memory => Box::new(Alone::native(Memory::default(), &[])?),
            Self::Files => Box::new(Alone::native(Jsonl::default(), &settings(&native)?)?),
        };
        let linked = |place, root: &Path| Alone::linked(place, root);
        Ok(vec![
            native,
            Box::new(linked(self.place(&dynamic), &dynamic)?),
            Box::new(linked(self.foreign(&sandbox)?, &sandbox)?),
        ])
    }
}

/// A directory for each.
fn roots(root: &Path) -> Result<[PathBuf; 4]> {
    let roots = ["native", "static", "dynamic", "sandbox"].map(|name| root.join(name));
    roots.iter().try_for_each(std::fs::create_dir)?;
    Ok(roots)
}

/// What the native backend is configured with.
fn settings(root: &Path) -> Result<[(String, String); 2]> {
    let root = root.to_str().context("the root is no text")?;
    Ok(
        [("root", root), ("sync", "never")]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    )
}

/// The bytes of a built component with an empty section at the end, so that it is not taken for the bundled one.
fn foreign(name: &str) -> Result<Vec<u8>> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/annals")
        .join(name);
    let mut bytes = annals::component_bytes(&built)?;
    let name = b"bench";
    // a custom section: its number, its length, and a name with its length
    bytes.extend([0, name.len() as u8 + 1, name.len() as u8]);
    bytes.extend(name);
    Ok(bytes)
}

/// Events as a caller gives them to `append`.
fn batch() -> String {
    let frame = r#"{"type":"plugin/note","data":{"number":0000,"text":""}}"#.len() + 1;
    let text = "x".repeat(EVENT_BYTES - frame);
    (0..BATCH_EVENTS)
        .map(|number| {
            format!(
                r#"{{"type":"plugin/note","data":{{"number":{},"text":"{text}"}}}}"#,
                1000 + number
            ) + "\n"
        })
        .collect()
}

/// Microseconds of one call.
fn timed(calls: u32, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let started = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e6 / f64::from(calls))
}

/// The median of each; they take turns, so that all meet the same noise, and the first turn is not counted.
fn medians<S>(
    sides: &mut [S],
    samples: u32,
    run: impl Fn(&mut S) -> Result<f64>,
) -> Result<Vec<f64>> {
    let mut taken = vec![Vec::new(); sides.len()];
    for sample in 0..=samples {
        for (side, taken) in sides.iter_mut().zip(&mut taken) {
            let time = run(side)?;
            if sample > 0 {
                taken.push(time);
            }
        }
    }
    let median = |taken: &mut Vec<f64>| {
        taken.sort_by(f64::total_cmp);
        taken.get(taken.len() / 2).copied().unwrap_or(f64::NAN)
    };
    Ok(taken.iter_mut().map(median).collect())
}

fn is_there(has: bool) -> Result<()> {
    ensure!(has, "the session is not there");
    Ok(())
}

fn is_batch(events: usize) -> Result<()> {
    let is_near = events.abs_diff(BATCH_EVENTS) <= BATCH_EVENTS / 10;
    ensure!(is_near, "{events} events were read");
    Ok(())
}
