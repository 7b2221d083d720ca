//! A new session that begins with another one's events.

use annals_core::fault::quoted;
use annals_core::header::{FORMAT_VERSION, Header};
use annals_core::session::Session;
use annals_sdk::types::{Error, ErrorCode};
use annals_sdk::{Persistence, Result};

use crate::live::{Live, SessionKey, Slot};
use crate::medium::load_log;
use crate::observer::Observer;
use crate::store::Store;

impl<P: Persistence, O: Observer<P>> Store<P, O> {
    /// A new session that begins with the source's events through `boundary` (none: through the last event). It is
    /// live, and stored by its first flush, its seed once. The source may be live or stored and is never changed.
    ///
    /// # Errors
    /// `not-found`, reason `fork-session-not-found`; `already-exists`, reason `fork-session-already-exists`: the
    /// child's id; `invalid`, reason `fork-invalid-boundary` or `fork-open-turn`; for a stored source what `open`
    /// answers to a log it cannot load.
    pub fn fork(
        &mut self,
        source: &str,
        boundary: Option<u64>,
        child: Option<String>,
        cwd: Option<String>,
        time_ms: u64,
    ) -> Result<SessionKey> {
        let id = self.new_id(child)?;
        // a stored source is read as it stands: no lease, no repair
        let stored = match self.is_live(source) {
            true => None,
            false => Some(self.stored_source(source)?),
        };
        self.check_child(&id)?;
        let live = self
            .lives()
            .find(|live| live.id() == source)
            .map(|live| &live.session);
        let Some(parent) = stored.as_ref().or(live) else {
            return Err(not_found(source));
        };
        let seed = parent.prefix(boundary)?;
        let header = Header {
            version: FORMAT_VERSION,
            id,
            created_at_ms: time_ms,
            cwd: cwd.or_else(|| parent.header().cwd.clone()),
            parent_session: Some(source.to_owned()),
            seed_length: Some(seed.count),
            delegation_depth: None,
            extra: None,
        };
        let others = self.beside(None).and_source(parent, stored.as_ref());
        let session = self.seeded(header, &seed.lines, others)?;
        let key = self.keep(Slot::Prepared(Box::new(Live::new(session))));
        self.publish(key)
    }

    fn stored_source(&mut self, source: &str) -> Result<Session> {
        if self.backend.info().is_none() {
            return Err(not_found(source));
        }
        let others = self.beside(None);
        match self
            .backend
            .reading(source, |backend| load_log(backend, source, others))
        {
            Ok(loaded) => Ok(loaded.session),
            Err(error) if error.code == ErrorCode::NotFound => Err(not_found(source)),
            Err(error) => Err(error),
        }
    }

    fn check_child(&mut self, child: &str) -> Result<()> {
        self.check_new(child).map_err(|mut error| {
            if error.code == ErrorCode::AlreadyExists {
                error.reason = "fork-session-already-exists".to_owned();
            }
            error
        })
    }
}

fn not_found(source: &str) -> Error {
    let message = format!(
        "session {} not found, so it cannot be forked",
        quoted(source)
    );
    Error::new(ErrorCode::NotFound, "fork-session-not-found", message).fact("id", source)
}
