//! Why a backend's file operation failed, where WASI does not say: it has no error for a read-only filesystem, and none
//! that a component's writes bring for a full one. The host can look at the granted root, and at who else can.

use std::path::Path;

use crate::error::Error;
use crate::records::ErrorCode;

/// The reason of a backend that was told no more than that an operation failed.
const UNEXPLAINED: &str = "io-failed";

/// A filesystem with less left than what was to be written and this is taken for full: it writes whole blocks, and
/// some of its own.
const BYTES_LEFT_MIN: u64 = 1 << 20;

/// What can be seen of the filesystem that a root is on.
#[derive(Clone, Copy, Debug)]
struct Filesystem {
    is_read_only: bool,
    bytes_left: u64,
    /// Whether this user may not write what was to be written, though others may.
    is_over_quota: bool,
}

/// The error with the code, the reason and the cure that the root's filesystem shows.
pub(crate) fn explained(error: Error, root: &Path) -> Error {
    if error.code != ErrorCode::Other || error.reason != UNEXPLAINED {
        return error;
    }
    match look(root, bytes_due(&error)) {
        Some(found) => judged(error, found),
        None => error,
    }
}

/// How many bytes were to be written.
fn bytes_due(error: &Error) -> u64 {
    let detail: Option<serde_json::Value> = serde_json::from_str(&error.detail).ok();
    let due = detail.and_then(|detail| detail.get("bytes")?.as_u64());
    due.unwrap_or(0)
}

fn judged(error: Error, found: Filesystem) -> Error {
    let bytes_min = bytes_due(&error).saturating_add(BYTES_LEFT_MIN);
    let (code, reason, cause) = if found.is_read_only {
        let cause = "the filesystem of the root is read-only".to_owned();
        (ErrorCode::ReadOnly, "io-read-only", cause)
    } else if found.is_over_quota {
        let cause = "the quota of this user on the filesystem of the root is used up, free some space and try again";
        (ErrorCode::NoSpace, "io-no-space", cause.to_owned())
    } else if found.bytes_left < bytes_min {
        let left = found.bytes_left;
        let cause = format!(
            "the filesystem of the root has {left} bytes left, free some space and try again"
        );
        (ErrorCode::NoSpace, "io-no-space", cause)
    } else {
        return error;
    };
    Error {
        code,
        reason: reason.to_owned(),
        message: format!("{}; {cause}", error.message),
        ..error
    }
}

/// What people should know of a root that others than its owner may look into: logs hold whole conversations. Modes below
/// it do not matter while nobody else gets in.
#[cfg(unix)]
pub(crate) fn too_open(root: &Path) -> Option<String> {
    let mode = std::os::unix::fs::PermissionsExt::mode(&root.metadata().ok()?.permissions());
    let mode = mode & 0o777;
    (mode & 0o077 != 0).then(|| {
        format!(
            "root {root:?} is open to others (mode {mode:03o}); chmod 700 keeps its sessions to you"
        )
    })
}

#[cfg(not(unix))]
pub(crate) fn too_open(_: &Path) -> Option<String> {
    None
}

#[cfg(unix)]
fn look(root: &Path, bytes_due: u64) -> Option<Filesystem> {
    let found = rustix::fs::statvfs(root).ok()?;
    Some(Filesystem {
        is_read_only: found.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
        bytes_left: found.f_bavail.saturating_mul(found.f_frsize),
        is_over_quota: is_over_quota(root, bytes_due.max(found.f_frsize)),
    })
}

/// Nothing tells how much of a quota is left, so what was to be written is tried in a file without a name.
#[cfg(target_os = "linux")]
fn is_over_quota(root: &Path, bytes: u64) -> bool {
    use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, open};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let reserved = open(root, flags, Mode::RUSR | Mode::WUSR)
        .and_then(|file| fallocate(&file, FallocateFlags::empty(), 0, bytes));
    reserved == Err(rustix::io::Errno::DQUOT)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_over_quota(_: &Path, _: u64) -> bool {
    false
}

#[cfg(not(unix))]
fn look(_: &Path, _: u64) -> Option<Filesystem> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(reason: &str) -> Error {
        let error = Error::new(
            ErrorCode::Other,
            reason,
            "cannot write \"a\": I/O error",
            &[],
        );
        Error {
            detail: r#"{"path":"a","bytes":1000}"#.to_owned(),
            ..error
        }
    }

    #[test]
    fn a_full_or_read_only_filesystem_explains_a_failure() {
        let table = [
            (true, false, u64::MAX, ErrorCode::ReadOnly, "io-read-only"),
            (false, true, u64::MAX, ErrorCode::NoSpace, "io-no-space"),
            (false, false, 0, ErrorCode::NoSpace, "io-no-space"),
            (
                false,
                false,
                BYTES_LEFT_MIN + 999,
                ErrorCode::NoSpace,
                "io-no-space",
            ),
            (
                false,
                false,
                BYTES_LEFT_MIN + 1000,
                ErrorCode::Other,
                UNEXPLAINED,
            ),
        ];
        for (is_read_only, is_over_quota, bytes_left, code, reason) in table {
            let found = Filesystem {
                is_read_only,
                bytes_left,
                is_over_quota,
            };
            let error = judged(failed(UNEXPLAINED), found);
            assert_eq!((error.code, error.reason.as_str()), (code, reason));
            assert!(error.message.starts_with("cannot write \"a\": I/O error"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_root_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        for (mode, is_open) in [
            (0o700, false),
            (0o500, false),
            (0o701, true),
            (0o710, true),
            (0o755, true),
        ] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(root.path(), permissions).unwrap();
            let warning = too_open(root.path());
            assert_eq!(warning.is_some(), is_open, "{mode:o}: {warning:?}");
        }
        assert_eq!(too_open(Path::new("/nowhere/at/all")), None);
    }

    #[test]
    fn other_failures_are_passed_on() {
        let root = Path::new("/");
        let error = failed("io-not-found");
        assert_eq!(explained(error.clone(), root), error);
        assert!(look(root, 1).is_some() || cfg!(not(unix)));
    }
}
