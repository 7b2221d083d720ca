//! Builds, demonstrates and tests Annals: `cargo xtask <command>`.

mod bench;
mod build;
mod conformance;
mod contract;
mod demo;
mod fuzz;
mod guests;
mod outcome;
mod smoke;
mod soak;
mod tests;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Builds, demonstrates and tests Annals
#[derive(Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand, Debug)]
enum Task {
    /// Build the components, their bundle and the command into target/annals
    Build,
    /// Record a session, kill the recorder, and show what is left
    Demo,
    Bench(bench::Bench),
    Conformance(conformance::Conformance),
    Fuzz(fuzz::Fuzz),
    Soak(soak::Soak),
    Test(tests::Test),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Build => build::run().map(|()| ExitCode::SUCCESS),
        Task::Demo => demo::run().map(|()| ExitCode::SUCCESS),
        Task::Bench(bench) => bench.run(),
        Task::Conformance(conformance) => conformance.run(),
        Task::Fuzz(fuzz) => fuzz.run(),
        Task::Soak(soak) => soak.run(),
        Task::Test(test) => test.run(),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
