//! What a salvage found and did.

use crate::fault::Reason;

/// How many findings are kept; the others are counted.
pub const FINDINGS_MAX: usize = 100;

/// What a salvage found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Events that stand in their place, packed ones included.
    pub in_place: u64,
    /// Lines that were set aside.
    pub set_aside: u64,
    /// Gap events.
    pub gaps: u64,
    /// Lines that were there already, and are not there twice.
    pub repeated: u64,
    /// Bytes that nothing could be read from.
    pub unreadable_bytes: u64,
    /// Where the header is from.
    pub header: HeaderOrigin,
    /// What is wrong, in the order of the log and then of what was cut from it: the first [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// How many findings there are.
    pub finding_count: u64,
}

/// Where the header of the result is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeaderOrigin {
    /// It is the log's own.
    #[default]
    Kept,
    /// It was made of what is left of the log's, and of the id that was given.
    Rebuilt,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, counted from 1; in bytes that were cut, from the first of these.
    pub line: u64,
    /// Where it begins, in bytes from the start of the log.
    pub byte: u64,
    /// How many bytes cannot be read there; 0 where everything can.
    pub length: u64,
    /// The broken rule.
    pub reason: Reason,
    /// For people.
    pub message: String,
    /// How many events are missing there.
    pub missing: u64,
    /// Whether it is in bytes that were cut from the log.
    pub is_in_cut: bool,
}

impl Report {
    /// The position of the finding, to be told later how many events are missing there; none when it is only counted.
    pub(super) fn add(&mut self, finding: Finding) -> Option<usize> {
        self.finding_count += 1;
        if self.findings.len() >= FINDINGS_MAX {
            return None;
        }
        self.findings.push(finding);
        Some(self.findings.len() - 1)
    }

    pub(super) fn miss(&mut self, position: Option<usize>, missing: u64) {
        if let Some(finding) = position.and_then(|position| self.findings.get_mut(position)) {
            finding.missing = missing;
        }
    }
}
