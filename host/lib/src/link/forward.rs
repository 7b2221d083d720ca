//! The store component's calls of its backend, passed on to where that runs.

use super::Attached;
use super::dynamic::{Answer, Backend};
use crate::bindings::store::annals::session::persistence::Host;
use crate::bindings::store::annals::session::types::{self, Eviction};
use crate::error::Error;
use crate::records::{BackendInfo, Batch, ErrorCode, Listing, Page, SessionHeader, SessionSummary};

impl Attached {
    /// The backend, where there is one.
    fn backend(&mut self) -> std::result::Result<&mut Backend, types::Error> {
        match self {
            Self::Forwarded(Some(backend)) => Ok(backend),
            Self::Forwarded(None) | Self::Composed => {
                let message = "there is no backend; build with one, or bind one";
                let error = Error::new(ErrorCode::NotConfigured, "not-configured", message, &[]);
                Err(error.into())
            }
        }
    }
}

impl Host for Attached {
    fn configure(&mut self, settings: Vec<(String, String)>) -> Answer<BackendInfo> {
        let backend = self.backend()?;
        let info = persistence!(backend, call_configure(&settings))?;
        backend.remember(settings);
        Ok(info)
    }

    fn acquire(
        &mut self,
        id: Option<String>,
        holder: String,
        evict: Option<Eviction>,
    ) -> Answer<String> {
        persistence!(
            self.backend()?,
            call_acquire(id.as_ref(), &holder, evict.as_ref())
        )
    }

    fn renew(&mut self, id: Option<String>, token: String) -> Answer<()> {
        self.backend()?.renew(id.as_ref(), &token)
    }

    fn release(&mut self, id: Option<String>, token: String) -> Answer<()> {
        persistence!(self.backend()?, call_release(id.as_ref(), &token))
    }

    fn create(&mut self, header: SessionHeader, token: String, first: Batch) -> Answer<()> {
        persistence!(self.backend()?, call_create(&header, &token, &first))
    }

    fn append(&mut self, id: String, token: String, events: Batch) -> Answer<()> {
        persistence!(self.backend()?, call_append(&id, &token, &events))
    }

    fn load(&mut self, id: String, cursor: u64, bytes_max: u32) -> Answer<Page> {
        persistence!(self.backend()?, call_load(&id, cursor, bytes_max))
    }

    fn truncate(&mut self, id: String, token: String, keep_events: u64) -> Answer<()> {
        persistence!(self.backend()?, call_truncate(&id, &token, keep_events))
    }

    fn list(&mut self, cursor: Option<String>, count_max: u32) -> Answer<Listing> {
        persistence!(self.backend()?, call_list(cursor.as_deref(), count_max))
    }

    fn has(&mut self, id: String) -> Answer<bool> {
        persistence!(self.backend()?, call_has(&id))
    }

    fn load_cut(&mut self, id: String, cursor: u64, bytes_max: u32) -> Answer<Page> {
        persistence!(self.backend()?, call_load_cut(&id, cursor, bytes_max))
    }

    fn delete(&mut self, id: String, token: String) -> Answer<()> {
        persistence!(self.backend()?, call_delete(&id, &token))
    }

    fn update(&mut self, id: String, summary: SessionSummary) -> Answer<()> {
        persistence!(self.backend()?, call_update(&id, &summary))
    }
}
