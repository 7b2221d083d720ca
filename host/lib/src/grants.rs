//! What a backend may touch: directories, TCP addresses, names of the environment; nothing else, and nothing at all
//! unless it was granted.
//!
//! Absent: arguments, standard streams, UDP, name lookup, listening.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use wasmtime_wasi::sockets::SocketAddrUse;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

use crate::error::{Error, Result};
use crate::needs::Need;
use crate::records::ErrorCode;
use crate::room::Room;

/// Where the root is in the eyes of a backend.
pub(crate) const GUEST_ROOT: &str = "/annals";

/// What a backend may do in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Look at what is there.
    Read,
    /// Change it too.
    ReadWrite,
}

/// What happens on a thread while a backend waits for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The thread waits too: it is the components' own.
    Blocks,
    /// Another one waits, so that the wait can be given up.
    Aside,
}

/// What a backend was given. The root is a directory that is made where it is missing, and named in the settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grants {
    pub(crate) root: Option<PathBuf>,
    pub(crate) create_root: bool,
    pub(crate) directories: Vec<Directory>,
    pub(crate) tcp: Vec<SocketAddr>,
    /// Names with their values.
    pub(crate) environment: Vec<(String, String)>,
    /// What may be imported although nothing of it is granted.
    pub(crate) inert: Vec<Need>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) host: PathBuf,
    pub(crate) guest: String,
    pub(crate) access: Access,
}

impl Grants {
    /// For a component that uses nothing.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// The same without files, for a component that uses none.
    pub(crate) fn without_files(self) -> Self {
        Self {
            directories: Vec::new(),
            ..self.without_root()
        }
    }

    /// The same without a root, for a backend that uses no files while something over it does.
    pub(crate) fn without_root(self) -> Self {
        Self { root: None, ..self }
    }

    /// The same once they were used: a root is made once.
    pub(crate) fn made(&self) -> Self {
        Self {
            create_root: false,
            ..self.clone()
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

    /// Whether a component may import what needs that.
    pub(crate) fn cover(&self, need: Need) -> bool {
        let is_granted = match need {
            Need::Files => self.root.is_some() || !self.directories.is_empty(),
            Need::Network => !self.tcp.is_empty(),
        };
        is_granted || self.inert.contains(&need)
    }

    /// Refuses grants that mean nothing or not one thing.
    pub(crate) fn check(&self) -> Result<()> {
        let mut guests = BTreeSet::new();
        for Directory { guest, .. } in &self.directories {
            let is_in_root = self.has_root() && Path::new(guest).starts_with(GUEST_ROOT);
            if !is_plain(guest) || is_in_root || !guests.insert(guest) {
                return Err(invalid(format!(
                    "directory {guest:?} cannot be granted under that name; give it an absolute one without '.', '..' and empty parts that no other directory has and that is not in the root, {GUEST_ROOT:?}"
                )));
            }
        }
        let mut names = BTreeSet::new();
        for (name, value) in &self.environment {
            let is_name = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
            if !is_name || !names.insert(name) {
                return Err(invalid(format!(
                    "environment name {name:?} cannot be granted; give each name once, without '='"
                )));
            }
        }
        Ok(())
    }

    /// The grants as WASI, the root opened and, when asked for, made.
    pub(crate) fn wasi(&self, waiting: Waiting) -> Result<WasiCtx> {
        let mut wasi = WasiCtx::builder();
        wasi.allow_blocking_current_thread(waiting == Waiting::Blocks);
        wasi.allow_udp(false).allow_ip_name_lookup(false);
        wasi.allow_tcp(!self.tcp.is_empty());
        let granted = self.tcp.clone();
        wasi.socket_addr_check(move |address, used| {
            let allows = allows(&granted, address, used);
            Box::pin(async move { allows })
        });
        wasi.envs(&self.environment);
        if let Some(root) = &self.root {
            self.add_root(root, &mut wasi)?;
        }
        for directory in &self.directories {
            let perms = match directory.access {
                Access::Read => FsPerms::ReadOnly,
                Access::ReadWrite => FsPerms::ReadWrite,
            };
            wasi.preopened_dir(&directory.host, &directory.guest, perms)
                .map_err(|error| directory_error(&directory.host, &error))?;
        }
        Ok(wasi.build())
    }

    fn add_root(&self, root: &Path, wasi: &mut WasiCtxBuilder) -> Result<()> {
        let failed = |error: io::Error| root_error(root, &error);
        if self.create_root {
            make(root).map_err(failed)?;
        }
        if !fs::metadata(root).map_err(failed)?.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        // A backend does not know the root's name, so what it could not list is refused here.
        fs::read_dir(root).map_err(failed)?;
        wasi.preopened_dir(root, GUEST_ROOT, FsPerms::ReadWrite)
            .map_err(|error| match Room::of_wasmtime(&error) {
                Some(room) => room.ran_out(&format!("root {root:?} cannot be opened")),
                None => failed(io::Error::other(error.root_cause().to_string())),
            })?;
        Ok(())
    }
}

/// Whether it names one place, and in one way.
fn is_plain(guest: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    let rest = guest.strip_prefix('/');
    rest.is_some_and(|rest| rest.is_empty() || rest.split('/').all(is_plain))
}

/// A connection to one of the addresses. What libc binds to before that is no address: any port, on any interface.
fn allows(granted: &[SocketAddr], address: SocketAddr, used: SocketAddrUse) -> bool {
    match used {
        SocketAddrUse::TcpConnect => granted.contains(&address),
        SocketAddrUse::TcpBind => {
            !granted.is_empty() && address.ip().is_unspecified() && address.port() == 0
        }
        _ => false,
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

fn directory_error(directory: &Path, error: &wasmtime::Error) -> Error {
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

fn invalid(message: String) -> Error {
    Error::new(ErrorCode::Invalid, "grant-invalid", message, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_granted_for_connecting_and_no_other_use() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let granted = [address("10.0.0.1:5432"), address("[::1]:5432")];
        let table = [
            ("10.0.0.1:5432", SocketAddrUse::TcpConnect, true),
            ("[::1]:5432", SocketAddrUse::TcpConnect, true),
            ("10.0.0.1:5433", SocketAddrUse::TcpConnect, false),
            ("10.0.0.2:5432", SocketAddrUse::TcpConnect, false),
            ("[::ffff:10.0.0.1]:5432", SocketAddrUse::TcpConnect, false),
            ("0.0.0.0:0", SocketAddrUse::TcpBind, true),
            ("[::]:0", SocketAddrUse::TcpBind, true),
            ("0.0.0.0:80", SocketAddrUse::TcpBind, false),
            ("127.0.0.1:0", SocketAddrUse::TcpBind, false),
            ("10.0.0.1:5432", SocketAddrUse::TcpBind, false),
            ("0.0.0.0:0", SocketAddrUse::TcpListen, false),
            ("10.0.0.1:5432", SocketAddrUse::TcpListen, false),
            ("10.0.0.1:5432", SocketAddrUse::TcpAccept, false),
            ("10.0.0.1:5432", SocketAddrUse::UdpSend, false),
        ];
        for (text, used, expected) in table {
            assert_eq!(allows(&granted, address(text), used), expected, "{text}");
            assert!(!allows(&[], address(text), used), "{text}");
        }
    }

    #[test]
    fn grants_that_mean_nothing_are_refused() {
        let directory = |guest: &str| Directory {
            host: "/tmp".into(),
            guest: guest.to_owned(),
            access: Access::Read,
        };
        let of = |guests: &[&str], names: &[&str]| Grants {
            root: Some("/tmp".into()),
            directories: guests.iter().map(|guest| directory(guest)).collect(),
            environment: names
                .iter()
                .map(|name| ((*name).to_owned(), "v".to_owned()))
                .collect(),
            ..Grants::default()
        };
        assert_eq!(of(&["/a", "/b"], &["A", "B"]).check(), Ok(()));
        assert_eq!(of(&["/", "/annals-too", "/a/b"], &[]).check(), Ok(()));
        for (guests, names) in [
            (&["a"][..], &[][..]),
            (&[""], &[]),
            (&["/a", "/a"], &[]),
            (&["/a/"], &[]),
            (&["//a"], &[]),
            (&["/a/../annals"], &[]),
            (&["/a\0b"], &[]),
            (&[GUEST_ROOT], &[]),
            (&["/annals/b"], &[]),
            (&[], &["A", "A"]),
            (&[], &[""]),
            (&[], &["A=B"]),
        ] {
            let error = of(guests, names).check().unwrap_err();
            assert_eq!(error.reason, "grant-invalid", "{}", error.message);
        }
    }
}
