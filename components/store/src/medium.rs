//! What the medium holds of a session: loaded as a log, or compared with the log in memory.

use annals_core::fault::{Fault, Reason, quoted};
use annals_core::header::{FORMAT_VERSION, Header};
use annals_core::load::{self, Loaded, Loader};
use annals_core::record::{Line, read_line, read_record};
use annals_core::sealed;
use annals_core::session::Session;
use annals_sdk::types::{Error, ErrorCode, Page};
use annals_sdk::{Persistence, Result};

use crate::backend::Backend;
use crate::live::Live;
use crate::room::{Beside, bytes_of};

/// How much of a log is asked for at a time.
pub(crate) const PAGE_BYTES_MAX: u32 = 1 << 20;

/// A stored session, checked by the rules of a log.
///
/// # Errors
/// `not-found`; `unsupported-version`, before anything else is looked at; `corrupt`, with `line` and `byte`; `limit`:
/// the log or a line of it is longer than is held in memory, or the log has no place there beside the others.
pub(crate) fn load_log<P: Persistence>(
    backend: &mut Backend<P>,
    id: &str,
    others: Beside,
) -> Result<Loaded> {
    let mut page = backend.load(id, 0, PAGE_BYTES_MAX)?;
    let header = read_header(id, &page)?;
    if page.header.is_none() {
        // the bytes were the header line itself
        page.raw = None;
    }
    let header_bytes = header.line().len() as u64 + 1;
    let mut loader = Loader::new(header, header_bytes);
    loop {
        loader.lines(std::mem::take(&mut page.lines), page.at_byte);
        if let Some(raw) = page.raw.as_deref().filter(|raw| !raw.is_empty()) {
            loader.raw(raw, page.at_byte);
        }
        others.check(bytes_of(loader.session()))?;
        let Some(next) = page.next.filter(|_| !loader.is_full()) else {
            break;
        };
        page = backend.load(id, next, PAGE_BYTES_MAX)?;
    }
    loader.finish().map_err(Error::from)
}

/// The header on a first page, of this format and of this session.
fn read_header(id: &str, page: &Page) -> Result<Header> {
    let header = match &page.header {
        Some(header) => header.clone().into(),
        None => load::read_header(page.raw.as_deref().unwrap_or_default())?,
    };
    if header.version != FORMAT_VERSION {
        let message = format!(
            "session {} has format version {}, this is version {FORMAT_VERSION}; use a newer annals",
            quoted(id),
            header.version
        );
        let fault = Fault::new(Reason::LogVersionUnsupported, message);
        return Err(Error::from(
            fault.number("actual", u64::from(header.version)),
        ));
    }
    if header.id != id {
        let message = format!(
            "the log stored as session {} says that it is {}",
            quoted(id),
            quoted(&header.id)
        );
        let fault = Fault::new(Reason::HeaderIdMismatch, message).text("expected", id);
        return Err(Error::from(
            fault.text("actual", header.id.as_str()).corrupt(1, 0),
        ));
    }
    header
        .check()
        .map_err(|fault| Error::from(fault.corrupt(1, 0)))?;
    if sealed::is_sealed(&header) {
        return Err(sealed::refusal(id).into());
    }
    Ok(header)
}

/// Refuses to change what is stored beside a sealed log. What has no header that can be read is the backend's to judge.
pub(crate) fn check_unsealed<P: Persistence>(backend: &mut Backend<P>, id: &str) -> Result<()> {
    let header = backend.load(id, 0, 1).ok().and_then(|page| {
        let header = page.header.map(Header::from);
        header.or_else(|| load::read_header(page.raw.as_deref()?).ok())
    });
    match header.is_some_and(|header| sealed::is_sealed(&header)) {
        true => Err(sealed::refusal(id).into()),
        false => Ok(()),
    }
}

/// What the medium holds of a live session.
pub(crate) enum Found {
    Nothing,
    /// A prefix of the log in memory: the cursor stands at its end, and a torn end is cut.
    Prefix,
    /// Anything else, under the same id; nothing was done.
    Collision(Error),
}

/// Find out how much of the log in memory is on the medium already, after an answer that was lost or a medium that is
/// new to the session.
pub(crate) fn adopt<P: Persistence>(
    backend: &mut Backend<P>,
    live: &mut Live,
    token: &str,
) -> Result<Found> {
    let from = live.cursor;
    let mut prefix = Prefix {
        ours: Ours::from(&live.session, from),
        from,
        next_seq: 0,
        is_torn: false,
    };
    let mut cursor = 0;
    loop {
        let page = match backend.load(live.id(), cursor, PAGE_BYTES_MAX) {
            Err(error) if error.code == ErrorCode::NotFound => return Ok(Found::Nothing),
            page => page?,
        };
        if cursor == 0
            && let Some(collision) = header_collision(&page, live.session.header())
        {
            return Ok(Found::Collision(collision));
        }
        if !prefix.takes(&page)? {
            return Ok(Found::Collision(log_collision(live.id())));
        }
        let Some(next) = page.next else { break };
        cursor = next;
    }
    let Prefix {
        next_seq, is_torn, ..
    } = prefix;
    if next_seq < from {
        return Ok(Found::Collision(log_collision(live.id())));
    }
    if is_torn {
        backend.truncate(live.id(), token, next_seq)?;
    }
    live.is_stored = true;
    live.cursor = next_seq;
    Ok(Found::Prefix)
}

/// Why a first page is not of a session with that header, if it is not. Lines are compared: further members may come
/// back without the whitespace that they were given with.
fn header_collision(page: &Page, header: &Header) -> Option<Error> {
    let stored = page.header.clone().map(Header::from);
    if stored.as_ref().map(Header::line) == Some(header.line()) {
        return None;
    }
    let id = header.id.as_str();
    let stored_cwd = stored.as_ref().and_then(|stored| stored.cwd.as_deref());
    if stored.is_some() && stored_cwd != header.cwd.as_deref() {
        let cwd = |cwd: Option<&str>| cwd.unwrap_or("none").to_owned();
        let (stored, live) = (cwd(stored_cwd), cwd(header.cwd.as_deref()));
        let message = format!(
            "session {} is stored already with cwd {}, the live one has {}; fork it under another id",
            quoted(id),
            quoted(&stored),
            quoted(&live)
        );
        let error = Error::new(ErrorCode::AlreadyExists, "live-collision-cwd", message);
        return Some(
            error
                .fact("id", id)
                .fact("stored", stored)
                .fact("live", live),
        );
    }
    let message = format!(
        "another session is stored already as {}; fork the live one under another id",
        quoted(id)
    );
    let error = Error::new(ErrorCode::AlreadyExists, "live-collision", message);
    Some(error.fact("id", id))
}

fn log_collision(id: &str) -> Error {
    let message = format!(
        "session {} is stored already with events that the live one does not begin with; fork the live one under another id",
        quoted(id)
    );
    Error::new(ErrorCode::AlreadyExists, "live-collision-seed", message).fact("id", id)
}

/// The stored records, as far as they were read, against ours.
struct Prefix<'a> {
    ours: Ours<'a>,
    from: u64,
    next_seq: u64,
    /// A bad end was met, so nothing may follow.
    is_torn: bool,
}

impl Prefix<'_> {
    /// Whether the records still are a prefix of ours.
    fn takes(&mut self, page: &Page) -> Result<bool> {
        let has_raw = page.raw.as_ref().is_some_and(|raw| !raw.is_empty());
        if self.is_torn && (has_raw || !page.lines.is_empty()) {
            return Ok(false);
        }
        self.is_torn |= has_raw;
        for line in page.lines.lines() {
            if !self.takes_line(line)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn takes_line(&mut self, line: &str) -> Result<bool> {
        if self.is_torn {
            return Ok(false);
        }
        let Ok(record) = read_record(line) else {
            self.is_torn = true;
            return Ok(true);
        };
        if record.first_seq != self.next_seq {
            return Ok(false);
        }
        self.next_seq += record.count;
        if self.next_seq <= self.from {
            return Ok(true);
        }
        match read_line(line)? {
            Line::Event(_) => Ok(self.ours.go_on_with(line)? && self.ours.go_on_with("\n")?),
            Line::Row(mut row) => {
                // what is known to be stored may end inside it
                let mut known = self.from.saturating_sub(row.seq0);
                // a row may stand for far more than fits in memory
                while row.count > 0 {
                    let mut part = String::new();
                    row = row.expand_part(known, PAGE_BYTES_MAX as usize, &mut part);
                    known = 0;
                    if !self.ours.go_on_with(&part)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }
}

/// Our events that were not met yet, expanded a page at a time.
struct Ours<'a> {
    session: &'a Session,
    page: String,
    /// How much of the page was met, in bytes.
    met: usize,
    /// Seq of the first event behind the page; none when there is nothing.
    next: Option<u64>,
}

impl<'a> Ours<'a> {
    fn from(session: &'a Session, seq: u64) -> Ours<'a> {
        Ours {
            session,
            page: String::new(),
            met: 0,
            next: Some(seq),
        }
    }

    /// Whether ours go on with that text, which is met then.
    fn go_on_with(&mut self, theirs: &str) -> Result<bool> {
        let mut theirs = theirs.as_bytes();
        while !theirs.is_empty() {
            if self.met == self.page.len() {
                let Some(next) = self.next else {
                    return Ok(false);
                };
                let page = self.session.events(next, PAGE_BYTES_MAX)?;
                (self.page, self.met, self.next) = (page.lines, 0, page.next);
            }
            let ours = self.page.as_bytes().get(self.met..).unwrap_or_default();
            let (ours, _) = ours.split_at(ours.len().min(theirs.len()));
            let Some(rest) = theirs.strip_prefix(ours) else {
                return Ok(false);
            };
            theirs = rest;
            self.met += ours.len();
        }
        Ok(true)
    }
}
