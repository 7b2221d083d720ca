//! The contract of interface `persistence` (the comments in `wit/annals.wit`) as checks that run against any backend.
//!
//! A backend is reached through the sdk's trait [`annals_sdk::Persistence`], so that the same checks run natively and, through an
//! adapter, against a component. Whoever runs them brings a [`Subject`], which can start the backend over a medium.
//! Every check has an empty medium of its own, and a failure ends that check only.
//!
//! ```
//! use annals_contract::{InMemory, run};
//! use annals_memory::Memory;
//!
//! let report = run(&mut InMemory::<Memory>::default(), |row| println!("{row}"));
//! assert!(report.is_ok(), "{report}");
//! ```
//!
//! Absent: wasmtime, and any knowledge of a particular backend. Where the medium is a directory, damage is planted in
//! the file that holds the bytes that were stored, whatever its name.

mod checks;
mod expectation;
mod medium;
mod report;
mod samples;
mod subject;
mod trial;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

pub use report::{Outcome, Report, Row};
pub use subject::{InDirectory, InMemory, Subject};

use trial::{Checked, Stop, Trial};

/// One check: a part of the contract.
pub struct Check {
    name: &'static str,
    proves: &'static str,
    run: fn(&mut Trial<'_>) -> Checked,
}

impl Check {
    /// Names it: `area/what`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What a backend that passes it does, in one line.
    #[must_use]
    pub fn proves(&self) -> &'static str {
        self.proves
    }

    /// Runs it over an empty medium.
    pub fn run(&self, subject: &mut dyn Subject) -> Row {
        let started = Instant::now();
        // a native backend that panics ends its check, as a component that traps does; what it left is not used again
        let ended = catch_unwind(AssertUnwindSafe(|| self.outcome(subject)));
        let outcome = match ended {
            Ok(Ok(())) => Outcome::Passed,
            Ok(Err(Stop::Failed(why))) => Outcome::Failed(why),
            Ok(Err(Stop::NotApplicable(why))) => Outcome::NotApplicable(why),
            Err(panic) => Outcome::Failed(format!("it panicked: {}", words_of(panic.as_ref()))),
        };
        Row {
            name: self.name,
            proves: self.proves,
            outcome,
            seconds: started.elapsed().as_secs_f64(),
        }
    }

    fn outcome(&self, subject: &mut dyn Subject) -> Checked {
        subject.empty().map_err(Stop::Failed)?;
        let mut trial = Trial::new(subject);
        trial.open()?;
        (self.run)(&mut trial)
    }
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without words")
}

/// Every check, in the order of the contract.
#[must_use]
pub fn checks() -> Vec<&'static Check> {
    checks::ALL.iter().copied().flatten().collect()
}

/// Runs every check and tells `told` each row as it comes.
pub fn run(subject: &mut dyn Subject, mut told: impl FnMut(&Row)) -> Report {
    let mut report = Report::default();
    for check in checks() {
        let row = check.run(subject);
        told(&row);
        report.rows.push(row);
    }
    report
}
