//! The `annals` command: one process, one command, results on stdout and everything else on stderr.
//!
//! Absent: session logic. Each command turns its flags into calls of the `annals` library and prints what comes back.

mod added;
mod args;
mod boundary;
mod commands;
mod contract;
mod failure;
mod header;
mod input;
mod lines;
mod manifest;
mod new_file;
mod output;
mod place;
mod sealing;
mod signals;
mod survey;
mod text;
mod time;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;

use crate::args::Cli;
use crate::failure::{Exit, Failure};

/// Whether any thread panicked: what a command then says of the outcome is not to be trusted.
static PANICKED: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    // Logs hold whole conversations. Components cannot set modes, so what they make is kept for its owner from here.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    signals::outlive_long_files();
    // One line for people, as for every other failure.
    panic::set_hook(Box::new(|fault| {
        PANICKED.store(true, Ordering::SeqCst);
        output::note(&format!(
            "internal error: {fault}; please report it with the command you ran"
        ));
    }));
    let cli = Cli::parse();
    let ended = panic::catch_unwind(AssertUnwindSafe(|| commands::run(&cli)));
    let exit = match ended {
        _ if PANICKED.load(Ordering::SeqCst) => Exit::Fault,
        Ok(Ok(exit)) => exit,
        Ok(Err(failure)) => report(failure),
        Err(_) => Exit::Fault,
    };
    signals::exit_code().map_or_else(|| exit.code(), ExitCode::from)
}

fn report(failure: Failure) -> Exit {
    match failure {
        // Whoever read our output has seen enough: `annals show a1 | head` is no failure.
        Failure::ReaderLeft => Exit::Done,
        Failure::Said(exit, message) => {
            output::note(&message);
            exit
        }
    }
}
