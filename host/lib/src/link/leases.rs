//! Leases that the store holds, as its calls show them. It renews them between its own calls; this does while one of them
//! goes on that takes many of the backend, such as reading a long log page by page.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::dynamic::Backend;
use crate::records::ErrorCode;

/// How long ago the last renewal was when another one is due.
const INTERVAL: Duration = Duration::from_secs(1);

/// The same where renewing takes long: the operation gets half of the time, as far as leases allow.
const INTERVAL_MAX: Duration = Duration::from_secs(4);

/// Tokens by session; without an id that of the root.
#[derive(Default)]
pub(super) struct Leases {
    tokens: BTreeMap<Option<String>, String>,
    renewed: Option<Instant>,
    /// How long the last renewals of all of them took.
    took: Duration,
}

impl Leases {
    /// The store has taken one.
    pub(super) fn taken(&mut self, id: Option<String>, token: String) {
        if self.tokens.is_empty() {
            self.renewed();
        }
        self.tokens.insert(id, token);
    }

    /// The store has given it back, or it is lost.
    pub(super) fn gone(&mut self, id: &Option<String>, token: &str) {
        if self.tokens.get(id).is_some_and(|held| held == token) {
            self.tokens.remove(id);
        }
    }

    /// The store renews them itself.
    pub(super) fn renewed(&mut self) {
        self.renewed = Some(Instant::now());
    }

    /// Those that are to be renewed now.
    fn due(&mut self) -> Vec<(Option<String>, String)> {
        let interval = self.took.clamp(INTERVAL, INTERVAL_MAX);
        if self.renewed.is_some_and(|at| at.elapsed() < interval) {
            return Vec::new();
        }
        self.renewed();
        let tokens = self.tokens.iter();
        let tokens = tokens.map(|(id, token)| (id.clone(), token.clone()));
        tokens.collect()
    }
}

impl Backend {
    /// Renews leases, if it is time for that.
    pub(super) fn renew_due(&mut self) {
        if self.has_given_up() {
            // somebody waits for the operation; between operations it is asked again
            return;
        }
        let due = self.leases.due();
        if due.is_empty() {
            return;
        }
        let began = Instant::now();
        for (id, token) in due {
            match self.renew(id.as_ref(), &token) {
                Ok(()) => {}
                // The store learns that when it uses the lease.
                Err(error) if error.code == ErrorCode::Busy => self.leases.gone(&id, &token),
                // One that does not answer is not asked for every other session.
                Err(_) => break,
            }
        }
        self.leases.renewed();
        self.leases.took = began.elapsed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_due_once_an_interval() {
        let mut leases = Leases::default();
        assert!(leases.due().is_empty());
        let a = Some("a".to_owned());
        leases.taken(a.clone(), "1".to_owned());
        leases.taken(None, "2".to_owned());
        assert!(leases.due().is_empty());
        leases.renewed = None;
        assert_eq!(leases.due().len(), 2);
        assert!(leases.due().is_empty());
        // of another token nothing is known
        leases.gone(&a, "0");
        leases.gone(&None, "2");
        leases.renewed = None;
        assert_eq!(leases.due(), [(a, "1".to_owned())]);
    }
}
