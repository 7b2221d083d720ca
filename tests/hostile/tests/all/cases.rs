//! What is tried, and what it has to come to.

/// Where the attack happens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum On {
    Append,
    Open,
    List,
}

pub struct Case {
    /// The name of the attack, as the component knows it.
    pub attack: &'static str,
    pub on: On,
    /// The reason of the error that the caller gets; none where it comes to nothing.
    pub reason: Option<&'static str>,
    /// What its message has to name besides the backend.
    pub named: &'static str,
}

const fn case(attack: &'static str, on: On, reason: &'static str, named: &'static str) -> Case {
    let reason = Some(reason);
    Case {
        attack,
        on,
        reason,
        named,
    }
}

/// One that gets nowhere, so that the batch is stored.
const fn nowhere(attack: &'static str) -> Case {
    Case {
        attack,
        on: On::Append,
        reason: None,
        named: "",
    }
}

pub const CASES: [Case; 36] = [
    case("loop", On::Append, "backend-timeout", "call-ms-max"),
    case("sleep", On::Append, "backend-timeout", "call-ms-max"),
    case("pipe", On::Append, "backend-timeout", "call-ms-max"),
    case("memory", On::Append, "backend-limit", "memory-bytes-max"),
    case("handles", On::Append, "backend-limit", "handles-max"),
    case(
        "directory streams",
        On::Append,
        "backend-limit",
        "directory-streams-max",
    ),
    case("recursion", On::Append, "backend-trapped", "stack"),
    case(
        "recursion in memory",
        On::Append,
        "backend-trapped",
        "memory",
    ),
    case("trap", On::Append, "backend-trapped", "unreachable"),
    case("exit", On::Append, "backend-trapped", "exit"),
    case("long error", On::Append, "backend-limit", "page-bytes-max"),
    case(
        "error that is no text",
        On::Append,
        "backend-trapped",
        "utf-8",
    ),
    case("conflicts", On::Append, "append-seq-mismatch", "victim"),
    case("refuses", On::Append, "refused", "does not want"),
    case(
        "log without end",
        On::Open,
        "backend-timeout",
        "operation-ms-max",
    ),
    case(
        "bad end without end",
        On::Open,
        "backend-timeout",
        "operation-ms-max",
    ),
    case("page too long", On::Open, "backend-limit", "page-bytes-max"),
    case("page that is no text", On::Open, "backend-trapped", "utf-8"),
    case("relative cwd", On::Open, "header-cwd-not-absolute", "cwd"),
    case(
        "header of another",
        On::Open,
        "header-id-mismatch",
        "bystander",
    ),
    case("newer version", On::Open, "log-version-unsupported", "9"),
    case("no header", On::Open, "backend-page-header", "header"),
    case("half a line", On::Open, "backend-page-lines", "whole"),
    case(
        "cursor stands still",
        On::Open,
        "backend-page-cursor",
        "advance",
    ),
    case("lines and bytes", On::Open, "backend-page-lines", "bytes"),
    case("seqs that lie", On::Open, "log-corrupt-seq-gap", "seq 4"),
    case("events twice", On::Open, "log-corrupt-seq-gap", "seq 0"),
    case(
        "listing without end",
        On::List,
        "limit-reached",
        "listing-sessions-max",
    ),
    case("listing in a circle", On::List, "backend-listing", "end"),
    case(
        "listing of too many",
        On::List,
        "backend-listing",
        "more sessions",
    ),
    case(
        "gigabyte of listing",
        On::List,
        "backend-limit",
        "page-bytes-max",
    ),
    nowhere("read outside"),
    nowhere("write outside"),
    nowhere("links outwards"),
    nowhere("network"),
    nowhere("environment"),
];
