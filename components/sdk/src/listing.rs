//! A bounded piece of a listing, from names in order.

use crate::Result;
use crate::types::{Error, Listing, SessionEntry};

/// What a cursor begins with, so that one that no listing gave is told from one that did.
const AFTER: &str = "after:";

/// At most `count_max` entries (0 means 1) of those whose names follow the cursor. `names` are in ascending order,
/// bytewise, none is empty; `entry` makes an entry of a name, or none where that went away meanwhile.
///
/// # Errors
/// `invalid`: a cursor that no listing gave.
pub fn piece<N: AsRef<str>>(
    names: impl IntoIterator<Item = N>,
    cursor: Option<&str>,
    count_max: u32,
    mut entry: impl FnMut(&str) -> Option<SessionEntry>,
) -> Result<Listing> {
    let after = match cursor {
        Some(cursor) => cursor
            .strip_prefix(AFTER)
            .ok_or_else(|| Error::bad_cursor(""))?,
        None => "",
    };
    let mut sessions = Vec::new();
    let mut last = None;
    for name in names {
        let name = name.as_ref();
        if name <= after {
            continue;
        }
        if sessions.len() as u64 == u64::from(count_max.max(1)) {
            return Ok(Listing {
                sessions,
                next: last,
            });
        }
        if let Some(entry) = entry(name) {
            sessions.push(entry);
            last = Some(format!("{AFTER}{name}"));
        }
    }
    Ok(Listing {
        sessions,
        next: None,
    })
}
