//! Strict mode: what is written has to tell a well-formed story of turns, steps and calls.

use annals_core::fault::{Class, Fault};
use annals_core::session::Session;
use annals_sdk::Result;
use annals_sdk::types::Error;

use crate::StoreOptions;

impl Default for StoreOptions {
    /// Nothing opted in, and not strict.
    fn default() -> Self {
        StoreOptions {
            out_of_band_types: Vec::new(),
            strict: false,
        }
    }
}

impl StoreOptions {
    /// Of a new session: `invalid` with a `trace-*` reason where its seed breaks the trace.
    pub(crate) fn check_seed(&self, session: &mut Session) -> Result<()> {
        match self.strict {
            true => Ok(session.demand_trace()?),
            false => Ok(()),
        }
    }

    /// Of a session that has a log already: `corrupt` with a `trace-*` reason where that breaks the trace. Costs one
    /// pass over it, the first time.
    pub(crate) fn check_log(&self, session: &mut Session) -> Result<()> {
        if !self.strict {
            session.forget_trace();
            return Ok(());
        }
        session.demand_trace().map_err(|fault| {
            let id = session.header().id.clone();
            let line = fault.number_of("line").unwrap_or_default();
            let message = format!(
                "line {line}: {}; a strict store lets the log be inspected, and forked at an earlier turn",
                fault.message
            );
            let class = Class::Corrupt;
            Error::from(Fault {
                class,
                message,
                ..fault
            })
            .fact("id", id)
        })
    }
}
