//! A listing that is asked for piece by piece.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::records::{ErrorCode, Listing, SessionEntry};

/// All entries, of a `list` that takes the cursor to go on from. `backend` names whose listing it is.
///
/// # Errors
/// What `list` answers. `other`, reason `backend-listing`: a cursor came for the second time.
pub(crate) fn whole(
    backend: &str,
    mut list: impl FnMut(Option<&str>) -> Result<Listing>,
) -> Result<Vec<SessionEntry>> {
    let mut sessions = Vec::new();
    let mut cursors = HashSet::new();
    let mut listing = list(None)?;
    loop {
        sessions.append(&mut listing.sessions);
        let Some(next) = listing.next else {
            return Ok(sessions);
        };
        listing = list(Some(&next))?;
        if !cursors.insert(next) {
            return Err(goes_round(backend));
        }
    }
}

fn goes_round(backend: &str) -> Error {
    let message = format!(
        "backend {backend:?} gave a listing cursor for the second time, so its listing has no end; use another version of it"
    );
    let facts = [("backend", backend)];
    Error::new(ErrorCode::Other, "backend-listing", message, &facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{SessionStatus, SessionSummary};

    fn entry(id: &str) -> SessionEntry {
        SessionEntry {
            id: id.to_owned(),
            header: None,
            summary: SessionSummary::default(),
            updated_at_ms: None,
            status: SessionStatus::Ok,
            note: None,
        }
    }

    /// A backend whose page of that cursor goes on with the next letter, and after `last` with `then`.
    fn listed(last: &'static str, then: Option<&'static str>) -> Result<Vec<SessionEntry>> {
        whole("odd", |cursor| {
            let at = cursor.unwrap_or("a");
            let next = if at == last {
                then
            } else {
                ["b", "c", "d"].into_iter().find(|next| *next > at)
            };
            Ok(Listing {
                sessions: vec![entry(at)],
                next: next.map(str::to_owned),
            })
        })
    }

    // A listing whose cursors lead back was read for ever.
    #[test]
    fn a_listing_ends_or_is_refused() {
        assert_eq!(listed("c", None).unwrap().len(), 3);
        for back in ["b", "c"] {
            let error = listed("c", Some(back)).unwrap_err();
            assert_eq!(error.reason, "backend-listing");
            assert!(error.message.contains("\"odd\""), "{}", error.message);
        }
    }
}
