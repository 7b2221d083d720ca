//! `fuzz-seeds DIRECTORY`: writes inputs for a fuzzer to begin with, those of the recorded logs included where
//! `ANNALS_VECTORS` and `ANNALS_FIXTURES` name them.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use annals_properties::fuzzed::seeds;

/// Rows of decisions among the inputs.
const DECISIONS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let place = env::args_os().nth(1).map(PathBuf::from);
    let place = place.ok_or("name the directory to write to")?;
    let mut inputs = seeds::built_in(DECISIONS);
    for variable in ["ANNALS_VECTORS", "ANNALS_FIXTURES"] {
        if let Some(directory) = env::var_os(variable) {
            inputs.extend(seeds::recorded(directory.as_ref())?);
        }
    }
    fs::create_dir_all(&place)?;
    for (number, input) in inputs.iter().enumerate() {
        fs::write(place.join(format!("{number:05}")), input)?;
    }
    println!("{} inputs to begin with", inputs.len());
    Ok(())
}
