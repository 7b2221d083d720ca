//! Why a backend's file operation failed, where WASI does not say: it has no error for a read-only filesystem, and none
//! that a component's writes bring for a full one. The host can look at the granted root.

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
}

/// The error with the code, the reason and the cure that the root's filesystem shows.
pub(crate) fn explained(error: Error, root: &Path) -> Error {
    if error.code != ErrorCode::Other || error.reason != UNEXPLAINED {
        return error;
    }
    match look(root) {
        Some(found) => judged(error, found),
        None => error,
    }
}

fn judged(error: Error, found: Filesystem) -> Error {
    let detail: Option<serde_json::Value> = serde_json::from_str(&error.detail).ok();
    let due = detail.and_then(|detail| detail.get("bytes")?.as_u64());
    let bytes_min = due.unwrap_or(0).saturating_add(BYTES_LEFT_MIN);
    let (code, reason, cause) = if found.is_read_only {
        let cause = "the filesystem of the root is read-only".to_owned();
        (ErrorCode::ReadOnly, "io-read-only", cause)
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

#[cfg(unix)]
fn look(root: &Path) -> Option<Filesystem> {
    let found = rustix::fs::statvfs(root).ok()?;
    Some(Filesystem {
        is_read_only: found.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
        bytes_left: found.f_bavail.saturating_mul(found.f_frsize),
    })
}

#[cfg(not(unix))]
fn look(_: &Path) -> Option<Filesystem> {
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
            (true, u64::MAX, ErrorCode::ReadOnly, "io-read-only"),
            (false, 0, ErrorCode::NoSpace, "io-no-space"),
            (
                false,
                BYTES_LEFT_MIN + 999,
                ErrorCode::NoSpace,
                "io-no-space",
            ),
            (false, BYTES_LEFT_MIN + 1000, ErrorCode::Other, UNEXPLAINED),
        ];
        for (is_read_only, bytes_left, code, reason) in table {
            let found = Filesystem {
                is_read_only,
                bytes_left,
            };
            let error = judged(failed(UNEXPLAINED), found);
            assert_eq!((error.code, error.reason.as_str()), (code, reason));
            assert!(error.message.starts_with("cannot write \"a\": I/O error"));
        }
    }

    #[test]
    fn other_failures_are_passed_on() {
        let root = Path::new("/");
        let error = failed("io-not-found");
        assert_eq!(explained(error.clone(), root), error);
        assert!(look(root).is_some() || cfg!(not(unix)));
    }
}
