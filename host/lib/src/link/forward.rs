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

    /// The backend, once leases were renewed if that is due.
    fn attended(&mut self) -> std::result::Result<&mut Backend, types::Error> {
        let backend = self.backend()?;
        backend.renew_due();
        Ok(backend)
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
        let backend = self.attended()?;
        let token = persistence!(backend, call_acquire(id.as_ref(), &holder, evict.as_ref()))?;
        backend.leases.taken(id, token.clone());
        Ok(token)
    }

    fn renew(&mut self, id: Option<String>, token: String) -> Answer<()> {
        let backend = self.backend()?;
        backend.leases.renewed();
        persistence!(backend, call_renew(id.as_ref(), &token))
    }

    fn release(&mut self, id: Option<String>, token: String) -> Answer<()> {
        let backend = self.backend()?;
        backend.leases.gone(&id, &token);
        persistence!(backend, call_release(id.as_ref(), &token))
    }

    fn create(&mut self, header: SessionHeader, token: String, first: Batch) -> Answer<()> {
        persistence!(self.attended()?, call_create(&header, &token, &first))
    }

    fn append(&mut self, id: String, token: String, events: Batch) -> Answer<()> {
        persistence!(self.attended()?, call_append(&id, &token, &events))
    }

    fn load(&mut self, id: String, cursor: u64, bytes_max: u32) -> Answer<Page> {
        persistence!(self.attended()?, call_load(&id, cursor, bytes_max))
    }

    fn truncate(&mut self, id: String, token: String, keep_events: u64) -> Answer<()> {
        persistence!(self.attended()?, call_truncate(&id, &token, keep_events))
    }

    fn list(&mut self, cursor: Option<String>, count_max: u32) -> Answer<Listing> {
        persistence!(self.attended()?, call_list(cursor.as_deref(), count_max))
    }

    fn has(&mut self, id: String) -> Answer<bool> {
        persistence!(self.attended()?, call_has(&id))
    }

    fn load_cut(&mut self, id: String, cursor: u64, bytes_max: u32) -> Answer<Page> {
        persistence!(self.attended()?, call_load_cut(&id, cursor, bytes_max))
    }

    fn delete(&mut self, id: String, token: String) -> Answer<()> {
        persistence!(self.attended()?, call_delete(&id, &token))
    }

    fn update(&mut self, id: String, summary: SessionSummary) -> Answer<()> {
        persistence!(self.attended()?, call_update(&id, &summary))
    }
}
