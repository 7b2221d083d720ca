//! What a backend may touch: one directory, and nothing else.
//!
//! Absent: network, environment, arguments, standard streams.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use wasmtime_wasi::{FsPerms, WasiCtx};

use crate::error::{Error, Result};
use crate::records::ErrorCode;
use crate::room::Room;

/// Where the root is in the eyes of a backend.
pub(crate) const GUEST_ROOT: &str = "/annals";

/// What the builder was given for a backend.
#[derive(Clone)]
pub(crate) struct Grants {
    root: Option<PathBuf>,
    create_root: bool,
}

impl Grants {
    pub(crate) fn new(root: Option<PathBuf>, create_root: bool) -> Self {
        Self { root, create_root }
    }

    /// For a component that uses no files.
    pub(crate) fn nothing() -> Self {
        Self {
            root: None,
            create_root: false,
        }
    }

    /// The same once they were used: a root is made once.
    pub(crate) fn made(&self) -> Self {
        Self {
            root: self.root.clone(),
            create_root: false,
        }
    }

    /// The granted root.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Whether there is a root to name in the backend's settings.
    pub(crate) fn has_root(&self) -> bool {
        self.root.is_some()
    }

    /// The grants as WASI, the root opened and, when asked for, made.
    pub(crate) fn wasi(&self) -> Result<WasiCtx> {
        let mut wasi = WasiCtx::builder();
        wasi.allow_tcp(false).allow_udp(false);
        // The thread is the components' own, so a file operation may simply block it.
        wasi.allow_blocking_current_thread(true);
        if let Some(root) = &self.root {
            if self.create_root {
                make(root).map_err(|error| root_error(root, &error))?;
            }
            if !fs::metadata(root)
                .map_err(|error| root_error(root, &error))?
                .is_dir()
            {
                return Err(root_error(
                    root,
                    &io::Error::from(io::ErrorKind::NotADirectory),
                ));
            }
            // A backend does not know the root's name, so what it could not list is refused here.
            fs::read_dir(root).map_err(|error| root_error(root, &error))?;
            wasi.preopened_dir(root, GUEST_ROOT, FsPerms::ReadWrite)
                .map_err(|error| match Room::of_wasmtime(&error) {
                    Some(room) => room.ran_out(&format!("root {root:?} cannot be opened")),
                    None => root_error(root, &io::Error::other(error.root_cause().to_string())),
                })?;
        }
        Ok(wasi.build())
    }
}

/// Makes a directory, and those above it, for its owner only. Their names are durable then: no sync of what is in a root
/// would keep it there after a power loss.
fn make(root: &Path) -> io::Result<()> {
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

fn root_error(root: &Path, error: &io::Error) -> Error {
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
