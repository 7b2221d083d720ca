//! Why a backend's file operation failed, where WASI does not say: it has no error for a read-only filesystem or for too
//! many open files, and none that a component's writes bring for a full one or a file that is too long. The host can look
//! at the granted root, and at who else can.

use std::path::Path;

use serde_json::Value;

use crate::error::Error;
use crate::records::ErrorCode;
use crate::room::{self, Room};

/// The reason of a backend that was told no more than that an operation failed.
const UNEXPLAINED: &str = "io-failed";

/// A filesystem with less left than what was to be written and this is taken for full: it writes whole blocks, and
/// some of its own.
const BYTES_LEFT_MIN: u64 = 1 << 20;

/// What the component can say of a failure that it knows nothing of.
const UNEXPLAINED_WORDS: &str = ": I/O error; check the medium";

/// What more can be said of a failed write.
const MAYBE_FULL: &str = ": I/O error, though there is room now: the filesystem of the root may have been full for a moment; try again, and check the medium if that fails too";

/// What can be seen of the filesystem that a root is on, and of what this process may do there.
#[derive(Clone, Copy, Debug)]
struct Seen {
    is_read_only: bool,
    bytes_left: u64,
    /// Whether this user may not write what was to be written, though others may.
    is_over_quota: bool,
    /// What this process may not take more of: open files, or bytes of the file that was to be written.
    lacking: Option<Room>,
}

/// The error with the code, the reason and the cure that the root's filesystem shows.
pub(crate) fn explained(error: Error, root: &Path) -> Error {
    let error = named(error);
    match error.reason.as_str() {
        UNEXPLAINED if error.code == ErrorCode::Other => match look(root, &error) {
            Some(seen) => judged(error, seen),
            None => error,
        },
        "io-no-space" => first("the medium of the root is full", "", error),
        _ => error,
    }
}

/// The error with the log's name where it has that of the temporary file that was to become it:
/// `a.0123456789abcdef.tmp` is `a.jsonl` to everybody else.
fn named(error: Error) -> Error {
    const END: &str = ".tmp\"";
    const RANDOM_CHARS: usize = ".0123456789abcdef".len();
    let Some((before, after)) = error.message.split_once(END) else {
        return error;
    };
    let is_random = |random: &&str| {
        let digits = random.strip_prefix('.');
        digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let start = before.len().saturating_sub(RANDOM_CHARS);
    match (before.get(..start), before.get(start..).filter(is_random)) {
        (Some(name), Some(_)) if !name.contains("_leases/") => Error {
            message: format!("{name}.jsonl\"{after}"),
            ..error
        },
        _ => error,
    }
}

/// How many bytes were to be written.
fn bytes_due(error: &Error) -> u64 {
    let detail: Option<Value> = serde_json::from_str(&error.detail).ok();
    let due = detail.and_then(|detail| detail.get("bytes")?.as_u64());
    due.unwrap_or(0)
}

/// The path of the file in question below the root, if the error is about one.
fn path_of(error: &Error) -> Option<String> {
    let detail: Value = serde_json::from_str(&error.detail).ok()?;
    detail.get("path")?.as_str().map(str::to_owned)
}

fn judged(error: Error, seen: Seen) -> Error {
    let bytes_min = bytes_due(&error).saturating_add(BYTES_LEFT_MIN);
    if let Some(room) = seen.lacking {
        let error = without_words(error);
        return Error {
            detail: error.detail,
            ..room.ran_out(&error.message)
        };
    }
    let (code, reason, cause, cure) = if seen.is_read_only {
        let cause = "the filesystem of the root is read-only".to_owned();
        (ErrorCode::ReadOnly, "io-read-only", cause, "")
    } else if seen.is_over_quota {
        let cause = "the quota of this user on the filesystem of the root is used up".to_owned();
        (ErrorCode::NoSpace, "io-no-space", cause, FREE)
    } else if seen.bytes_left < bytes_min {
        let left = seen.bytes_left;
        let cause = format!("the filesystem of the root is full, {left} bytes are left");
        (ErrorCode::NoSpace, "io-no-space", cause, FREE)
    } else if bytes_due(&error) > 0 {
        // whoever was in the way may be gone by the time that it is looked at
        return Error {
            message: error.message.replacen(UNEXPLAINED_WORDS, MAYBE_FULL, 1),
            ..error
        };
    } else {
        return error;
    };
    Error {
        code,
        reason: reason.to_owned(),
        ..first(&cause, cure, error)
    }
}

const FREE: &str = "; free some space and try again";

/// The cause comes first: it is what people look for.
fn first(cause: &str, cure: &str, error: Error) -> Error {
    let error = without_words(error);
    Error {
        message: format!("{cause}: {}{cure}", error.message),
        ..error
    }
}

/// The error without what the component said for want of something better.
fn without_words(error: Error) -> Error {
    Error {
        message: error.message.replacen(UNEXPLAINED_WORDS, "", 1),
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
fn look(root: &Path, error: &Error) -> Option<Seen> {
    let bytes = bytes_due(error);
    let past_limit = || passed_limit(&root.join(path_of(error)?), bytes);
    let lacking = room::lacking_files().or_else(past_limit);
    let found = rustix::fs::statvfs(root).ok()?;
    Some(Seen {
        is_read_only: found.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
        bytes_left: found.f_bavail.saturating_mul(found.f_frsize),
        is_over_quota: is_over_quota(root, bytes.max(found.f_frsize)),
        lacking,
    })
}

/// That a file may not be longer, where so many bytes more would pass the limit.
#[cfg(unix)]
fn passed_limit(file: &Path, bytes: u64) -> Option<Room> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current?;
    // Of a file that is not there any more, all was to be written.
    let before = file.symlink_metadata().map_or(0, |found| found.len());
    (bytes > 0 && before.saturating_add(bytes) > limit).then_some(Room::FileLength(Some(limit)))
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
fn look(_: &Path, _: &Error) -> Option<Seen> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(reason: &str) -> Error {
        let error = Error::new(
            ErrorCode::Other,
            reason,
            "cannot write \"a\": I/O error; check the medium",
            &[],
        );
        Error {
            detail: r#"{"path":"a","bytes":1000}"#.to_owned(),
            ..error
        }
    }

    const NOTHING: Seen = Seen {
        is_read_only: false,
        bytes_left: u64::MAX,
        is_over_quota: false,
        lacking: None,
    };

    /// A full disk was called an I/O error first.
    #[test]
    fn what_is_seen_explains_a_failure_and_comes_first() {
        let left = |bytes_left| Seen {
            bytes_left,
            ..NOTHING
        };
        let read_only = Seen {
            is_read_only: true,
            ..NOTHING
        };
        let over_quota = Seen {
            is_over_quota: true,
            ..NOTHING
        };
        let too_long = Seen {
            lacking: Some(Room::FileLength(Some(65_536))),
            ..NOTHING
        };
        let lacking = Seen {
            lacking: Some(Room::Files(Some(64))),
            ..NOTHING
        };
        let (full, quota) = (
            "the filesystem of the root is full",
            "the quota of this user",
        );
        let (no_space, other) = (ErrorCode::NoSpace, ErrorCode::Other);
        let (too_little, enough) = (BYTES_LEFT_MIN + 999, BYTES_LEFT_MIN + 1000);
        let sealed = "the filesystem of the root is read-only";
        let long = "no file may be longer than 65536 bytes";
        let files = "too many open files";
        let table = [
            (read_only, ErrorCode::ReadOnly, "io-read-only", sealed),
            (over_quota, no_space, "io-no-space", quota),
            (left(0), no_space, "io-no-space", full),
            (left(too_little), no_space, "io-no-space", full),
            (left(enough), other, UNEXPLAINED, "cannot write"),
            (too_long, no_space, "io-file-too-large", long),
            (
                lacking,
                ErrorCode::Unavailable,
                "open-files-exhausted",
                files,
            ),
        ];
        for (seen, code, reason, words) in table {
            let error = judged(failed(UNEXPLAINED), seen);
            assert_eq!((error.code, error.reason.as_str()), (code, reason));
            assert!(error.message.starts_with(words), "{}", error.message);
            assert!(
                error.message.contains("cannot write \"a\""),
                "{}",
                error.message
            );
            let is_transient = error.message.contains("full for a moment; try again");
            assert_eq!(is_transient, code == other, "{}", error.message);
            let is_unexplained = error.message.contains("I/O error");
            assert_eq!(is_unexplained, code == other, "{}", error.message);
            assert_eq!(path_of(&error).as_deref(), Some("a"));
        }
    }

    /// People were told of a file that they never heard of.
    #[test]
    fn temporary_files_go_by_the_name_of_the_log() {
        let table = [
            ("\"b/a.0123456789abcdef.tmp\": no", "\"b/a.jsonl\": no"),
            ("\"b/a.tmp\": no", "\"b/a.tmp\": no"),
            ("\"é.0123456789abcdeg.tmp\"", "\"é.0123456789abcdeg.tmp\""),
            ("é.tmp\"", "é.tmp\""),
        ];
        for (message, shown) in table {
            let message = format!("cannot write {message}");
            let error = Error::new(ErrorCode::Other, "x", message, &[]);
            assert_eq!(named(error).message, format!("cannot write {shown}"));
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
        assert!(look(root, &failed(UNEXPLAINED)).is_some() || cfg!(not(unix)));
    }
}
