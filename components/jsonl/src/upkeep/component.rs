//! Interface `upkeep` of the component. This file only converts.

use annals_sdk::Hosted;
use annals_sdk::types::Error;

use super::LitterKind;
use crate::Jsonl;
use bindings::exports::annals::session::upkeep as wit;

#[allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "session-upkeep",
        with: { "annals:session/types@0.1.0": annals_sdk::types },
    });
}

struct Component;

impl wit::Guest for Component {
    fn inspect(count_max: u32) -> Result<Vec<wit::Litter>, Error> {
        let found = Jsonl::with(|backend| backend.inspect(count_max))?;
        let converted = found.into_iter().map(|litter| wit::Litter {
            kind: match litter.kind {
                LitterKind::Temporary => wit::LitterKind::Temporary,
                LitterKind::Lease => wit::LitterKind::Lease,
                LitterKind::Orphan => wit::LitterKind::Orphan,
                LitterKind::OrphanedCut => wit::LitterKind::OrphanedCut,
                LitterKind::Duplicate => wit::LitterKind::Duplicate,
                LitterKind::DamagedLease => wit::LitterKind::DamagedLease,
                LitterKind::DamagedSummary => wit::LitterKind::DamagedSummary,
                LitterKind::Kept => wit::LitterKind::Kept,
            },
            place: litter.place,
            id: litter.id,
            holder: litter.holder,
            token: litter.token,
            note: litter.note,
        });
        Ok(converted.collect())
    }

    fn remove(place: String, token: Option<String>) -> Result<(), Error> {
        Jsonl::with(|backend| backend.remove_litter(&place, token.as_deref()))
    }
}

#[allow(unsafe_code)]
const _: () = {
    bindings::export!(Component with_types_in bindings);
};
