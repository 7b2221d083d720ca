//! What an agent loop begins with: its session, found or made, and where that stands.

use crate::annals::Annals;
use crate::error::Result;
use crate::records::{CreateOptions, ErrorCode, OpenMode, Repair};
use crate::session::Session;

/// Who works: the host's own name for an agent. Annals hands it back and stores it nowhere; no session is named by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(String);

impl AgentId {
    /// Any text.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The stored session that a loop is to go on with, as it was named yesterday: a request, not a session. What is live
/// then is the loop's [`Session`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResumeId(String);

impl ResumeId {
    /// The id that [`Session::id`] answered, or one out of a listing.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A session for an agent loop, and what the loop needs before its first turn.
///
/// Three names meet here and are three types: the agent's ([`AgentId`]), the one to resume from ([`ResumeId`]), and the
/// live session's own ([`Session::id`]).
///
/// ```
/// use annals::{AgentId, Annals, CreateOptions, ErrorCode, ResumeId};
///
/// let annals = Annals::memory()?;
/// let reviewer = AgentId::new("reviewer");
/// let work = annals.begin_loop(reviewer.clone(), CreateOptions::default())?;
/// assert_eq!(work.next_turn, 1);
/// work.session.append(concat!(
///     r#"{"type":"turn/start","data":{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}}"#, "\n",
///     r#"{"type":"user/message","data":{"content":"hello","source":{"kind":"user"}},"surfaceOp":"append"}"#, "\n",
/// ))?;
/// let yesterday = ResumeId::new(work.session.id());
/// drop(work); // interrupted: the turn has no end
///
/// let work = annals.resume_loop(reviewer, &yesterday)?;
/// let resumed = work.resumed.as_ref().ok_or("it was there")?;
/// assert_eq!((resumed.repair.closers, work.next_turn), (1, 2));
/// assert_eq!(work.messages, "{\"role\":\"user\",\"content\":\"hello\"}\n");
///
/// let missing = annals.resume_loop(AgentId::new("tester"), &ResumeId::new("elsewhere"));
/// assert_eq!(missing.unwrap_err().code, ErrorCode::NotFound);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AgentLoop {
    /// Who works.
    pub agent: AgentId,
    /// The live session, which the loop appends to and flushes at the end of every turn.
    pub session: Session,
    /// What the session was resumed from, and what that repaired; none for one that began.
    pub resumed: Option<Resumed>,
    /// The number for the loop's first `turn/start`.
    pub next_turn: u64,
    /// The newest request header in its canonical form, as the text of one JSON object: a loop that would send the same
    /// one needs no new `request/header`. None before the first.
    pub request_header: Option<String>,
    /// The history that the model sees, one JSON message a line.
    pub messages: String,
}

/// Where a resumed session came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Resumed {
    /// The stored session.
    pub from: ResumeId,
    /// What opening it did: bytes that were cut, and events that closed an interrupted turn.
    pub repair: Repair,
}

impl Annals {
    /// A new session for an agent loop.
    ///
    /// # Errors
    /// As [`Annals::create`].
    pub fn begin_loop(&self, agent: AgentId, options: CreateOptions) -> Result<AgentLoop> {
        AgentLoop::of(agent, self.create(options)?, None)
    }

    /// A stored session goes on with an agent loop. A turn that was interrupted is closed first.
    ///
    /// # Errors
    /// `not-configured`: there is no backend, so nothing can be resumed; else as [`Annals::open`].
    pub fn resume_loop(&self, agent: AgentId, from: &ResumeId) -> Result<AgentLoop> {
        let (session, repair) = self.open(from.as_str(), OpenMode::Resume)?;
        let from = from.clone();
        AgentLoop::of(agent, session, Some(Resumed { from, repair }))
    }

    /// [`Annals::resume_loop`] where `from` is stored, and where it is not [`Annals::begin_loop`], under that id unless
    /// `options` give another.
    ///
    /// # Errors
    /// `not-configured`: there is no backend, so nobody knows whether `from` is stored; else as the one that is done.
    pub fn resume_or_begin_loop(
        &self,
        agent: AgentId,
        from: &ResumeId,
        mut options: CreateOptions,
    ) -> Result<AgentLoop> {
        match self.resume_loop(agent.clone(), from) {
            Err(error) if error.code == ErrorCode::NotFound => {
                options.id.get_or_insert_with(|| from.as_str().to_owned());
                self.begin_loop(agent, options)
            }
            resumed => resumed,
        }
    }
}

impl AgentLoop {
    fn of(agent: AgentId, session: Session, resumed: Option<Resumed>) -> Result<Self> {
        Ok(Self {
            agent,
            next_turn: session.next_turn()?,
            request_header: session.request_header()?,
            messages: session.history()?,
            session,
            resumed,
        })
    }
}
