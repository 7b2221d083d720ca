//! The command end to end: every command as a process of its own, on a root of its own.

// A test says that something is wrong by panicking, helpers included.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod backends;
mod bad_input;
mod busy;
mod cache;
mod commands;
mod contract;
mod damage;
mod doctor;
mod faults;
mod fixtures;
mod grounds;
mod import;
mod inputs;
mod interrupted;
mod layers;
mod limits;
mod media;
mod modes;
mod names;
mod patients;
mod reading;
mod readme;
mod refusals;
mod reports;
mod salvage;
mod sealed;
mod strict;
mod support;
mod tables;
mod text;
mod twice;
