//! A backend by itself, for its interface `upkeep`.

use super::dynamic::{Answer, Backend};
use super::{Chosen, explained};
use crate::bindings::timed::upkeep::exports::annals::session::upkeep as timed;
use crate::error::Result;
use crate::records::{Litter, LitterKind};

/// A configured backend without a store. It holds no lease, and others may use the same medium.
pub(crate) struct Tended {
    backend: Backend,
}

impl Tended {
    pub(crate) fn new(chosen: Chosen) -> Result<Self> {
        let (backend, _) = Backend::tried(chosen)?;
        Ok(Self { backend })
    }

    /// Nothing where the backend does not have the interface.
    pub(crate) fn inspect(&mut self, count_max: u32) -> Result<Vec<Litter>> {
        self.backend.begin();
        let found = upkeep!(self.backend, call_inspect(count_max), converted);
        Ok(self.explained(found)?.unwrap_or_default())
    }

    pub(crate) fn remove(&mut self, place: &str, token: Option<&str>) -> Result<()> {
        self.backend.begin();
        let removed = upkeep!(
            self.backend,
            call_remove(place, token),
            std::convert::identity
        );
        self.explained(removed).map(Option::unwrap_or_default)
    }

    fn explained<R>(&self, answer: Answer<R>) -> Result<R> {
        let root = self.backend.root();
        answer.map_err(|error| explained(error, root.as_deref()))
    }
}

/// What a backend under a deadline answers has types of its own.
fn converted(found: Vec<timed::Litter>) -> Vec<Litter> {
    let one = |found: timed::Litter| Litter {
        kind: match found.kind {
            timed::LitterKind::Temporary => LitterKind::Temporary,
            timed::LitterKind::Lease => LitterKind::Lease,
            timed::LitterKind::Orphan => LitterKind::Orphan,
            timed::LitterKind::OrphanedCut => LitterKind::OrphanedCut,
            timed::LitterKind::Duplicate => LitterKind::Duplicate,
            timed::LitterKind::DamagedLease => LitterKind::DamagedLease,
            timed::LitterKind::DamagedSummary => LitterKind::DamagedSummary,
            timed::LitterKind::Kept => LitterKind::Kept,
        },
        place: found.place,
        id: found.id,
        holder: found.holder,
        token: found.token,
        note: found.note,
    };
    found.into_iter().map(one).collect()
}
