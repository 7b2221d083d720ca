//! Runs suites and counts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::answer::{Answer, Refusal, agrees, agrees_in_order, same};
use crate::host::Host;
use crate::native::Native;
use crate::report::{Failure, Report, SuiteReport};
use crate::vector::{self, Case, Suite};
use crate::wasm::Wasm;
use crate::{differences, ops};

/// Which way of linking store and backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Via {
    /// As one Rust program.
    Native,
    /// As linked WebAssembly components.
    Wasm,
}

/// Runs the suites of `dir`: all of them, or those named; over every way of linking, or the one named.
///
/// Errors: the directory cannot be read or has no such suite; there are no components to link.
pub fn run(dir: &Path, names: &[String], via: Option<Via>) -> Result<Report> {
    let suites = vector::suites(dir)?;
    if let Some(unknown) = names
        .iter()
        .find(|name| suites.iter().all(|suite| suite.suite != **name))
    {
        let known: Vec<&str> = suites.iter().map(|suite| suite.suite.as_str()).collect();
        bail!(
            "no suite {unknown:?} in {}; there are {}",
            dir.display(),
            known.join(", ")
        );
    }
    let mut report = Report::default();
    let wasm = match via {
        Some(Via::Native) => None,
        Some(Via::Wasm) | None => Some(Wasm::new()?),
    };
    for suite in suites
        .iter()
        .filter(|suite| names.is_empty() || names.contains(&suite.suite))
    {
        if via != Some(Via::Wasm) {
            report.suites.push(run_suite(suite, &Native));
        }
        if let Some(wasm) = &wasm {
            report.suites.push(run_suite(suite, wasm));
        }
    }
    Ok(report)
}

fn run_suite<H: Host>(suite: &Suite, host: &H) -> SuiteReport {
    let mut report = SuiteReport {
        name: format!("{} ({})", suite.suite, host.name()),
        ..SuiteReport::default()
    };
    for case in &suite.cases {
        let mut case = case.clone();
        let taken = differences::apply(&mut case);
        if case.op == "load_file" {
            case.expect = ops::load_expectation(&case);
        }
        if case.op == "store_script" {
            case.expect = ops::store_expectation(&case);
        }
        // A panic is a failure of this case alone.
        let answered =
            catch_unwind(AssertUnwindSafe(|| ops::answer(host, &case))).unwrap_or_else(|_| {
                Answer::Refused(Refusal::new("panic", "the code under test panicked"))
            });
        if let Answer::Skipped(skip) = answered {
            *report.skipped.entry(skip).or_default() += 1;
            continue;
        }
        for rule in taken {
            *report.differences.entry(rule).or_default() += 1;
        }
        let as_expected = match case.op.as_str() {
            "pack_chunk_runs" | "decode_storage_record" => agrees_in_order(&case.expect, &answered),
            _ => agrees(&case.expect, &answered),
        };
        if as_expected {
            report.passed += 1;
        } else {
            report.failures.push(failure(&case, &answered));
        }
    }
    report
}

fn failure(case: &Case, answer: &Answer) -> Failure {
    let (expected, actual) = match (case.expect.get("ok"), case.expect.get("error"), answer) {
        (Some(wanted), _, Answer::Ok(given)) => {
            let (path, wanted, given) = first_difference(wanted, given);
            (format!("ok{path}: {wanted}"), format!("ok{path}: {given}"))
        }
        (Some(wanted), _, answer) => (format!("ok {wanted}"), shown(answer)),
        (None, Some(error), answer) => (format!("error {error}"), shown(answer)),
        (None, None, answer) => (case.expect.to_string(), shown(answer)),
    };
    Failure {
        name: case.name.clone(),
        op: case.op.clone(),
        expected,
        actual,
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Ok(value) => format!("ok {value}"),
        Answer::Refused(refusal) => format!("error {}", refusal.value()),
        Answer::Skipped(skip) => skip.reason().to_owned(),
    }
}

/// The smallest part that differs, and where it is; of two long texts what follows their common beginning.
fn first_difference(expected: &Value, actual: &Value) -> (String, String, String) {
    let member = |key: &str, expected: &Value, actual: &Value| {
        let (path, expected, actual) = first_difference(expected, actual);
        (format!("/{key}{path}"), expected, actual)
    };
    match (expected, actual) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            let differing = a.iter().find_map(|(key, a)| {
                let b = b.get(key).filter(|b| !same(a, b))?;
                Some(member(key, a, b))
            });
            differing.unwrap_or_else(|| (String::new(), expected.to_string(), actual.to_string()))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            let differing = pairs.find(|(_, (a, b))| !same(a, b));
            match differing {
                Some((index, (a, b))) => member(&index.to_string(), a, b),
                None => (String::new(), expected.to_string(), actual.to_string()),
            }
        }
        (Value::String(a), Value::String(b)) => {
            let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            // A little of what is common shows where it is.
            let rest =
                |text: &str| -> String { text.chars().skip(common.saturating_sub(80)).collect() };
            (format!(" from character {common}"), rest(a), rest(b))
        }
        (expected, actual) => (String::new(), expected.to_string(), actual.to_string()),
    }
}
