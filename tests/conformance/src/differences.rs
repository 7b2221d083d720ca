//! Where Annals deliberately answers something else than the recorded revisions did.
//!
//! A rule looks at what a case contains, never at its name, and changes what is expected; the case runs all the same.

mod appends;
mod loads;
mod paths;
mod rows;
mod scripts;

use serde_json::Value;

use crate::vector::Case;

pub use loads::header_members;

/// One deliberate difference.
pub struct Rule {
    /// For the report.
    pub name: &'static str,
    /// For people: what Annals does instead, and why.
    pub reason: &'static str,
    /// The new `expect` of a case that the rule is about.
    change: fn(&Case) -> Option<Value>,
}

/// All of them, at most 15.
pub const RULES: &[Rule] = &[
    Rule {
        name: "header-id",
        reason: "a log whose header names another session is refused, not loaded under the name of its file",
        change: loads::header_id,
    },
    Rule {
        name: "checked-when-opened",
        reason: "a log that the session would refuse as a seed is refused before anything is repaired, not repaired first",
        change: loads::checked_when_opened,
    },
    Rule {
        name: "version-first",
        reason: "another format version is refused as such before the rest of the header is looked at",
        change: loads::version_first,
    },
    Rule {
        name: "header-member-named",
        reason: "a bad delegationDepth is refused by its own name, like every other member of a header",
        change: loads::header_member_named,
    },
    Rule {
        name: "no-record",
        reason: "a null, or a line that is no UTF-8, is a bad line like any other: nothing trips over it or replaces its bytes",
        change: loads::no_record,
    },
    Rule {
        name: "header-members-kept",
        reason: "members that a revision does not know stay in the header, they are not dropped",
        change: |case| {
            loads::header_members_kept(case).or_else(|| scripts::header_members_kept(case))
        },
    },
    Rule {
        name: "exact-rows",
        reason: "a run packs only where expanding gives back its bytes, so that an unusual spelling survives storage",
        change: rows::exact_rows,
    },
    Rule {
        name: "bounded-names",
        reason: "a file name over 100 bytes is shortened to a prefix and a hash, so that every id can be stored",
        change: |case| paths::bounded_names(case).or_else(|| scripts::long_names(case)),
    },
    Rule {
        name: "absolute-cwd",
        reason: "a session with a relative cwd is refused, so that none can be stored in the bucket of one",
        change: paths::absolute_cwd,
    },
    Rule {
        name: "one-label",
        reason: "what is wrong has one label at every door: an id that is taken, a number that is no JSON",
        change: scripts::one_label,
    },
    Rule {
        name: "seq-may-be-absent",
        reason: "an event to append may leave its seq out and takes the next one",
        change: scripts::seq_may_be_absent,
    },
    Rule {
        name: "checked-when-appended",
        reason: "what no log may hold is refused when it is appended, not when the log is loaded",
        change: |case| {
            appends::checked_when_appended(case).or_else(|| scripts::checked_when_appended(case))
        },
    },
    Rule {
        name: "newer-closers",
        reason: "closers say whether a call was recorded, in the words of the newer revision",
        change: scripts::newer_closers,
    },
    Rule {
        name: "judged-listing",
        reason: "a session of another format version is listed as such, without a header that cannot be read",
        change: scripts::judged_listing,
    },
];

/// Changes what `case` expects and says which rules did it, as indexes into [`RULES`].
pub fn apply(case: &mut Case) -> Vec<usize> {
    let mut taken = Vec::new();
    for (index, rule) in RULES.iter().enumerate() {
        if let Some(expect) = (rule.change)(case) {
            case.expect = expect;
            taken.push(index);
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stays_small_and_says_why() {
        assert!(RULES.len() <= 15);
        for rule in RULES {
            assert!(rule.reason.len() > 20, "{}", rule.name);
        }
    }
}
