//! A stored session becomes live: load, repair, go on.

use annals_core::load::{Cut, Loaded};
use annals_core::session::Session;
use annals_sdk::types::Error;
use annals_sdk::{Persistence, Result};

use crate::backend::Backend;
use crate::convert::{already_live, batch, check_id};
use crate::live::{Access, Live, SessionKey};
use crate::medium::load_log;
use crate::observer::Observer;
use crate::room::Beside;
use crate::store::Store;
use crate::{OpenMode, Repair};

impl<P: Persistence, O: Observer<P>> Store<P, O> {
    /// A stored session becomes live; see `open-mode` in the WIT. What was loaded is never stored again.
    ///
    /// # Errors
    /// `not-configured`; `not-found`; `already-exists`: it is live here already; `busy`; `unsupported-version`;
    /// `corrupt`: damage at or before the last turn/end, detail has `line` and `byte`, or in a strict store, unless to
    /// inspect, an event that breaks the trace, detail has `line` and `seq`; `other`, reason `listener-error`: the
    /// observer's veto, after repairs that stay.
    pub fn open(&mut self, id: &str, mode: OpenMode) -> Result<(SessionKey, Repair)> {
        self.backend.configured()?;
        check_id(id)?;
        if self.is_live(id) {
            return Err(already_live(id));
        }
        let others = self.beside(None);
        if mode == OpenMode::Inspect {
            let (mut live, mut repair) = self
                .backend
                .reading(id, |backend| inspect(backend, id, others))?;
            repair.refusal = self.options.check_log(&mut live.session).err();
            return Ok((self.publish_loaded(live)?, repair));
        }
        // asked first, so that an id that is not there leaves no lease behind
        if !self.backend.reading(id, |backend| backend.has(id))? {
            return Err(Error::not_found(id));
        }
        let token = self.backend.acquire(id)?;
        let opened = load_log(&mut self.backend, id, others).and_then(|mut loaded| {
            self.options.check_log(&mut loaded.session)?;
            repaired(&mut self.backend, loaded, mode, &token)
        });
        match opened {
            // a veto gives the lease back
            Ok((live, repair)) => Ok((self.publish_loaded(live)?, repair)),
            Err(error) => {
                // the error of opening says more than one of giving back
                let _ = self.backend.release(id, &token);
                Err(error)
            }
        }
    }
}

/// Write nothing, and say what `resume` would do.
fn inspect<P: Persistence>(
    backend: &mut Backend<P>,
    id: &str,
    others: Beside,
) -> Result<(Live, Repair)> {
    let loaded = load_log(backend, id, others)?;
    let mut repair = cut_report(loaded.cut.as_ref(), "would be cut");
    if loaded.session.has_open_turn() {
        let closers = loaded.session.closers();
        repair.closers = u32::try_from(closers.lines().count()).unwrap_or(u32::MAX);
        repair
            .notes
            .push("the last turn is open; resume would close it".to_owned());
    }
    let mut live = stored(loaded.session);
    live.access = Access::ReadOnly;
    Ok((live, repair))
}

/// Cut a bad tail and, to resume, close an open turn; both are durable when this returns.
fn repaired<P: Persistence>(
    backend: &mut Backend<P>,
    loaded: Loaded,
    mode: OpenMode,
    token: &str,
) -> Result<(Live, Repair)> {
    let mut session = loaded.session;
    let id = session.header().id.clone();
    let mut repair = cut_report(loaded.cut.as_ref(), "were cut and saved beside the log");
    if let Some(cut) = &loaded.cut {
        backend.truncate(&id, token, cut.keep_events)?;
    }
    if session.has_open_turn() && mode == OpenMode::Resume {
        let closers = batch(session.close_turn()?);
        backend.append(&id, token, &closers)?;
        repair.closers = u32::try_from(closers.count).unwrap_or(u32::MAX);
        repair
            .notes
            .push("the last turn was interrupted and is closed now".to_owned());
    } else if session.has_open_turn() {
        repair
            .notes
            .push("the last turn is open and left open".to_owned());
    }
    let mut live = stored(session);
    live.token = Some(token.to_owned());
    Ok((live, repair))
}

/// A session whose every event is on the medium.
fn stored(session: Session) -> Live {
    let cursor = session.next_seq();
    // a log that has a prompt got it into the summary when that prompt was flushed
    let prompt_is_due = session.first_prompt().is_none();
    Live {
        is_stored: true,
        cursor,
        prompt_is_due,
        prompt_may_be_there: true,
        ..Live::new(session)
    }
}

fn cut_report(cut: Option<&Cut>, what: &str) -> Repair {
    let mut repair = Repair {
        cut_bytes: 0,
        cut_events: 0,
        closers: 0,
        refusal: None,
        notes: Vec::new(),
    };
    if let Some(cut) = cut {
        repair.cut_bytes = cut.bytes;
        repair.cut_events = cut.events;
        repair.notes.push(format!(
            "{} bytes from line {}, byte {} on {what} ({})",
            cut.bytes,
            cut.line,
            cut.byte,
            cut.reason.label()
        ));
    }
    repair
}
