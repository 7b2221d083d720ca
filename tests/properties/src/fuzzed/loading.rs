//! Logs taken in, and everything that can be seen of a session, for comparing.

use annals_core::fault::{Fact, Fault, SHOWN_CHARS_MAX};
use annals_core::header::Header;
use annals_core::load::{Cut, Loaded, Loader};
use annals_core::session::Session;

use super::views::Seen;

/// Bytes of the header line that no input holds.
pub(super) const HEADER_BYTES: u64 = 50;

/// A message quotes a few names and paths, none of them whole.
const MESSAGE_BYTES_MAX: usize = 4000;

pub(super) fn header() -> Header {
    Header {
        id: "s".to_owned(),
        ..Header::default()
    }
}

/// A session that begins with `lines`.
pub(super) fn seeded(lines: &str) -> Result<Session, Fault> {
    Session::from_seed(header(), lines).inspect_err(check_fault)
}

/// Takes in a log that comes in one piece.
pub(super) fn load(body: &[u8]) -> Result<Loaded, Fault> {
    let mut loader = loader();
    loader.raw(body, None);
    loader.finish().inspect_err(check_fault)
}

pub(super) fn loader() -> Loader {
    Loader::new(header(), HEADER_BYTES)
}

/// The lines of a log as text, each ended by a newline; none where the last one is torn or one is no UTF-8.
pub(super) fn whole_text(body: &[u8]) -> Option<&str> {
    std::str::from_utf8(body)
        .ok()
        .filter(|text| text.is_empty() || text.ends_with('\n'))
}

/// A fault says its piece on one line and quotes nothing whole.
pub(super) fn check_fault(fault: &Fault) {
    let message = &fault.message;
    assert!(
        message.len() <= MESSAGE_BYTES_MAX,
        "{} bytes: {message}",
        message.len()
    );
    assert!(
        !message.contains(['\n', '\r']),
        "a message is one line: {message:?}"
    );
    for (name, fact) in &fault.facts {
        if let Fact::Text(text) = fact {
            assert!(
                text.chars().count() <= SHOWN_CHARS_MAX + 1,
                "fact {name}: {text}"
            );
        }
    }
}

/// What came of taking a log in.
pub(super) type Outcome = Result<(Seen, Option<Cut>), Fault>;

pub(super) fn outcome(loaded: Result<Loaded, Fault>) -> Outcome {
    loaded.map(|Loaded { mut session, cut }| (Seen::of(&mut session), cut))
}
