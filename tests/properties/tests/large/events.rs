//! One event: deep, long, or with hundreds of thousands of sources.

use annals_core::fault::Reason;
use annals_properties::large::{LEVELS, LONG, NESTED, SOURCED, Shape, event, line, nested};

use crate::calls::{
    ALL, APPEND, APPEND_EACH, CLOSE, CLOSERS, DERIVE, FOLD, LOAD, PACK, SEED, TRACE, UNPACK, USAGE,
};
use crate::measure::{refused, taken};

#[test]
fn nesting_has_no_limit() {
    for shape in NESTED {
        taken(shape, ALL);
    }
}

#[test]
fn a_fault_deep_inside_is_typed() {
    let shape = |name, make| Shape {
        name,
        size: LEVELS,
        make,
    };
    let lossy = shape("a lossy number, nested", |levels| {
        event(&nested("[", "-0", "]", levels))
    });
    refused(&lossy, &[APPEND, APPEND_EACH], Reason::AppendDataNotJson);
    refused(&lossy, &[SEED, LOAD], Reason::SeedNotJson);
    let torn = shape("nested, torn", |levels| {
        event(&nested("{\"a\":", "", "", levels))
    });
    refused(
        &torn,
        &[APPEND, APPEND_EACH, FOLD, CLOSERS, USAGE],
        Reason::JsonSyntax,
    );
    refused(&torn, &[PACK, UNPACK], Reason::LogCorruptUnparsable);
    let marker = shape("a nested marker", |levels| {
        let op = nested("[", "", "]", levels);
        line("user/message", 0, &format!("\"data\":0,\"surfaceOp\":{op}"))
    });
    let calls = &[APPEND, APPEND_EACH, SEED, LOAD, FOLD];
    refused(&marker, calls, Reason::SurfaceOpInvalid);
    let sources = shape("nested sources", |levels| {
        let sources = nested("[", "", "]", levels);
        let surface = format!("\"surfaceOp\":\"append\",\"sourceEventSeqs\":{sources}");
        line("user/message", 0, &format!("\"data\":0,{surface}"))
    });
    refused(&sources, calls, Reason::SourcesNotSeqs);
}

#[test]
fn long_events_are_taken() {
    for shape in LONG {
        let calls: &[_] = match shape.name {
            "a long prompt" => ALL,
            "a long call id" => &[LOAD, APPEND, CLOSERS, TRACE, CLOSE, DERIVE],
            _ => &[LOAD, APPEND, FOLD, PACK],
        };
        taken(shape, calls);
    }
}

#[test]
fn many_sources_are_taken() {
    for shape in SOURCED {
        taken(shape, ALL);
    }
}
