//! A live session and what is left of it once it is closed.

use annals_core::session::Session;
use annals_sdk::types::SessionHeader;

use crate::Surface;
use crate::convert::session_header;

/// Names a session handle of one store; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionKey(pub(crate) u64);

/// What a handle stands for.
pub(crate) enum Slot {
    Live(Box<Live>),
    Closed(Closed),
}

/// The log, and how much of it is stored.
pub(crate) struct Live {
    pub(crate) session: Session,
    pub(crate) access: Access,
    /// The lease, from the first write on.
    pub(crate) token: Option<String>,
    /// Whether the header is on the medium.
    pub(crate) is_stored: bool,
    /// How many events are on the medium.
    pub(crate) cursor: u64,
    /// Whether the summary still lacks its first prompt.
    pub(crate) prompt_is_due: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    /// Opened to inspect.
    ReadOnly,
    /// The lease is somebody else's now.
    Lost,
}

/// What a handle remembers of a closed session.
pub(crate) struct Closed {
    header: SessionHeader,
    next_seq: u64,
    surface: Surface,
}

impl Live {
    /// A session that nothing is stored of.
    pub(crate) fn new(session: Session) -> Live {
        Live {
            session,
            access: Access::Write,
            token: None,
            is_stored: false,
            cursor: 0,
            prompt_is_due: true,
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.session.header().id
    }

    /// Whether every accepted event is on the medium.
    pub(crate) fn is_drained(&self) -> bool {
        self.cursor == self.session.next_seq()
    }

    /// Another medium: nothing of the session is known to be there.
    pub(crate) fn forget_medium(&mut self) {
        if self.access == Access::Lost {
            self.access = Access::Write;
        }
        self.token = None;
        self.is_stored = false;
        self.cursor = 0;
        self.prompt_is_due = true;
    }

    fn surface(&self) -> Surface {
        let surface = self.session.surface();
        Surface {
            nodes: surface.nodes().to_vec(),
            generation: surface.generation(),
        }
    }
}

impl Slot {
    pub(crate) fn id(&self) -> &str {
        match self {
            Slot::Live(live) => live.id(),
            Slot::Closed(closed) => &closed.header.id,
        }
    }

    pub(crate) fn header(&self) -> SessionHeader {
        match self {
            Slot::Live(live) => session_header(live.session.header()),
            Slot::Closed(closed) => closed.header.clone(),
        }
    }

    pub(crate) fn next_seq(&self) -> u64 {
        match self {
            Slot::Live(live) => live.session.next_seq(),
            Slot::Closed(closed) => closed.next_seq,
        }
    }

    pub(crate) fn surface(&self) -> Surface {
        match self {
            Slot::Live(live) => live.surface(),
            Slot::Closed(closed) => closed.surface.clone(),
        }
    }

    /// Keep only what a closed handle answers.
    pub(crate) fn closed(&self) -> Slot {
        Slot::Closed(Closed {
            header: self.header(),
            next_seq: self.next_seq(),
            surface: self.surface(),
        })
    }
}
