//! What happened, counted by many threads.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::locked;

/// One number.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Everything that is counted while processes run.
#[derive(Debug, Default)]
pub struct Counts {
    pub started: Count,
    /// By SIGKILL, while it ran.
    pub killed: Count,
    /// By SIGTERM, while it ran.
    pub terminated: Count,
    /// Of those killed, by a SIGTERM that nobody handled.
    pub unhandled: Count,
    /// By SIGSTOP, and continued later.
    pub stopped: Count,
    /// Of these, for longer than the lease lives without a sign of life.
    pub overtaken: Count,
    /// How often the disk was filled.
    pub filled: Count,
    pub no_space: Count,
    pub busy: Count,
    pub lease_lost: Count,
    pub acknowledged: Count,
    /// Events given to a command once more.
    pub retried: Count,
    pub made: Count,
    /// Bad ends that were cut off by opening.
    pub torn: Count,
    /// What else was refused, by its words without numbers.
    others: Mutex<BTreeMap<String, u64>>,
    /// Endings that no command may have.
    unexpected: Mutex<Vec<String>>,
}

impl Counts {
    /// Counts a refusal that has no row of its own.
    pub fn refused(&self, words: &str) {
        let words = words.lines().last().unwrap_or_default();
        let mut key = String::new();
        let mut is_quoted = false;
        for letter in words.chars() {
            match letter {
                '"' => is_quoted = !is_quoted,
                _ if is_quoted => {}
                '0'..='9' => {
                    if !key.ends_with('#') {
                        key.push('#');
                    }
                }
                _ => key.push(letter),
            }
        }
        *locked(&self.others).entry(key).or_default() += 1;
    }

    /// The refusals without a row, by their words.
    #[must_use]
    pub fn others(&self) -> BTreeMap<String, u64> {
        locked(&self.others).clone()
    }

    /// Notes what no command may do.
    pub fn note_unexpected(&self, what: String) {
        locked(&self.unexpected).push(what);
    }

    /// All of that.
    #[must_use]
    pub fn unexpected(&self) -> Vec<String> {
        locked(&self.unexpected).clone()
    }
}
