//! Directories of the host that somebody is granted: which of them lie in others, and whether one is still what it was.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::invalid;
use crate::error::{Error, Result};
use crate::records::ErrorCode;
use crate::room::Room;

/// What a directory is, whatever it is called.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = PathBuf;

/// Where a directory is, or would be made.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(super) given: PathBuf,
    /// As it was given, but absolute.
    spelled: PathBuf,
    /// Without links, as far as it is there.
    pub(super) real: PathBuf,
    /// None where it is not there.
    identity: Option<Identity>,
    /// Its own, and of all that it lies in.
    around: Vec<Identity>,
}

impl Ground {
    pub(super) fn of(given: &Path) -> Self {
        let absolute = std::path::absolute(given).unwrap_or_else(|_| given.to_path_buf());
        let real = real(&absolute);
        // What `..` leads to only links tell.
        let is_plain = !absolute
            .components()
            .any(|part| part == Component::ParentDir);
        Self {
            given: given.to_path_buf(),
            spelled: if is_plain { absolute } else { real.clone() },
            identity: identity(&real),
            around: real.ancestors().filter_map(identity).collect(),
            real,
        }
    }

    /// Whether it is the other one or lies in it, by its name, without links, or under another name.
    pub(super) fn lies_in(&self, other: &Self) -> bool {
        let is_around = |identity| self.around.contains(identity);
        self.spelled.starts_with(&other.spelled)
            || self.real.starts_with(&other.real)
            || other.identity.as_ref().is_some_and(is_around)
    }

    /// Whether the same directory is still there.
    pub(super) fn is_still(&self) -> bool {
        identity(&self.real) == self.identity
    }
}

/// What is there of a path, without links, and after it what is not.
fn real(absolute: &Path) -> PathBuf {
    for there in absolute.ancestors() {
        let (Ok(found), Ok(missing)) = (there.canonicalize(), absolute.strip_prefix(there)) else {
            continue;
        };
        return match missing.as_os_str().is_empty() {
            true => found,
            false => found.join(missing),
        };
    }
    absolute.to_path_buf()
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;

    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    path.canonicalize().ok()
}

/// Makes a directory, and those above it, for its owner only. Their names are durable then: no sync of what is in a root
/// would keep it there after a power loss.
pub(super) fn make(root: &Path) -> io::Result<()> {
    let missing = root.ancestors().take_while(|path| !path.exists());
    let made: Vec<&Path> = missing.filter(|path| path.file_name().is_some()).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(root)?;
    #[cfg(unix)]
    for path in made.into_iter().rev() {
        let holding = path.parent().filter(|path| !path.as_os_str().is_empty());
        fs::File::open(holding.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

pub(super) fn check_beside(granted: &Ground, other: &Ground, what: &str) -> Result<()> {
    let how = match (granted.lies_in(other), other.lies_in(granted)) {
        (false, false) => return Ok(()),
        (true, true) => "is the same as",
        (true, false) => "lies in",
        (false, true) => "lies around",
    };
    let (granted, other) = (&granted.given, &other.given);
    Err(invalid(format!(
        "directory {granted:?} {how} {other:?}, {what}; grant one that lies beside it"
    )))
}

pub(super) fn root_error(root: &Path, error: &io::Error) -> Error {
    let shown = root.display().to_string();
    let facts = [("path", shown.as_str())];
    if let Some(room) = Room::of_io(error) {
        return room.ran_out(&format!("root {shown:?} cannot be opened"));
    }
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let message =
                format!("no space is left to make root {shown:?}; free some and try again");
            Error::new(ErrorCode::NoSpace, "root-no-space", message, &facts)
        }
        io::ErrorKind::NotFound => {
            let message =
                format!("root {shown:?} not found; give the directory that holds the sessions");
            Error::new(ErrorCode::NotFound, "root-not-found", message, &facts)
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            let message = format!("root {shown:?} is not a directory; give one");
            Error::new(ErrorCode::Invalid, "root-not-a-directory", message, &facts)
        }
        _ => {
            let cause = match error.kind() {
                io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
                _ => error.to_string(),
            };
            let message =
                format!("root {shown:?} cannot be opened: {cause}; check its permissions");
            Error::new(ErrorCode::Other, "root-unreadable", message, &facts)
        }
    }
}

pub(super) fn directory_error(directory: &Path, error: &wasmtime::Error) -> Error {
    if let Some(room) = Room::of_wasmtime(error) {
        return room.ran_out(&format!("granted directory {directory:?} cannot be opened"));
    }
    let shown = directory.display().to_string();
    let cause = error.root_cause().to_string();
    let message = format!(
        "granted directory {shown:?} cannot be opened: {cause}; make it, or grant another one"
    );
    let facts = [("path", shown.as_str())];
    Error::new(
        ErrorCode::NotFound,
        "grant-directory-unreadable",
        message,
        &facts,
    )
}

/// A directory that was exchanged after the first start.
pub(super) fn changed(directory: &Path) -> Error {
    let shown = directory.display().to_string();
    let message = format!(
        "granted directory {shown:?} is not the one that was granted, something else has its name; put it back, or build a new handle"
    );
    let facts = [("path", shown.as_str())];
    Error::new(ErrorCode::Unavailable, "grant-changed", message, &facts)
}
