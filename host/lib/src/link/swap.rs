//! Another backend takes over while sessions are live.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{Attached, Backend, Linked, Settings};
use crate::bindings::store::exports::annals::session::store::Bound as Answered;
use crate::error::{Error, Result};
use crate::records::{Binding, Bound, ErrorCode};

/// In what state the present backend is left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// It has everything.
    Flushed,
    /// It lacks what it lacks.
    AsItIs,
}

impl Linked {
    /// Refuses where the present backend is one component with the store.
    pub(crate) fn check_replaceable(&self) -> Result<()> {
        if matches!(self.store.data().backend, Attached::Composed) {
            let message = "the backend is linked statically, so it cannot be replaced; build with Link::Dynamic";
            let reason = "backend-linked-statically";
            return Err(Error::new(ErrorCode::Invalid, reason, message, &[]));
        }
        Ok(())
    }

    /// Flushes, puts `chosen` (with its settings, which it was tried with) in the place of the present backend, and
    /// binds every live session to it. Until it is configured an error leaves everything as it was, or says what not.
    pub(crate) fn swap(
        &mut self,
        chosen: Option<(Backend, Settings)>,
        leaving: Leaving,
    ) -> Result<Vec<Bound>> {
        self.check_replaceable()?;
        if leaving == Leaving::Flushed {
            self.flush_all()?;
        }
        let former = self.bound.settings.take();
        // Gives every lease back, as far as the present backend still answers.
        self.configure(None)?;
        let (backend, settings) = match chosen {
            Some((backend, settings)) => (Some(backend), Some(settings)),
            None => (None, None),
        };
        let present = self.attach(backend);
        if let Err(error) = self.configure(settings) {
            self.attach(present);
            return Err(self.taken_back(former, error));
        }
        if self.bound.settings.is_none() {
            return Ok(Vec::new());
        }
        self.adopt()
    }

    /// Flushes every live session; the first error, after all were tried.
    pub(crate) fn flush_all(&mut self) -> Result<()> {
        if self.bound.settings.is_none() {
            return Ok(());
        }
        let mut flushed = Ok(());
        for key in self.open_keys() {
            let of_this = self.ask_storing(key, |session, data, handle| {
                session.call_flush(data, handle)
            });
            flushed = flushed.and(of_this);
        }
        flushed
    }

    /// Puts a backend in the place of the present one.
    fn attach(&mut self, backend: Option<Backend>) -> Option<Backend> {
        self.bound.root = backend.as_ref().and_then(Backend::root);
        let data = self.store.data_mut();
        let present = std::mem::replace(
            &mut data.backend,
            Attached::Forwarded(backend.map(Box::new)),
        );
        match present {
            Attached::Forwarded(present) => present.map(|present| *present),
            Attached::Composed => None,
        }
    }

    /// The former backend goes on; what the attempt to replace it failed with.
    fn taken_back(&mut self, former: Option<Settings>, error: Error) -> Error {
        let is_bound = former.is_some();
        let back = match self.configure(former) {
            Ok(()) if is_bound => self.adopt(),
            configured => configured.map(|()| Vec::new()),
        };
        let lost = match back {
            Ok(bound) => return with_refused(error, &bound),
            Err(lost) => lost,
        };
        let message = format!(
            "{}; the former backend is lost too: {}",
            error.message, lost.message
        );
        Error::new(ErrorCode::Unavailable, "backend-lost", message, &[])
    }

    /// Binds every live session to what is stored; leases in the way are judged.
    fn adopt(&mut self) -> Result<Vec<Bound>> {
        let asked = Instant::now();
        let mut bound = self.ask(|store, data| store.call_adopt(data))?;
        if self.evict_due(&bound, asked)? {
            let mut again: BTreeMap<String, Answered> = BTreeMap::new();
            for answered in self.ask(|store, data| store.call_adopt(data))? {
                again.insert(answered.id.clone(), answered);
            }
            // The second run binds every session anew, also those that the first one had bound.
            for first in &mut bound {
                if let Some(second) = again.remove(&first.id)
                    && (first.error.is_some() || second.error.is_some())
                {
                    *first = second;
                }
            }
        }
        self.note_bound(&bound);
        let root = self.bound.root.clone();
        let told = bound.into_iter().map(|answered| Bound {
            id: answered.id,
            binding: answered.binding,
            error: answered
                .error
                .map(|error| super::explained(error, root.as_deref())),
        });
        Ok(told.collect())
    }

    /// Whether some lease in the way may be taken: its holder is gone, or was silent for too long.
    fn evict_due(&mut self, bound: &[Answered], asked: Instant) -> Result<bool> {
        let mut is_one_due = false;
        for answered in bound {
            if let Some(error) = &answered.error {
                is_one_due |= self.evict_if_due(&answered.id, &error.clone().into(), asked)?;
            }
        }
        Ok(is_one_due)
    }

    /// A session that could not be bound is one that could not be stored, and its caller knows.
    fn note_bound(&mut self, bound: &[Answered]) {
        for answered in bound {
            let of_id = |live: &&mut super::Live| !live.is_closed && live.id == answered.id;
            if let Some(live) = self.sessions.values_mut().find(of_id) {
                live.has_failed = answered.binding == Binding::Refused;
            }
        }
    }
}

/// The error, with the sessions that the former backend did not take back: they live on in memory.
fn with_refused(error: Error, bound: &[Bound]) -> Error {
    let refused = bound.iter().filter(|bound| bound.error.is_some());
    let ids: Vec<&str> = refused.map(|bound| bound.id.as_str()).collect();
    if ids.is_empty() {
        return error;
    }
    let message = format!(
        "{}; the former backend did not take back {}: flush to try again",
        error.message,
        ids.join(", ")
    );
    Error { message, ..error }.fact("refused", ids)
}
