//! Properties of the core over arbitrary bytes: one function a fuzz target, and what they build on.
//!
//! An input that begins with [`DECISIONS`] is read as decisions that build a log which nearly holds the rules; any
//! other is taken as it is, so that real lines are inputs too. Whatever else a property has to choose (where a page
//! ends, what is cut off) comes from a generator seeded with the input: one input is one case, for ever.
mod chunk_rows;
mod closers;
mod decisions;
mod envelope;
mod events;
mod fold;
mod json;
mod loading;
mod logs;
mod scan;
pub mod seeds;
mod views;

use std::borrow::Cow;

use crate::random::Random;

pub use chunk_rows::chunk_rows;
pub use closers::closers;
pub use envelope::envelope;
pub use fold::fold;
pub use scan::scan;

/// The first byte of an input whose others are decisions.
pub const DECISIONS: u8 = b'#';

/// A fuzz target by name.
pub type Target = (&'static str, fn(&[u8]));

/// Every fuzz target.
pub const TARGETS: [Target; 5] = [
    ("scan", scan),
    ("envelope", envelope),
    ("fold", fold),
    ("chunk_rows", chunk_rows),
    ("closers", closers),
];

/// The bytes of a log without its header line that an input stands for.
fn body(data: &[u8]) -> Cow<'_, [u8]> {
    match data {
        [DECISIONS, decisions @ ..] => Cow::Owned(logs::near_log(decisions)),
        _ => Cow::Borrowed(data),
    }
}

/// A generator that begins with what `data` comes to (FNV-1a).
fn random(data: &[u8]) -> Random {
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    Random::new(data.iter().fold(0xcbf2_9ce4_8422_2325, hash))
}

/// [`body`] as text, bytes that are no UTF-8 replaced.
fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(&body(data)).into_owned()
}
