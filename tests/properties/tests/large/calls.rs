//! What is done to an input.

use std::any::Any;

use annals_core::chunk_rows::{pack, unpack};
use annals_core::closers::closers;
use annals_core::fault::Fault;
use annals_core::header::Header;
use annals_core::load::Loader;
use annals_core::session::Session;
use annals_core::surface::fold_surface;
use annals_core::trace::check_trace;
use annals_core::usage::usage;

use crate::measure::Outcome;

const PAGE_BYTES: usize = 1 << 20;

/// A call, by name.
#[derive(Clone, Copy)]
pub struct Call {
    pub name: &'static str,
    pub run: Run,
}

/// What a call is given, which counts as memory that it needs.
#[derive(Clone, Copy)]
pub enum Run {
    /// Pages of a medium; no memory.
    Medium(fn(&str) -> Outcome),
    /// A text of the caller.
    Text(fn(&str) -> Outcome),
    /// A session that was loaded.
    Session(fn(&mut Session) -> Outcome),
}

/// From the pages of a medium to a session. The text stands for the medium.
pub const LOAD: Call = Call {
    name: "load",
    run: Run::Medium(|input| load(input).map(boxed)),
};

/// As a seed, which the caller holds.
pub const SEED: Call = of_text("seed", |input| {
    Session::from_seed(header(), input).map(boxed)
});

/// In one call.
pub const APPEND: Call = of_text("append", |input| {
    let mut session = Session::new(header())?;
    let appended = session.append(input, 0)?;
    Ok(boxed((session, appended)))
});

/// Event by event.
pub const APPEND_EACH: Call = of_text("append each", |input| {
    let mut session = Session::new(header())?;
    for line in input.lines() {
        session.append(line, 0)?;
    }
    Ok(boxed(session))
});

/// The surface of the lines.
pub const FOLD: Call = of_text("fold", |input| fold_surface(input).map(boxed));

/// Closers of the lines.
pub const CLOSERS: Call = of_text("closers", |input| closers(input).map(boxed));

/// To rows.
pub const PACK: Call = of_text("pack", |input| pack(input).map(boxed));

/// From rows.
pub const UNPACK: Call = of_text("unpack", |input| unpack(input).map(boxed));

/// The strict check. What it finds does not matter here.
pub const TRACE: Call = of_text("trace", |input| Ok(boxed(check_trace(input))));

/// Tokens of the lines.
pub const USAGE: Call = of_text("usage", |input| usage(input, 0).map(boxed));

/// The history, whole.
pub const DERIVE: Call = of_session("derive", |session| {
    Ok(boxed(session.messages(0, u32::MAX)?.lines))
});

/// The history, page by page.
pub const DERIVE_PAGES: Call = of_session("derive pages", |session| {
    let mut start = 0;
    loop {
        let page = session.messages(start, PAGE_BYTES as u32)?;
        start += page.lines.lines().count() as u32;
        if start == page.total {
            return Ok(boxed(()));
        }
    }
});

/// The events, page by page.
pub const EVENTS: Call = of_session("events", |session| {
    let mut next = Some(0);
    while let Some(start) = next {
        next = session.events(start, PAGE_BYTES as u32)?.next;
    }
    Ok(boxed(()))
});

/// Closing an open turn, in the session.
pub const CLOSE: Call = of_session("close", |session| session.close_turn().map(boxed));

/// What a backend is handed to store.
pub const STORED: Call = of_session("stored", |session| {
    Ok(boxed(session.stored_from(0).lines.into_owned()))
});

/// Every call that takes whatever a log may hold.
pub const ALL: &[Call] = &[
    LOAD,
    SEED,
    APPEND,
    APPEND_EACH,
    FOLD,
    CLOSERS,
    PACK,
    UNPACK,
    TRACE,
    USAGE,
    DERIVE,
    DERIVE_PAGES,
    EVENTS,
    CLOSE,
    STORED,
];

const fn of_text(name: &'static str, run: fn(&str) -> Outcome) -> Call {
    Call {
        name,
        run: Run::Text(run),
    }
}

const fn of_session(name: &'static str, run: fn(&mut Session) -> Outcome) -> Call {
    Call {
        name,
        run: Run::Session(run),
    }
}

/// A session of lines that come in pages of whole lines.
pub fn load(input: &str) -> Result<Session, Fault> {
    let mut loader = Loader::new(header(), 50);
    let mut rest = input;
    while !rest.is_empty() {
        let within = rest
            .as_bytes()
            .get(..PAGE_BYTES)
            .and_then(|page| memchr::memrchr(b'\n', page));
        let end = within
            .or_else(|| memchr::memchr(b'\n', rest.as_bytes()))
            .map_or(rest.len(), |at| at + 1);
        let (page, after) = rest.split_at(end);
        // a page is memory, unlike what it was read from
        let page = page.to_owned();
        loader.lines(&page, None);
        rest = after;
    }
    let loaded = loader.finish()?;
    assert_eq!(loaded.cut, None);
    Ok(loaded.session)
}

fn header() -> Header {
    Header {
        id: "s".into(),
        ..Header::default()
    }
}

fn boxed<T: Any>(made: T) -> Box<dyn Any> {
    Box::new(made)
}
