//! Counts of a run, and how they are shown.

use std::collections::BTreeMap;
use std::fmt;

use crate::answer::Skip;
use crate::differences::RULES;

/// Failing cases shown of one suite.
pub const SHOWN_MAX: usize = 10;

/// Characters shown of an expected or an actual value.
const VALUE_CHARS_MAX: usize = 600;

/// What a run gave.
#[derive(Default)]
pub struct Report {
    /// In the order in which they ran.
    pub suites: Vec<SuiteReport>,
}

/// What one suite gave, over one way of linking.
#[derive(Default)]
pub struct SuiteReport {
    /// `jsonl-load (wasm)`.
    pub name: String,
    /// Cases that gave what was expected.
    pub passed: u64,
    /// Cases that did not.
    pub failures: Vec<Failure>,
    /// Cases that were not run, by reason.
    pub skipped: BTreeMap<Skip, u64>,
    /// Cases that each rule changed, by the rule's index.
    pub differences: BTreeMap<usize, u64>,
}

/// A case that did not give what was expected.
pub struct Failure {
    /// The case's name.
    pub name: String,
    /// Its operation.
    pub op: String,
    /// Where the answers differ, as expected.
    pub expected: String,
    /// The same place, as answered.
    pub actual: String,
}

impl Report {
    /// How many cases failed.
    pub fn failed(&self) -> usize {
        self.suites.iter().map(|suite| suite.failures.len()).sum()
    }

    fn skipped(&self) -> u64 {
        self.suites.iter().map(SuiteReport::skipped_count).sum()
    }

    fn rules(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cases: BTreeMap<usize, u64> = BTreeMap::new();
        for suite in &self.suites {
            for (rule, count) in &suite.differences {
                *cases.entry(*rule).or_default() += count;
            }
        }
        for (index, count) in cases {
            if let Some(rule) = RULES.get(index) {
                writeln!(
                    f,
                    "difference {}: {count} cases: {}",
                    rule.name, rule.reason
                )?;
            }
        }
        Ok(())
    }
}

impl SuiteReport {
    /// Cases that no way of linking can run.
    fn skipped_count(&self) -> u64 {
        self.count(|skip| !skip.is_of_border())
    }

    fn count(&self, is_meant: impl Fn(Skip) -> bool) -> u64 {
        let meant = self.skipped.iter().filter(|(skip, _)| is_meant(**skip));
        meant.map(|(_, count)| count).sum()
    }

    fn reasons(&self, is_meant: impl Fn(Skip) -> bool) -> String {
        let meant = self.skipped.iter().filter(|(skip, _)| is_meant(**skip));
        let reasons: Vec<String> = meant
            .map(|(skip, count)| format!("{count} {}", skip.reason()))
            .collect();
        match reasons.is_empty() {
            true => String::new(),
            false => format!(" ({})", reasons.join(", ")),
        }
    }

    fn failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in self.failures.iter().take(SHOWN_MAX) {
            writeln!(f, "FAILED {}: {} ({})", self.name, failure.name, failure.op)?;
            writeln!(f, "  expected {}", short(&failure.expected))?;
            writeln!(f, "  actual   {}", short(&failure.actual))?;
        }
        let more = self.failures.len().saturating_sub(SHOWN_MAX);
        if more > 0 {
            writeln!(f, "FAILED {}: {more} more", self.name)?;
        }
        Ok(())
    }
}

impl fmt::Display for SuiteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, failed) = (self.passed, self.failures.len());
        write!(
            f,
            "{:<33}{passed} passed, {failed} failed, {} skipped{}",
            self.name,
            self.skipped_count(),
            self.reasons(|skip| !skip.is_of_border())
        )?;
        match self.count(Skip::is_of_border) {
            0 => Ok(()),
            count => write!(
                f,
                "; {count} native only{}",
                self.reasons(Skip::is_of_border)
            ),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for suite in &self.suites {
            suite.failures(f)?;
        }
        self.rules(f)?;
        for suite in &self.suites {
            writeln!(f, "{suite}")?;
        }
        let passed: u64 = self.suites.iter().map(|suite| suite.passed).sum();
        writeln!(
            f,
            "{passed} passed, {} failed, {} skipped",
            self.failed(),
            self.skipped()
        )
    }
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(VALUE_CHARS_MAX).collect();
    let more = text.chars().count().saturating_sub(VALUE_CHARS_MAX);
    if more > 0 {
        short.push_str(&format!("... ({more} more characters)"));
    }
    short
}
