//! A session of the store, by where it stands: built, live, out of the list again, or closed.

use annals_core::session::Session;
use annals_sdk::types::SessionHeader;

use crate::Surface;

/// Names a session of one store; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionKey(pub(crate) u64);

/// What a key stands for.
pub(crate) enum Slot {
    /// Built, in no list yet.
    Prepared(Box<Live>),
    Live(Box<Live>),
    /// Out of the list without a flush: nobody is told any more what happens to its log.
    Detached(Box<Live>),
    Closed(Closed),
}

/// The log, how much of it is stored, and what callbacks it is in the middle of.
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
    /// Whether somebody else may have written one there meanwhile: the medium is asked before.
    pub(crate) prompt_may_be_there: bool,
    pub(crate) edge: Edge,
    pub(crate) writing: Writing,
    /// How it leaves the list as soon as nothing holds it there.
    pub(crate) leaving: Option<Leaving>,
    /// Orders the live list.
    pub(crate) entry: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    /// Opened to inspect.
    ReadOnly,
    /// The lease is somebody else's now.
    Lost,
}

/// How far the one edge of creation is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    Silent,
    /// The observer is being told.
    Announcing,
    Announced,
}

/// What is being written at this moment; only a callback ever sees anything but `Nothing`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Writing {
    /// The observer is being told of events.
    pub(crate) is_published: bool,
    /// A sequence outside the loop has not settled.
    pub(crate) is_out_of_band: bool,
}

/// How a session leaves the list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    Detach,
    Close,
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
            prompt_may_be_there: false,
            edge: Edge::Silent,
            writing: Writing::default(),
            leaving: None,
            entry: 0,
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.session.header().id
    }

    /// The number of the next turn.
    pub(crate) fn next_turn(&self) -> u64 {
        self.session.last_turn().unwrap_or(0).saturating_add(1)
    }

    /// Whether every accepted event is on the medium.
    pub(crate) fn is_drained(&self) -> bool {
        self.cursor == self.session.next_seq()
    }

    /// Whether leaving the list has to wait: the observer is being told of its creation, or a turn is to be closed.
    pub(crate) fn is_held(&self) -> bool {
        self.edge == Edge::Announcing || self.writing.is_out_of_band
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
            nodes: surface.nodes().collect(),
            generation: surface.generation(),
        }
    }
}

impl Slot {
    /// The session, unless it is closed.
    pub(crate) fn open(&self) -> Option<&Live> {
        match self {
            Slot::Prepared(live) | Slot::Live(live) | Slot::Detached(live) => Some(live),
            Slot::Closed(_) => None,
        }
    }

    /// The session, unless it is closed.
    pub(crate) fn open_mut(&mut self) -> Option<&mut Live> {
        match self {
            Slot::Prepared(live) | Slot::Live(live) | Slot::Detached(live) => Some(live),
            Slot::Closed(_) => None,
        }
    }

    /// The session, if it is in the list.
    pub(crate) fn live(&self) -> Option<&Live> {
        match self {
            Slot::Live(live) => Some(live),
            Slot::Prepared(_) | Slot::Detached(_) | Slot::Closed(_) => None,
        }
    }

    /// The session, if it is in the list.
    pub(crate) fn live_mut(&mut self) -> Option<&mut Live> {
        match self {
            Slot::Live(live) => Some(live),
            Slot::Prepared(_) | Slot::Detached(_) | Slot::Closed(_) => None,
        }
    }

    pub(crate) fn id(&self) -> &str {
        match self {
            Slot::Prepared(live) | Slot::Live(live) | Slot::Detached(live) => live.id(),
            Slot::Closed(closed) => &closed.header.id,
        }
    }

    pub(crate) fn header(&self) -> SessionHeader {
        match self {
            Slot::Prepared(live) | Slot::Live(live) | Slot::Detached(live) => {
                live.session.header().clone().into()
            }
            Slot::Closed(closed) => closed.header.clone(),
        }
    }

    pub(crate) fn next_seq(&self) -> u64 {
        match self {
            Slot::Prepared(live) | Slot::Live(live) | Slot::Detached(live) => {
                live.session.next_seq()
            }
            Slot::Closed(closed) => closed.next_seq,
        }
    }

    pub(crate) fn surface(&self) -> Surface {
        match self {
            Slot::Prepared(live) | Slot::Live(live) | Slot::Detached(live) => live.surface(),
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
