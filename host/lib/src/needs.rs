//! What a component imports, against what it is granted.

use crate::error::{Error, Result};
use crate::grants::Grants;
use crate::records::ErrorCode;

/// What a component asks of those who run it, as far as it has to be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Need {
    /// It imports `wasi:filesystem`: a root or another directory.
    Files,
    /// It imports `wasi:sockets`: the TCP addresses that it may connect to.
    Network,
}

impl Need {
    /// How manifests and facts of errors name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Network => "network",
        }
    }
}

/// What an import takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Nothing: clocks, randomness, and what is empty unless something is granted (environment, arguments, streams).
    Nothing,
    Grant(Need),
    /// What no backend gets.
    Never,
}

/// What the import of that name takes.
pub(crate) fn asked_by(import: &str) -> Asks {
    let interface = import.split('/').next().unwrap_or_default();
    match interface {
        "wasi:filesystem" => Asks::Grant(Need::Files),
        "wasi:sockets" => Asks::Grant(Need::Network),
        "wasi:cli" | "wasi:clocks" | "wasi:io" | "wasi:random" => Asks::Nothing,
        _ if import.starts_with("annals:session/types@") => Asks::Nothing,
        _ => Asks::Never,
    }
}

/// Refuses a component of that name whose imports exceed its grants.
pub(crate) fn check<'a>(
    name: &str,
    imports: impl IntoIterator<Item = &'a str>,
    grants: &Grants,
) -> Result<()> {
    for import in imports {
        match asked_by(import) {
            Asks::Nothing => {}
            Asks::Grant(need) if grants.cover(need) => {}
            Asks::Grant(need) => return Err(lacking(name, import, need)),
            Asks::Never => return Err(never(name, import)),
        }
    }
    Ok(())
}

fn lacking(name: &str, import: &str, need: Need) -> Error {
    let (what, cure) = match need {
        Need::Files => (
            "no directory",
            "grant a root or another directory, or, where it only imports files and needs none, accept them as inert",
        ),
        Need::Network => (
            "no TCP address",
            "grant the addresses that it may connect to, or, where it only imports sockets and needs none, accept them as inert",
        ),
    };
    let message = format!("{name} imports {import}, and {what} is granted; {cure}");
    let facts = [
        ("component", name),
        ("import", import),
        ("grant", need.name()),
    ];
    Error::new(ErrorCode::Invalid, "grant-missing", message, &facts)
}

fn never(name: &str, import: &str) -> Error {
    let message = format!(
        "{name} imports {import}, which no backend is given; build it without (a backend may have files, TCP connections, clocks and randomness)"
    );
    let facts = [("component", name), ("import", import)];
    Error::new(
        ErrorCode::Invalid,
        "component-import-missing",
        message,
        &facts,
    )
}
