//! What a backend may touch: directories, TCP addresses, names of the environment; nothing else, and nothing at all
//! unless it was granted.
//!
//! Absent: arguments, standard streams, UDP, name lookup, listening.

mod ground;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use wasmtime_wasi::sockets::SocketAddrUse;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

use crate::error::{Error, Result};
use crate::needs::Need;
use crate::records::ErrorCode;
use crate::room::Room;

use ground::{Ground, changed, check_beside, directory_error, make, root_error};

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
    /// What nothing that is granted may reach.
    pub(crate) kept_off: Vec<PathBuf>,
    /// The granted directories as the first start found them.
    pub(crate) held: Vec<Ground>,
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

    /// The same for a component that is started, now and again. No directory lies in another one, nor, of a component that
    /// did not come with this crate, anywhere near what it is kept off. A root that is missing is made now and never again:
    /// one that went away later is not to be replaced by an empty one. Every start finds the directories of this moment.
    pub(crate) fn settled(mut self, is_own: bool) -> Result<Self> {
        if is_own {
            self.kept_off.clear();
        }
        self.check_apart()?;
        if let Some(root) = self.root.as_deref().filter(|_| self.create_root) {
            make(root).map_err(|error| root_error(root, &error))?;
            self.check_apart()?;
        }
        self.create_root = false;
        self.held = self.hosts().map(Ground::of).collect();
        Ok(self)
    }

    /// The same, settled before, over another root where there is one.
    pub(crate) fn over(&self, root: &Path) -> Result<Self> {
        let mut over = self.clone();
        let Some(former) = over.root.take() else {
            return Ok(over);
        };
        over.root = Some(root.to_path_buf());
        over.check_apart()?;
        over.held.retain(|ground| ground.given != former);
        over.held.push(Ground::of(root));
        Ok(over)
    }

    fn hosts(&self) -> impl Iterator<Item = &Path> {
        let others = self.directories.iter();
        self.root()
            .into_iter()
            .chain(others.map(|directory| directory.host.as_path()))
    }

    /// Whoever may write a directory can exchange what lies in it for a link, which the next start would follow.
    fn check_apart(&self) -> Result<()> {
        let grounds: Vec<Ground> = self.hosts().map(Ground::of).collect();
        for (at, one) in grounds.iter().enumerate() {
            for other in grounds.iter().skip(at + 1) {
                check_beside(one, other, "which is granted too")?;
            }
        }
        for kept in &self.kept_off {
            let kept = Ground::of(kept);
            for granted in &grounds {
                check_beside(granted, &kept, "which backends are kept off")?;
            }
        }
        Ok(())
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
        if self.inert.contains(&Need::Files) && !self.directories.is_empty() {
            let message = "directories are granted although files are inert, so nobody would get them; leave out one of both";
            return Err(invalid(message.to_owned()));
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

    /// The grants as WASI, settled before, with the directories opened.
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
            let ground = self.ground(&directory.host)?;
            wasi.preopened_dir(&ground.real, &directory.guest, perms)
                .map_err(|error| directory_error(&directory.host, &error))?;
        }
        // Looked at when all of it is open, so that what was exchanged meanwhile is seen.
        match self.held.iter().find(|ground| !ground.is_still()) {
            Some(ground) => Err(changed(&ground.given)),
            None => Ok(wasi.build()),
        }
    }

    fn ground(&self, host: &Path) -> Result<&Ground> {
        let found = self.held.iter().find(|ground| ground.given == host);
        found.ok_or_else(|| changed(host))
    }

    fn add_root(&self, root: &Path, wasi: &mut WasiCtxBuilder) -> Result<()> {
        let failed = |error: io::Error| root_error(root, &error);
        let real = &self.ground(root)?.real;
        if !fs::metadata(real).map_err(failed)?.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        // A backend does not know the root's name, so what it could not list is refused here.
        fs::read_dir(real).map_err(failed)?;
        wasi.preopened_dir(real, GUEST_ROOT, FsPerms::ReadWrite)
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
