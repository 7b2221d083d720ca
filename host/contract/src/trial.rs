//! One check at work: a running instance, its leases, and whole answers read by the rules of a page.

mod reading;

use annals_sdk::Persistence;
use annals_sdk::types::{
    BackendInfo, Batch, Durability, ErrorCode, Eviction, EvictionReason, LeaseScope, SessionEntry,
    SessionHeader,
};

use crate::Subject;
use crate::expectation::{ensure, ok, refused};
use crate::medium::{self, Found};
use crate::samples::{HOLDER, batch, header};

pub(crate) use reading::Content;

/// Why a check ends before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(String),
    NotApplicable(String),
}

pub(crate) type Checked<T = ()> = Result<T, Stop>;

/// A backend in use.
pub(crate) struct Trial<'s> {
    subject: &'s mut dyn Subject,
    backend: Option<Box<dyn Persistence>>,
    info: Option<BackendInfo>,
    /// The lease of the whole root, where there is only that one.
    root: Option<String>,
}

/// All that a backend shows of one session.
#[derive(Debug, PartialEq)]
pub(crate) struct State {
    content: Option<Content>,
    cut: Vec<u8>,
    entry: Option<SessionEntry>,
}

impl<'s> Trial<'s> {
    pub(crate) fn new(subject: &'s mut dyn Subject) -> Self {
        Self {
            subject,
            backend: None,
            info: None,
            root: None,
        }
    }

    /// Ends the instance and starts another one over the same medium, not configured.
    pub(crate) fn start(&mut self) -> Checked<&mut dyn Persistence> {
        self.backend = None;
        let backend = self.subject.start().map_err(Stop::Failed)?;
        Ok(self.backend.insert(backend).as_mut())
    }

    /// [`Trial::start`], and configures it.
    pub(crate) fn open(&mut self) -> Checked {
        self.start()?;
        let settings = self.settings();
        let info = ok("configure", self.backend()?.configure(&settings))?;
        let is_root = info.lease == LeaseScope::Root;
        self.info = Some(info);
        if is_root { self.hold_root() } else { Ok(()) }
    }

    /// A second instance over the same medium, configured, beside the one that runs.
    pub(crate) fn second(&mut self) -> Checked<Box<dyn Persistence>> {
        let mut second = self.subject.start().map_err(Stop::Failed)?;
        let settings = self.settings();
        ok(
            "configure of a second instance",
            second.configure(&settings),
        )?;
        Ok(second)
    }

    /// [`Trial::open`], where what was stored is promised to survive that. Whoever wrote with `token` goes on with the one
    /// that this gives.
    pub(crate) fn restart(&mut self, token: &str) -> Checked<String> {
        if self.info()?.durability == Durability::None {
            let why = "durability is none: nothing is promised to survive a restart";
            return Err(Stop::NotApplicable(why.to_owned()));
        }
        self.reopen(token)
    }

    /// [`Trial::restart`], whatever is promised. A lease of the root may end with the process, one of a session does not.
    pub(crate) fn reopen(&mut self, token: &str) -> Checked<String> {
        self.open()?;
        Ok(self.root.clone().unwrap_or_else(|| token.to_owned()))
    }

    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        self.subject.settings()
    }

    pub(crate) fn backend(&mut self) -> Checked<&mut dyn Persistence> {
        match &mut self.backend {
            Some(backend) => Ok(backend.as_mut()),
            None => Err(Stop::Failed("the backend does not run".to_owned())),
        }
    }

    pub(crate) fn info(&self) -> Checked<&BackendInfo> {
        let missing = || Stop::Failed("the backend is not configured".to_owned());
        self.info.as_ref().ok_or_else(missing)
    }

    /// How many bytes the data of an event may have, `wanted` at most.
    pub(crate) fn data_bytes(&self, wanted: usize) -> Checked<usize> {
        /// More than the rest of an event's line has.
        const AROUND_BYTES: usize = 200;
        let max = usize::try_from(self.info()?.record_bytes_max).unwrap_or(usize::MAX);
        Ok(wanted.min(max.saturating_sub(AROUND_BYTES)))
    }

    /// The file that these stored bytes are in.
    pub(crate) fn find_on_medium(&self, needle: &str) -> Checked<Found> {
        let Some(directory) = self.subject.directory() else {
            let why = "the medium is no directory that can be damaged";
            return Err(Stop::NotApplicable(why.to_owned()));
        };
        medium::find(directory, needle).ok_or_else(|| {
            let why = "no single file holds what was stored as it was given";
            Stop::NotApplicable(why.to_owned())
        })
    }

    /// A token to write the session with.
    pub(crate) fn lease(&mut self, id: &str) -> Checked<String> {
        if let Some(token) = &self.root {
            return Ok(token.clone());
        }
        ok("acquire", self.backend()?.acquire(Some(id), HOLDER, None))
    }

    /// Gives back what [`Trial::lease`] gave.
    pub(crate) fn release(&mut self, id: &str, token: &str) -> Checked {
        if self.root.is_some() {
            return Ok(());
        }
        ok("release", self.backend()?.release(Some(id), token))
    }

    /// Nobody holds a lease of the root any more; what a lease is of: the session, or none for the root.
    pub(crate) fn leased<'i>(&mut self, id: &'i str) -> Checked<Option<&'i str>> {
        match self.info()?.lease {
            LeaseScope::Session => Ok(Some(id)),
            LeaseScope::Root => {
                if let Some(token) = self.root.take() {
                    ok("release", self.backend()?.release(None, &token))?;
                }
                Ok(None)
            }
            LeaseScope::None => Err(Stop::NotApplicable("info.lease is none".to_owned())),
        }
    }

    fn hold_root(&mut self) -> Checked {
        let before = self.root.take();
        let backend = self.backend()?;
        let token = match before {
            None => ok("acquire", backend.acquire(None, HOLDER, None))?,
            Some(token) if backend.renew(None, &token).is_ok() => token,
            Some(token) => {
                let why = EvictionReason::Gone;
                ok(
                    "acquire after a restart",
                    backend.acquire(None, HOLDER, Some(&Eviction { token, why })),
                )?
            }
        };
        self.root = Some(token);
        Ok(())
    }

    /// A new session of so many small events, and its token.
    pub(crate) fn stored(&mut self, id: &str, count: u64) -> Checked<String> {
        self.stored_as(&header(id), &batch(0, count))
    }

    pub(crate) fn stored_as(&mut self, header: &SessionHeader, first: &Batch) -> Checked<String> {
        let token = self.lease(&header.id)?;
        self.create(header, &token, first)?;
        Ok(token)
    }

    pub(crate) fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Checked {
        ok("create", self.backend()?.create(header, token, first))
    }

    pub(crate) fn append(&mut self, id: &str, token: &str, events: &Batch) -> Checked {
        let call = format!(
            "append of {} events at seq {}",
            events.count, events.first_seq
        );
        ok(&call, self.backend()?.append(id, token, events))
    }

    pub(crate) fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Checked {
        let call = format!("truncate to {keep_events} events");
        ok(&call, self.backend()?.truncate(id, token, keep_events))
    }

    /// The session is stored nowhere: in no function's answer.
    pub(crate) fn is_absent(&mut self, id: &str) -> Checked {
        let has = ok("has", self.backend()?.has(id))?;
        ensure(!has, || "has says that it is stored".to_owned())?;
        refused(
            "load",
            self.backend()?.load(id, 0, 1 << 16),
            ErrorCode::NotFound,
        )?;
        refused(
            "load-cut",
            self.backend()?.load_cut(id, 0, 1 << 16),
            ErrorCode::NotFound,
        )?;
        let is_listed = self.entry(id)?.is_some();
        ensure(!is_listed, || "it is listed".to_owned())
    }

    /// All that is shown of the session, to compare with later.
    pub(crate) fn state(&mut self, id: &str) -> Checked<State> {
        let has = ok("has", self.backend()?.has(id))?;
        Ok(State {
            content: if has { Some(self.content(id)?) } else { None },
            cut: if has { self.cut(id)? } else { Vec::new() },
            entry: self.entry(id)?,
        })
    }

    /// A call, such as one that was refused, changed nothing of the session.
    pub(crate) fn is_as_before(&mut self, call: &str, id: &str, before: &State) -> Checked {
        let now = self.state(id)?;
        ensure(now == *before, || format!("{call} changed what is stored"))
    }
}
