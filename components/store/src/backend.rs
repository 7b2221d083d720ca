//! The border to the backend: every call goes through here, and whatever comes back is checked before it is used.

use std::collections::BTreeMap;

use annals_core::fault::quoted;
use annals_core::header::Header;
use annals_sdk::types::{
    BackendInfo, Batch, Error, ErrorCode, Eviction, Listing, Page, SessionEntry, SessionHeader,
    SessionStatus, SessionSummary,
};
use annals_sdk::{Persistence, Result};

use crate::lease::Root;

/// Name and value of each setting.
pub(crate) type Settings = Vec<(String, String)>;

/// Whether configuring again still means the same medium.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    Same,
    Other,
}

/// Why a listed session is not what its entry says; its header is nobody's to use then.
fn fault_of(entry: &SessionEntry) -> Option<String> {
    if entry.id.is_empty() {
        return Some("it is listed without an id".to_owned());
    }
    let header = Header::from(entry.header.clone()?);
    if header.id != entry.id {
        let found = quoted(&header.id);
        return Some(format!("its header is that of session {found}"));
    }
    header.check().err().map(|fault| fault.message)
}

/// The backend, or that there is none.
pub(crate) struct Backend<P> {
    persistence: P,
    info: Option<BackendInfo>,
    settings: Option<Settings>,
    pub(crate) holder: String,
    /// The lease of the whole root, where the backend knows only that one.
    pub(crate) root: Option<Root>,
    /// What the host found out about holders, by session, for the next acquire.
    pub(crate) evictions: BTreeMap<String, Eviction>,
    /// What was stored of sessions when they were first to be deleted, as the backend says it, until they are.
    pub(crate) to_delete: BTreeMap<String, String>,
}

impl<P: Persistence> Backend<P> {
    pub(crate) fn new(persistence: P) -> Self {
        Backend {
            persistence,
            info: None,
            settings: None,
            holder: "{}".to_owned(),
            root: None,
            evictions: BTreeMap::new(),
            to_delete: BTreeMap::new(),
        }
    }

    pub(crate) fn configure(
        &mut self,
        holder: &str,
        settings: Option<Settings>,
    ) -> Result<(Option<BackendInfo>, Medium)> {
        let info = match &settings {
            Some(settings) => Some(self.persistence.configure(settings)?),
            None => None,
        };
        let name = |info: &Option<BackendInfo>| info.as_ref().map(|info| info.name.clone());
        let same = settings == self.settings && name(&info) == name(&self.info);
        self.holder = holder.to_owned();
        self.settings = settings;
        self.info = info.clone();
        if same {
            return Ok((info, Medium::Same));
        }
        self.root = None;
        self.evictions.clear();
        self.to_delete.clear();
        Ok((info, Medium::Other))
    }

    /// Whether these are the settings that the backend has.
    pub(crate) fn has_settings(&self, settings: Option<&Settings>) -> bool {
        self.settings.as_ref() == settings
    }

    /// What the backend promised, if there is one.
    pub(crate) fn info(&self) -> Option<&BackendInfo> {
        self.info.as_ref()
    }

    /// The backend itself, or `not-configured`.
    pub(crate) fn configured(&mut self) -> Result<&mut P> {
        if self.info.is_none() {
            let message = "the store has no backend; configure it with one";
            return Err(Error::new(
                ErrorCode::NotConfigured,
                "not-configured",
                message,
            ));
        }
        Ok(&mut self.persistence)
    }

    pub(crate) fn create(
        &mut self,
        header: &SessionHeader,
        token: &str,
        first: &Batch,
    ) -> Result<()> {
        self.configured()?.create(header, token, first)
    }

    pub(crate) fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        self.configured()?.append(id, token, events)
    }

    pub(crate) fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        self.configured()?.truncate(id, token, keep_events)
    }

    pub(crate) fn has(&mut self, id: &str) -> Result<bool> {
        self.configured()?.has(id)
    }

    pub(crate) fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        self.configured()?.delete(id, token)
    }

    pub(crate) fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        self.configured()?.update(id, summary)
    }

    pub(crate) fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let page = self.configured()?.load(id, cursor, bytes_max)?;
        self.check_page(id, cursor, &page)?;
        if page.header.is_some() && cursor != 0 {
            return Err(self.misbehaves(
                id,
                "backend-page-header",
                "gave a header in the middle of a log",
            ));
        }
        if page.header.is_none() && cursor == 0 && !page.lines.is_empty() {
            return Err(self.misbehaves(id, "backend-page-header", "gave lines without a header"));
        }
        Ok(page)
    }

    pub(crate) fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        let page = self.configured()?.load_cut(id, cursor, bytes_max)?;
        self.check_page(id, cursor, &page)?;
        Ok(page)
    }

    pub(crate) fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        let mut listing = self.configured()?.list(cursor, count_max)?;
        if listing.sessions.len() as u64 > u64::from(count_max.max(1)) {
            return Err(self.misbehaves(
                "",
                "backend-listing",
                "listed more sessions than were asked for",
            ));
        }
        let stands_still = listing.sessions.is_empty() || listing.next.as_deref() == cursor;
        if listing.next.is_some() && stands_still {
            return Err(self.misbehaves(
                "",
                "backend-listing",
                "gave a listing cursor that does not advance",
            ));
        }
        for entry in &mut listing.sessions {
            if let Some(fault) = fault_of(entry) {
                entry.header = None;
                // of another version its backend knows more than its header says here
                if entry.status != SessionStatus::Unsupported {
                    entry.status = SessionStatus::Damaged;
                    let notes = entry.note.take().into_iter().chain([fault]);
                    entry.note = Some(notes.collect::<Vec<_>>().join("; "));
                }
            }
        }
        Ok(listing)
    }

    /// Whole lines, or other bytes alone, and a cursor that leads on.
    fn check_page(&self, id: &str, cursor: u64, page: &Page) -> Result<()> {
        let has_raw = page.raw.as_ref().is_some_and(|raw| !raw.is_empty());
        if !page.lines.is_empty() && !page.lines.ends_with('\n') {
            return Err(self.misbehaves(id, "backend-page-lines", "gave a line that is not whole"));
        }
        if has_raw && !page.lines.is_empty() {
            return Err(self.misbehaves(
                id,
                "backend-page-lines",
                "gave lines and other bytes in one page",
            ));
        }
        let Some(next) = page.next else { return Ok(()) };
        let is_empty = page.lines.is_empty() && !has_raw && page.header.is_none();
        if next <= cursor || is_empty {
            return Err(self.misbehaves(
                id,
                "backend-page-cursor",
                "gave a cursor that does not advance",
            ));
        }
        Ok(())
    }

    /// The backend broke its contract; `what` says how. An empty `id` is the whole root.
    pub(crate) fn misbehaves(&self, id: &str, reason: &str, what: &str) -> Error {
        let name = self.info.as_ref().map_or("", |info| info.name.as_str());
        let of = if id.is_empty() {
            String::new()
        } else {
            format!(" for session {}", quoted(id))
        };
        let name_shown = quoted(name);
        let message = format!("backend {name_shown} {what}{of}; use another version of it");
        Error::new(ErrorCode::Other, reason, message)
            .fact("backend", name)
            .fact("id", id)
    }
}
