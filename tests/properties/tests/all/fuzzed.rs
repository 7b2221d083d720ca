//! What fuzzing checks, over inputs that are there without a fuzzer.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use annals_properties::fuzzed::{DECISIONS, TARGETS, seeds};
use annals_properties::random::Random;

/// Logs built from decisions that every target sees.
const NEAR_LOGS: usize = 1000;
/// Texts of bytes that are common in JSON.
const TEXTS: usize = 1500;

/// Holds every property against an input, and names it where one does not hold.
fn check(input: &[u8]) {
    for (name, property) in TARGETS {
        if catch_unwind(AssertUnwindSafe(|| property(input))).is_err() {
            panic!("{name} does not hold for b\"{}\"", input.escape_ascii());
        }
    }
}

#[test]
fn built_in_inputs() {
    for input in seeds::built_in(NEAR_LOGS) {
        check(&input);
    }
}

#[test]
fn random_texts() {
    const PARTS: [&str; 24] = [
        "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "d83d", "0", "-", "1.5", "e9", "true",
        "null", " ", "\n", "\r", "\0", "é", "\"type\"", "\"seq\"", "\"data\"",
    ];
    let mut random = Random::new(11);
    for _ in 0..TEXTS {
        let length = 1 + random.below(30);
        let text: String = (0..length).map(|_| random.pick(&PARTS)).collect();
        check(text.as_bytes());
        let bytes = (0..length).map(|_| random.number() as u8);
        let bytes: Vec<u8> = bytes.filter(|byte| *byte != DECISIONS).collect();
        check(&bytes);
    }
}

#[test]
fn recorded_inputs() {
    for variable in ["ANNALS_VECTORS", "ANNALS_FIXTURES"] {
        let Some(directory) = env::var_os(variable).map(PathBuf::from) else {
            continue;
        };
        for input in seeds::recorded(&directory).unwrap() {
            check(&input);
        }
    }
}
