//! The contract, run natively: by backends that keep it, and by ones that each break it in one way.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod broken;
mod faulty;
mod kept;
mod map;
mod rewritten;
mod rooted;
