//! What the checks found, as a table.

use std::fmt;

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The backend does what the check proves.
    Passed,
    /// It does not; what was found instead.
    Failed(String),
    /// The backend does not promise it, or the medium does not allow to try it; why.
    NotApplicable(String),
}

impl Outcome {
    /// For a table: `passed`, `failed` or `not applicable`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::NotApplicable(_) => "not applicable",
        }
    }

    /// Why it did not pass; "" where it did.
    #[must_use]
    pub fn detail(&self) -> &str {
        match self {
            Self::Passed => "",
            Self::Failed(why) | Self::NotApplicable(why) => why,
        }
    }
}

/// One check and its outcome; shown as one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Names the check.
    pub name: &'static str,
    /// What a backend that passes it does.
    pub proves: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = match &self.outcome {
            Outcome::Passed => self.proves.to_owned(),
            Outcome::Failed(why) => format!("{}: {why}", self.proves),
            Outcome::NotApplicable(why) => why.clone(),
        };
        let label = self.outcome.label();
        write!(out, "{:<24} {label:<15} {detail}", self.name)
    }
}

/// Every check that ran, in order; shown as a table that ends in the counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// One row a check.
    pub rows: Vec<Row>,
}

impl Report {
    /// Whether nothing failed.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The rows that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Row> {
        let is_failed = |row: &&Row| matches!(row.outcome, Outcome::Failed(_));
        self.rows.iter().filter(is_failed)
    }

    /// The last line: how many passed, failed and were not applicable.
    #[must_use]
    pub fn counts(&self) -> String {
        let count = |label: &str| {
            let rows = self.rows.iter();
            rows.filter(|row| row.outcome.label() == label).count()
        };
        format!(
            "{} passed, {} failed, {} not applicable",
            count("passed"),
            count("failed"),
            count("not applicable")
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            writeln!(out, "{row}")?;
        }
        write!(out, "{}", self.counts())
    }
}
