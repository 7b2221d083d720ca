//! The bundled backends keep the contract.

use annals_contract::{InDirectory, InMemory, Outcome, Report, Subject, run};
use annals_jsonl::Jsonl;
use annals_memory::Memory;
use annals_template::Template;

use crate::map::InMap;
use crate::rooted::Rooted;

fn kept(subject: &mut dyn Subject, not_applicable: &[&str]) {
    let report: Report = run(subject, |row| println!("{row}"));
    println!("{}", report.counts());
    let failures: Vec<String> = report.failures().map(ToString::to_string).collect();
    assert!(report.is_ok(), "{failures:#?}");
    let rows = report.rows.iter();
    let left_out: Vec<&str> = rows
        .filter(|row| matches!(row.outcome, Outcome::NotApplicable(_)))
        .map(|row| row.name)
        .collect();
    assert_eq!(left_out, not_applicable);
}

/// What there is to check of a medium that outlives the instance.
const RESTART: [&str; 7] = [
    "lease/two-instances",
    "lease/restart",
    "restart/sessions",
    "restart/between",
    "restart/seq",
    "restart/cursors",
    "restart/delete",
];

/// What there is to check of leases where there are none.
const LEASES: [&str; 9] = [
    "lease/one-holder",
    "lease/renew",
    "lease/release",
    "lease/evict",
    "lease/tokens",
    "lease/writes",
    "lease/apart",
    "lease/two-instances",
    "lease/restart",
];

/// What there is to check of a medium that is a directory.
const DAMAGE: [&str; 5] = [
    "damage/torn-end",
    "damage/not-utf8",
    "damage/header",
    "damage/version",
    "damage/empty-file",
];

#[test]
fn by_jsonl() {
    kept(&mut InDirectory::<Jsonl>::new("root"), &["lease/none"]);
}

#[test]
fn by_jsonl_that_promises_nothing() {
    let mut subject = InDirectory::<Jsonl>::new("root").setting("sync", "never");
    kept(&mut subject, &[&["lease/none"][..], &RESTART].concat());
}

#[test]
fn by_memory() {
    let not_applicable = [&["lease/none"][..], &RESTART, &DAMAGE].concat();
    kept(&mut InMemory::<Memory>::default(), &not_applicable);
}

#[test]
fn by_the_template() {
    let not_applicable = [&LEASES[..], &["delete/lease"]].concat();
    kept(&mut InDirectory::<Template>::new("root"), &not_applicable);
}

#[test]
fn by_blobs_of_any_medium() {
    let not_applicable = [&LEASES[..], &["append/long-event", "delete/lease"], &DAMAGE].concat();
    kept(&mut InMap::default(), &not_applicable);
}

#[test]
fn by_one_with_a_lease_of_the_root() {
    let mut subject = InDirectory::<Rooted>::new("root");
    let not_applicable = [
        "lease/reading",
        "lease/apart",
        "lease/none",
        "lease/two-instances",
        "lease/restart",
    ];
    kept(&mut subject, &not_applicable);
}
