use annals::{Bare, Need};
use annals_contract::{Check, Outcome, Report, Row};
use clap::Args;
use serde_json::{Value, json};

use crate::args::{self, Backend, Middleware};
use crate::commands::Run;
use crate::contract::Tested;
use crate::failure::{Exit, Failure};
use crate::output::{Format, Output};
use crate::place::{self, Place};

/// Run the whole contract of a backend against a component
///
/// Each check has an empty directory and instances of its own, under the limits that the backend has in use. Nothing
/// else is granted, unless the backend was added. With --through it is the stack that is tested. Exits with 3 when a
/// check failed.
#[derive(Args, Debug)]
pub struct Test {
    /// The component's path, `jsonl`, `memory`, or the name of a backend that was added
    #[arg(value_name = "PATH.wasm|jsonl|memory|NAME", value_parser = args::backend)]
    component: Backend,
    /// Only this check, or all of an area such as `lease`; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

impl Run for Test {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let chosen = self.chosen()?;
        let mut tested = self.tested(place)?;
        let mut output = Output::new(place.global.format);
        let mut report = Report::default();
        for check in chosen {
            let row = check.run(&mut tested);
            match output.format {
                Format::Text => output.line(&row.to_string())?,
                Format::Jsonl => output.json(&value(&row))?,
                Format::Json => {}
            }
            // A check may take seconds.
            output.flush()?;
            report.rows.push(row);
        }
        match output.format {
            Format::Text => output.line(&report.counts())?,
            Format::Json => output.json(&self.summary(place, &report))?,
            Format::Jsonl => {}
        }
        output.end()?;
        Ok(if report.is_ok() {
            Exit::Done
        } else {
            Exit::Integrity
        })
    }
}

impl Test {
    fn chosen(&self) -> Result<Vec<&'static Check>, Failure> {
        let names = |only: &str, check: &Check| {
            let area = check.name().split('/').next();
            check.name() == only || area == Some(only)
        };
        let mut checks = annals_contract::checks();
        for only in &self.only {
            if !checks.iter().any(|check| names(only, check)) {
                return Err(Failure::usage(format!(
                    "there is no check {only:?}; run without --only to see the names of all"
                )));
            }
        }
        if !self.only.is_empty() {
            checks.retain(|check| self.only.iter().any(|only| names(only, check)));
        }
        Ok(checks)
    }

    fn tested(&self, place: &Place) -> Result<Tested, Failure> {
        let directory = tempfile::tempdir()
            .map_err(|error| Failure::refused(format!("no temporary directory: {error}")))?;
        // What only imports sockets, as those made of Python do, is tested without a network.
        let granted = place.chosen(&self.component)?;
        let granted = granted.root(directory.path()).inert(Need::Network);
        let refused = |error| place::of_backend(&self.component, error);
        let bare = Bare::new(granted).map_err(refused)?;
        Ok(Tested::new(bare, directory))
    }

    fn name(&self) -> String {
        match &self.component {
            Backend::Jsonl => "jsonl".to_owned(),
            Backend::Memory => "memory".to_owned(),
            Backend::File(path) => path.display().to_string(),
            Backend::Added(name) => name.clone(),
        }
    }

    fn summary(&self, place: &Place, report: &Report) -> Value {
        let count = |is: fn(&Outcome) -> bool| {
            let rows = report.rows.iter();
            rows.filter(|row| is(&row.outcome)).count()
        };
        json!({
            "component": self.name(),
            "through": place.through.iter().map(Middleware::name).collect::<Vec<_>>(),
            "checks": report.rows.iter().map(value).collect::<Vec<Value>>(),
            "passed": count(|outcome| matches!(outcome, Outcome::Passed)),
            "failed": count(|outcome| matches!(outcome, Outcome::Failed(_))),
            "notApplicable": count(|outcome| matches!(outcome, Outcome::NotApplicable(_))),
        })
    }
}

fn value(row: &Row) -> Value {
    json!({
        "name": row.name,
        "outcome": row.outcome.label(),
        "proves": row.proves,
        "detail": row.outcome.detail(),
        "seconds": row.seconds,
    })
}
