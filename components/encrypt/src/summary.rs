//! Title and first prompt in the summary: sealed texts in the place of texts.

use annals_sdk::Result;
use annals_sdk::types::{SessionEntry, SessionStatus, SessionSummary};

use crate::cipher::Bound;
use crate::{Ready, header};

/// How a sealed text of a summary begins.
const BEGIN: &str = "annals/sealed:";

const TITLE: &str = "title";
const FIRST_PROMPT: &str = "firstPrompt";

/// The summary as it is stored; what is to be left alone or cleared stays so.
pub(crate) fn sealed(ready: &Ready, id: &str, summary: &SessionSummary) -> Result<SessionSummary> {
    let seal = |member, text: &Option<String>| -> Result<Option<String>> {
        match text.as_deref() {
            None | Some("") => Ok(text.clone()),
            Some(text) => {
                let data = ready.cipher.seal(Bound::Summary { id, member }, text)?;
                Ok(Some(format!("{BEGIN}{data}")))
            }
        }
    };
    Ok(SessionSummary {
        title: seal(TITLE, &summary.title)?,
        first_prompt: seal(FIRST_PROMPT, &summary.first_prompt)?,
    })
}

/// One line of a listing, as far as it opens; the note says what does not.
pub(crate) fn open_entry(ready: &Ready, entry: &mut SessionEntry) {
    if let Some(stored) = entry.header.take() {
        let (shown, _) = header::unmarked(stored.clone());
        let is_own = shown.id == entry.id;
        entry.header = Some(shown);
        if let Err(error) = header::opened(ready, stored) {
            note(entry, what_of(&error.reason).to_owned());
        } else if !is_own {
            note(entry, "its header is that of another session".to_owned());
        }
    }
    let summary = &mut entry.summary;
    let mut unopened = Vec::new();
    for (member, text) in [
        (TITLE, &mut summary.title),
        (FIRST_PROMPT, &mut summary.first_prompt),
    ] {
        let Some(stored) = text.take() else { continue };
        let id = entry.id.as_str();
        let data = stored.strip_prefix(BEGIN);
        *text = data.and_then(|data| ready.cipher.open(Bound::Summary { id, member }, data));
        if text.is_none() {
            unopened.push(member);
        }
    }
    if !unopened.is_empty() {
        note(
            entry,
            format!("its {} cannot be opened", unopened.join(" and ")),
        );
    }
}

fn what_of(reason: &str) -> &'static str {
    match reason {
        "log-not-sealed" => "the session is not sealed",
        _ => "the session was sealed with another key, or its header was altered",
    }
}

fn note(entry: &mut SessionEntry, what: String) {
    if entry.status == SessionStatus::Ok {
        entry.status = SessionStatus::Damaged;
    }
    entry.note = Some(match entry.note.take() {
        Some(note) => format!("{note}; {what}"),
        None => what,
    });
}
