//! A listing that is asked for piece by piece.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::records::{ErrorCode, Listing, SessionEntry};

/// A listing of more entries, or of more text, is refused where all of it is asked for: it may have no end.
const SESSIONS_MAX: usize = 1_000_000;
const TEXT_BYTES_MAX: usize = 1 << 30;

/// All entries, of a `list` that takes the cursor to go on from. `backend` names whose listing it is.
///
/// # Errors
/// What `list` answers. `other`, reason `backend-listing`: a cursor came for the second time. `limit`: there are too many
/// entries, and maybe no end of them.
pub(crate) fn whole(
    backend: &str,
    list: impl FnMut(Option<&str>) -> Result<Listing>,
) -> Result<Vec<SessionEntry>> {
    whole_within(SESSIONS_MAX, TEXT_BYTES_MAX, backend, list)
}

fn whole_within(
    sessions_max: usize,
    text_bytes_max: usize,
    backend: &str,
    mut list: impl FnMut(Option<&str>) -> Result<Listing>,
) -> Result<Vec<SessionEntry>> {
    let mut sessions = Vec::new();
    let mut cursors = HashSet::new();
    let mut text_bytes = 0;
    let mut listing = list(None)?;
    loop {
        text_bytes += listing.sessions.iter().map(text_of).sum::<usize>();
        sessions.append(&mut listing.sessions);
        if sessions.len() > sessions_max {
            return Err(too_long(backend, "listing-sessions-max", sessions_max));
        }
        if text_bytes > text_bytes_max {
            return Err(too_long(backend, "listing-text-bytes-max", text_bytes_max));
        }
        let Some(next) = listing.next else {
            return Ok(sessions);
        };
        listing = list(Some(&next))?;
        if !cursors.insert(next) {
            return Err(goes_round(backend));
        }
    }
}

/// How much text an entry holds.
fn text_of(entry: &SessionEntry) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let of_header = entry.header.as_ref().map_or(0, |header| {
        header.id.len()
            + length(&header.cwd)
            + length(&header.parent_session)
            + length(&header.extra)
    });
    let of_summary = length(&entry.summary.title) + length(&entry.summary.first_prompt);
    entry.id.len() + of_header + of_summary + length(&entry.note)
}

fn too_long(backend: &str, limit: &str, max: usize) -> Error {
    let message = format!(
        "the listing of backend {backend:?} goes on behind what is held at once ({limit} is {max}); list it piece by piece"
    );
    let facts = [("backend", backend), ("limit", limit)];
    Error::new(ErrorCode::Limit, "limit-reached", message, &facts).fact("max", max)
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

    // New cursors without end filled the memory.
    #[test]
    fn a_listing_has_a_limit() {
        // entries on a page, bytes of text in each, pages
        let of = |of_page: usize, bytes: usize, pages: usize| {
            let mut asked = 0;
            let entry = entry(&"i".repeat(bytes));
            whole_within(20, 100, "odd", |_| {
                asked += 1;
                Ok(Listing {
                    sessions: vec![entry.clone(); of_page],
                    next: (asked < pages).then(|| asked.to_string()),
                })
            })
        };
        assert_eq!(of(10, 1, 2).unwrap().len(), 20);
        assert_eq!(of(10, 5, 2).unwrap().len(), 20);
        for (of_page, bytes, limit) in [
            (7, 1, "listing-sessions-max"),
            (1, 11, "listing-text-bytes-max"),
        ] {
            let error = of(of_page, bytes, usize::MAX).unwrap_err();
            assert_eq!(error.code, ErrorCode::Limit);
            assert!(error.message.contains("\"odd\""), "{}", error.message);
            assert!(error.detail.contains(limit), "{}", error.detail);
        }
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
