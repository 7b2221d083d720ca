//! The suite has teeth: for each fault there is a check that finds it.

use std::path::Path;

use annals_contract::{InDirectory, InMemory, Outcome, Subject, checks};
use annals_jsonl::Jsonl;
use annals_memory::Memory;
use annals_sdk::Persistence;
use annals_template::Template;

use crate::faulty::Faulty;

/// A subject whose backend has a fault.
struct Broken {
    subject: Box<dyn Subject>,
    fault: &'static str,
}

impl Subject for Broken {
    fn empty(&mut self) -> Result<(), String> {
        self.subject.empty()
    }

    fn settings(&self) -> Vec<(String, String)> {
        self.subject.settings()
    }

    fn start(&mut self) -> Result<Box<dyn Persistence>, String> {
        Ok(Box::new(Faulty::new(self.subject.start()?, self.fault)))
    }

    fn directory(&self) -> Option<&Path> {
        self.subject.directory()
    }
}

/// Faults over the memory backend, and the check that each of them fails.
const IN_MEMORY: &[(&str, &str)] = &[
    ("answers before configure", "configure/before"),
    ("takes unknown settings", "configure/unknown"),
    ("changes its promises", "configure/repeated"),
    ("has no name", "configure/info"),
    ("evicts whoever is there", "lease/one-holder"),
    ("hides the holder", "lease/one-holder"),
    ("renews any token", "lease/renew"),
    ("renews without a sign", "lease/renew"),
    ("never gives a lease back", "lease/release"),
    ("gives back whoever's lease", "lease/release"),
    ("lets a stale eviction win", "lease/evict"),
    ("gives one token to all", "lease/tokens"),
    ("ignores tokens", "lease/writes"),
    ("reads for a holder alone", "lease/reading"),
    ("has one lease for all sessions", "lease/apart"),
    ("stores the header of a refused batch", "create/neither"),
    ("creates over a session", "create/existing"),
    ("stores no header without events", "create/header-alone"),
    ("drops unknown header members", "create/headers"),
    ("keeps a default cwd", "create/both"),
    ("counts lines instead of events", "create/rows"),
    ("drops the last event of a batch", "append/contiguous"),
    ("stores a batch twice", "append/contiguous"),
    ("panics", "append/contiguous"),
    ("accepts a gap", "append/gap"),
    ("accepts a repetition", "append/repeated"),
    ("stores the refused batch of another seq", "append/gap"),
    ("creates on append", "append/missing"),
    ("refuses an empty batch", "append/empty"),
    ("drops the last event of a batch", "append/apart"),
    ("stores a hundred events of a batch", "append/thousand"),
    ("takes no long batch", "append/long-event"),
    ("counts lines instead of events", "append/rows"),
    ("expands rows", "append/rows"),
    ("knows no limit", "append/limit"),
    ("stores what fits", "append/limit"),
    ("keeps numbers as doubles", "bytes/numbers"),
    ("sorts members", "bytes/members"),
    ("drops carriage returns", "bytes/members"),
    ("replaces lone surrogates", "bytes/escapes"),
    ("writes escapes as characters", "bytes/escapes"),
    ("ends lines where Unicode does", "bytes/text"),
    ("drops byte order marks", "bytes/text"),
    ("composes accents", "bytes/text"),
    ("refuses deep nesting", "bytes/nested"),
    ("gives pages over the limit", "load/pages"),
    ("has a cursor that never ends", "load/pages"),
    ("has a cursor that stands still", "load/pages"),
    ("gives the header on every page", "load/pages"),
    ("skips a record at a cursor", "load/growing"),
    ("splits long records", "load/long-records"),
    ("takes any cursor", "load/cursors"),
    ("takes any cursor", "load/shrunk"),
    ("makes up its labels", "load/missing"),
    ("has an empty log for every id", "load/missing"),
    ("forgets what it cut", "truncate/keeps"),
    ("gives cut bytes as lines", "truncate/all"),
    ("cuts to what is there", "truncate/invalid"),
    ("refuses to cut nothing", "truncate/nothing"),
    ("cuts what is not there", "truncate/missing"),
    ("splits a row", "truncate/invalid"),
    ("gives the newest cut first", "truncate/repeated"),
    ("forgets what it cut", "truncate/deeper"),
    ("gives the newest cut first", "truncate/cut-pages"),
    ("lists one session less", "list/each-once"),
    ("lists a session twice", "list/each-once"),
    ("ends the listing after a page", "list/each-once"),
    ("lists more than was asked for", "list/bounded"),
    ("lists without headers", "list/entries"),
    ("lists the time of the medium", "list/entries"),
    ("keeps summaries to itself", "list/entries"),
    ("takes any listing cursor", "list/cursor"),
    ("lists an example", "list/empty"),
    ("lists by position", "list/changing"),
    ("trims ids", "list/has"),
    ("replaces a summary whole", "update/fields"),
    ("ignores an empty text", "update/fields"),
    ("keeps the first line of a title", "update/text"),
    ("takes a summary for a change", "update/log"),
    ("creates on update", "update/missing"),
    ("leaves a deleted session", "delete/everything"),
    (
        "leaves the summary of a deleted session",
        "delete/everything",
    ),
    ("keeps the lease of a deleted session", "delete/lease"),
    ("deletes what is not there", "delete/missing"),
    ("deletes what begins alike", "delete/apart"),
    ("folds case in ids", "ids/hostile"),
    ("takes ids for paths", "ids/hostile"),
    ("cuts long ids", "ids/long"),
    ("names the empty id", "ids/empty"),
    ("tidies working directories", "ids/cwds"),
];

/// Faults over the template, which has a directory and no leases.
const IN_DIRECTORY: &[(&str, &str)] = &[
    (
        "blames the medium for a missing setting",
        "configure/missing",
    ),
    ("has a lease where it says none", "lease/none"),
    ("writes behind", "restart/between"),
    ("keeps summaries in the instance", "restart/sessions"),
    ("trusts the writer", "restart/seq"),
    ("has cursors of one instance", "restart/cursors"),
    ("leaves a deleted session", "restart/delete"),
    ("hides what is no line", "damage/torn-end"),
    ("replaces what is no UTF-8", "damage/not-utf8"),
    ("fails to list damage", "damage/header"),
    ("lists a newer version as its own", "damage/version"),
    ("counts bytes from the page's start", "load/pages"),
    ("takes damaged for absent", "damage/empty-file"),
];

/// Faults over the JSONL backend, which has leases on its medium.
const IN_JSONL: &[(&str, &str)] = &[
    ("evicts whoever is there", "lease/two-instances"),
    ("keeps leases in the instance", "lease/restart"),
];

fn found(faults: &[(&'static str, &'static str)], subject: fn() -> Box<dyn Subject>) {
    let mut unnoticed = Vec::new();
    for (fault, name) in faults {
        let check = checks().into_iter().find(|check| check.name() == *name);
        let check = check.unwrap_or_else(|| panic!("there is no check {name:?}"));
        let subject = subject();
        let row = check.run(&mut Broken { subject, fault });
        println!("{fault:<40} {row}");
        if !matches!(row.outcome, Outcome::Failed(_)) {
            unnoticed.push((fault, row.to_string()));
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:#?}");
}

#[test]
fn every_fault_in_memory_is_found() {
    found(IN_MEMORY, || Box::new(InMemory::<Memory>::default()));
}

#[test]
fn every_fault_on_a_medium_is_found() {
    found(IN_DIRECTORY, || {
        Box::new(InDirectory::<Template>::new("root"))
    });
    found(IN_JSONL, || Box::new(InDirectory::<Jsonl>::new("root")));
}

#[test]
fn every_check_finds_a_fault() {
    let faults = [IN_MEMORY, IN_DIRECTORY, IN_JSONL].concat();
    for check in checks() {
        let is_found = faults.iter().any(|(_, name)| *name == check.name());
        assert!(is_found, "{}", check.name());
    }
}
