//! Runs recorded cases of the reference implementation against the rules and the linked components.
//!
//! The vectors are read from any directory of their schema; nothing here knows a case by its name. Absent: rules of a
//! session log. What an adapter in `ops` needs to know is how to ask, never what is right.

pub mod answer;
pub mod canonical;
pub mod differences;
pub mod files;
pub mod host;
pub mod host_value;
pub mod native;
pub mod ops;
mod records;
pub mod report;
pub mod run;
pub mod vector;
pub mod wasm;
