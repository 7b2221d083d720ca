//! Composes and precompiles the components in a directory, for the crate's build script to embed.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1) else {
        eprintln!("usage: annals-bundle DIRECTORY");
        return ExitCode::from(2);
    };
    match annals::bundle::write(Path::new(&directory)) {
        Ok(written) => {
            for path in written {
                println!("wrote {}", path.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("annals-bundle: {error}");
            ExitCode::FAILURE
        }
    }
}
