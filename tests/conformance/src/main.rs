//! `annals-conformance DIR [--suite NAME] [--via native|wasm]`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use annals_conformance::run::{Via, run};
use clap::Parser;

/// Run recorded cases of the reference implementation.
#[derive(Parser)]
struct Options {
    /// The directory of the vector files.
    #[arg(env = "ANNALS_VECTORS")]
    dir: PathBuf,
    /// Only this suite; may be repeated.
    #[arg(long = "suite", value_name = "NAME")]
    suites: Vec<String>,
    /// Only over this way of linking store and backend; both when not given.
    #[arg(long)]
    via: Option<Via>,
}

/// Some vectors nest values too deep for a usual stack, and this runner's own parser recurses.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    let options = Options::parse();
    let work = move || run(&options.dir, &options.suites, options.via);
    let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn(work);
    match worker.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(report))) => {
            print!("{report}");
            if report.failed() == 0 {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Ok(Ok(Err(error))) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
        Ok(Err(_)) | Err(_) => {
            eprintln!("error: the runner itself failed");
            ExitCode::from(70)
        }
    }
}
