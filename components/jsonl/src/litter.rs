//! Temporary files: content that gets its real name when it is whole. A writer that dies leaves its own behind.
//!
//! `<name>.<16 hex digits>.tmp` is made under the session's lease, so whoever takes that from a writer which is gone knows
//! that nobody needs it any more. `<name>.<16 hex digits>.summary.tmp` is made without a lease, so it may be in use: it
//! goes with the next update or with the session, and so do `<name>.summary.lock`, see `summary_lock.rs`, and `<name>.<16 hex digits>.summary.bad`,
//! a summary that was damaged.
//!
//! `<name>.<16 hex digits>.<number>.deleted` is a file that the holder of that lease was deleting, see `delete.rs`; the
//! digits say what was to be deleted.

use std::hash::{BuildHasher, RandomState};

use annals_sdk::Result;

use crate::files::Kind;
use crate::place::Place;
use crate::root::Root;

const SUFFIX: &str = ".tmp";
const SUMMARY_SUFFIX: &str = ".summary.tmp";
const COMING_SUFFIX: &str = ".new";
const DAMAGED_SUFFIX: &str = ".summary.bad";
const LOCK_SUFFIX: &str = ".summary.lock";
const DELETED_SUFFIX: &str = ".deleted";
const HEX_DIGITS: usize = 16;

impl Root {
    /// A file name that nobody else makes, for what is written under the lease.
    pub(crate) fn temporary(&self, place: &Place) -> String {
        unique(place, SUFFIX)
    }

    /// The same for a summary.
    pub(crate) fn summary_temporary(&self, place: &Place) -> String {
        unique(place, SUMMARY_SUFFIX)
    }

    /// Removes what others made for the summary, of which the lock is ours.
    pub(crate) fn sweep_summary(&self, place: &Place) -> Result<()> {
        for (name, kind) in self.names(&place.bucket)? {
            if kind == Kind::File && is_of(&name, &place.name, SUMMARY_SUFFIX) {
                self.remove(&format!("{}/{name}", place.bucket))?;
            }
        }
        Ok(())
    }

    /// Removes what a writer left that lost the session's lease; the lease is ours.
    pub(crate) fn sweep(&self, place: &Place) -> Result<()> {
        for (name, kind) in self.names(&place.bucket)? {
            let relative = format!("{}/{name}", place.bucket);
            // of a delete that did not end goes what it was to delete, and nothing that came since
            let is_deleted = |deleted: Deleted<'_>| {
                deleted.log == place.name && self.is_identity_of(&relative, deleted.identity)
            };
            if kind == Kind::File
                && (is_of(&name, &place.name, SUFFIX)
                    || Deleted::parse(&name).is_some_and(is_deleted))
            {
                self.discard(&relative);
            }
        }
        Ok(())
    }
}

fn unique(place: &Place, suffix: &str) -> String {
    with_digits(place, &digits(), suffix)
}

fn with_digits(place: &Place, digits: &str, suffix: &str) -> String {
    format!("{}/{}.{digits}{suffix}", place.bucket, place.name)
}

/// Where a lease that is to be removed is put first: a temporary file beside it.
pub(crate) fn lease_aside(relative: &str) -> String {
    format!("{relative}.{}{SUFFIX}", digits())
}

/// Sixteen hex digits that nobody else has.
pub(crate) fn digits() -> String {
    format!("{:016x}", RandomState::new().hash_one(0u8))
}

/// The temporary file of the holder of a summary's lock.
pub(crate) fn summary_temporary_of(place: &Place, holder: &str) -> String {
    // what is no holder's has no file
    let digits = if is_middle(holder) { holder } else { "0" };
    with_digits(place, digits, SUMMARY_SUFFIX)
}

/// Where a damaged summary is kept.
pub(crate) fn damaged_summary(place: &Place, digits: &str) -> String {
    with_digits(place, digits, DAMAGED_SUFFIX)
}

/// The lock of a summary.
pub(crate) fn lock(place: &Place) -> String {
    format!("{}/{}{LOCK_SUFFIX}", place.bucket, place.name)
}

/// The log that the lock `name` belongs to.
pub(crate) fn log_of_lock(name: &str) -> Option<&str> {
    name.strip_suffix(LOCK_SUFFIX)
}

/// The log whose damaged summary is kept as `name`.
pub(crate) fn log_of_damaged(name: &str) -> Option<&str> {
    let (log, middle) = name.strip_suffix(DAMAGED_SUFFIX)?.rsplit_once('.')?;
    is_middle(middle).then_some(log)
}

/// Where the holder of lease `number` puts what it deletes before it is gone; the digits say what that is.
pub(crate) fn deleted(place: &Place, identity: &str, number: u64) -> String {
    with_digits(place, identity, &format!(".{number}{DELETED_SUFFIX}"))
}

/// What a delete had in hand, by the name that it gave it.
pub(crate) struct Deleted<'a> {
    /// The log that it belonged to.
    pub(crate) log: &'a str,
    /// What it was when it was to be deleted, see `identity.rs`.
    pub(crate) identity: &'a str,
    /// The number of the lease under which it was being deleted.
    pub(crate) number: u64,
}

impl<'a> Deleted<'a> {
    /// None where file `name` is none.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let (rest, number) = name.strip_suffix(DELETED_SUFFIX)?.rsplit_once('.')?;
        let (log, identity) = rest.rsplit_once('.')?;
        let number = number.parse().ok().filter(|_| is_middle(identity))?;
        Some(Deleted {
            log,
            identity,
            number,
        })
    }
}

/// What a whole log is called before it is renamed, where there are no hard links: see `publish.rs`.
pub(crate) fn coming(place: &Place) -> String {
    unique(place, COMING_SUFFIX)
}

/// Whether file `name` is such a one of the log `of`.
pub(crate) fn is_coming(name: &str, of: &str) -> bool {
    is_of(name, of, COMING_SUFFIX)
}

/// Whether file `name` is a temporary one of the log `of`.
pub(crate) fn is_temporary(name: &str, of: &str) -> bool {
    [SUFFIX, SUMMARY_SUFFIX, COMING_SUFFIX]
        .iter()
        .any(|suffix| is_of(name, of, suffix))
}

/// The name of the log that the temporary file `name` is one of; none where it is none.
pub(crate) fn log_of(name: &str) -> Option<&str> {
    [SUFFIX, SUMMARY_SUFFIX, COMING_SUFFIX]
        .iter()
        .find_map(|suffix| {
            let (log, middle) = name.strip_suffix(suffix)?.rsplit_once('.')?;
            is_middle(middle).then_some(log)
        })
}

fn is_of(name: &str, of: &str, suffix: &str) -> bool {
    name.strip_prefix(of)
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| rest.strip_suffix(suffix))
        .is_some_and(is_middle)
}

fn is_middle(middle: &str) -> bool {
    middle.len() == HEX_DIGITS && middle.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_of_one_session_is_never_one_of_another() {
        let hex = "0123456789abcdef";
        for ids in [
            ["a", "a.b"],
            ["a", "a.summary"],
            ["a", "a.0123456789abcdef"],
        ] {
            let places = ids.map(|name| Place {
                bucket: "b".to_owned(),
                name: name.to_owned(),
            });
            for place in &places {
                for suffix in [SUFFIX, SUMMARY_SUFFIX, COMING_SUFFIX] {
                    let name = unique(place, suffix);
                    let name = name.strip_prefix("b/").unwrap();
                    let owners = ids.iter().filter(|id| is_temporary(name, id));
                    assert_eq!(owners.collect::<Vec<_>>(), [&place.name], "{name}");
                    assert_eq!(log_of(name), Some(place.name.as_str()));
                }
            }
        }
        assert!(is_temporary(&format!("a.{hex}.tmp"), "a"));
        assert!(!is_temporary(&format!("a.{hex}0.tmp"), "a"));
        assert!(!is_temporary("a.jsonl", "a"));
    }
}
