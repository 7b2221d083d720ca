//! `annals-bench core [--quick]`: how fast and how large the session core is, natively and as linked components.
//! `annals-bench link [--quick]`: what a call costs through each way of linking.

mod core;
mod generator;
mod link;
mod measure;
mod peak;
mod random;
mod report;
mod side;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measure the session core, and what linking costs
#[derive(Parser, Debug)]
#[command(name = "annals-bench")]
struct Arguments {
    #[command(subcommand)]
    work: Work,
}

#[derive(Subcommand, Debug)]
enum Work {
    Core(core::Core),
    Link(link::LinkCost),
    /// Open one log and print how much memory that took at most
    #[command(hide = true)]
    Peak(peak::Peak),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().work {
        Work::Core(core) => core.run(),
        Work::Link(link) => link.run(),
        Work::Peak(peak) => peak.run().map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}
