//! Everything that a session shows, in one value to compare.

use annals_core::session::Session;

use super::{
    Event, Tokens, Usage, closers, has_open_turn, last_turn, lines, messages, request_header,
    surface, usage,
};

/// All views of a session.
#[derive(Debug, PartialEq)]
pub struct State {
    /// How many events.
    pub next_seq: u64,
    /// Time of the last one.
    pub last_time_ms: u64,
    /// Every event, a line each.
    pub events: String,
    /// Seqs on the surface.
    pub nodes: Vec<u64>,
    /// Replaces so far.
    pub generation: u64,
    /// The history, a line each.
    pub messages: String,
    /// Lines that would close the last turn.
    pub closers: String,
    /// Whether there is something to close.
    pub has_open_turn: bool,
    /// The newest request header, or why it has none.
    pub request_header: Result<Option<String>, String>,
    /// The number of the last turn.
    pub last_turn: Option<u64>,
    /// Tokens.
    pub usage: Usage,
}

impl State {
    /// The views in which this is not what is due, each as it is and as it should be.
    pub fn differences(&self, due: &State) -> Vec<String> {
        let views = [self, due].map(|state| {
            [
                ("next seq", state.next_seq.to_string()),
                ("last time", state.last_time_ms.to_string()),
                ("events", state.events.clone()),
                ("nodes", format!("{:?}", state.nodes)),
                ("generation", state.generation.to_string()),
                ("messages", state.messages.clone()),
                ("closers", state.closers.clone()),
                ("open turn", state.has_open_turn.to_string()),
                ("request header", format!("{:?}", state.request_header)),
                ("last turn", format!("{:?}", state.last_turn)),
                ("usage", format!("{:?}", state.usage)),
            ]
        });
        let [is, due] = views;
        let pairs = is.into_iter().zip(due).filter(|(is, due)| is != due);
        pairs
            .map(|((name, is), (_, due))| format!("{name}:\n{is}\ninstead of\n{due}"))
            .collect()
    }

    /// By the rules, from scratch.
    pub fn due(events: &[Event]) -> State {
        let surface = surface(events).unwrap();
        let text = |lines: Vec<String>| lines.iter().map(|line| format!("{line}\n")).collect();
        State {
            next_seq: events.len() as u64,
            last_time_ms: events.last().map_or(0, |event| event.time_ms),
            events: lines(events),
            messages: text(messages(events, &surface)),
            generation: surface.replacements.len() as u64,
            nodes: surface.nodes,
            closers: text(closers(events)),
            has_open_turn: has_open_turn(events),
            request_header: request_header(events),
            last_turn: last_turn(events),
            usage: usage(events),
        }
    }

    /// As a session shows it.
    pub fn of(session: &mut Session) -> State {
        let page = session.messages(0, u32::MAX).unwrap();
        let tokens = session.usage_from(0);
        let steps = tokens.steps.into_iter();
        let usage = Usage {
            steps: steps
                .map(|step| (step.turn, step.step, Tokens::from(step.tokens)))
                .collect(),
            total: tokens.total,
        };
        assert_eq!(page.total as usize, page.lines.lines().count());
        assert_eq!(page.generation, session.surface().generation());
        assert_eq!(
            session.surface().node_count(),
            session.surface().nodes().count()
        );
        State {
            next_seq: session.next_seq(),
            last_time_ms: session.last_time_ms(),
            events: session.events(0, u32::MAX).unwrap().lines,
            nodes: session.surface().nodes().collect(),
            generation: page.generation,
            messages: page.lines,
            closers: session.closers(),
            has_open_turn: session.has_open_turn(),
            request_header: session
                .request_header()
                .map_err(|fault| fault.reason.label().to_owned()),
            last_turn: session.last_turn(),
            usage,
        }
    }
}
