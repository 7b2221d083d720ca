//! Failures of files as the one error record.

use std::io::{self, ErrorKind};

use annals_core::fault::quoted;
use annals_sdk::types::{Error, ErrorCode};

use crate::files::Kind;
use crate::paths::EmptyId;
use crate::place::Found;

/// How many logs of one session are named.
const LOGS_SHOWN: usize = 4;

/// What has the place of a file and is none.
pub fn of_no_file(path: &str, kind: Kind) -> Error {
    let what = kind.words();
    let message = format!("{path:?} is {what}, not a file; not followed, move it away");
    Error::new(ErrorCode::Corrupt, "not-a-file", message).fact("path", path)
}

/// What has the place of a directory of leases and is none.
pub fn of_no_directory(path: &str, kind: Kind) -> Error {
    let what = kind.words();
    let message = format!(
        "{path:?} is {what}, not a directory; not followed, annals doctor --fix moves it away"
    );
    Error::new(ErrorCode::Other, "lease-not-a-directory", message).fact("path", path)
}

/// Several logs of one session: where they are, the one that is read first.
pub(crate) fn of_several(id: &str, logs: &[Found]) -> Error {
    let message = format!("session {} {}", quoted(id), words_of_several(logs));
    let paths: Vec<String> = logs.iter().map(|log| log.place.log()).collect();
    Error::new(ErrorCode::Corrupt, "log-duplicate", message)
        .fact("id", id)
        .fact("paths", paths)
}

/// That there are several logs, the one that is read first.
pub(crate) fn words_of_several(logs: &[Found]) -> String {
    let mut shown: Vec<String> = logs
        .iter()
        .take(LOGS_SHOWN)
        .map(|log| format!("{:?}", log.place.log()))
        .collect();
    if logs.len() > LOGS_SHOWN {
        shown.push(format!("{} more", logs.len() - LOGS_SHOWN));
    }
    let places = shown.join(" and ");
    format!(
        "is stored more than once: in {places}; the first of them is read and none is written, move the others away"
    )
}

/// An id without a name.
pub fn of_empty_id(_: EmptyId) -> Error {
    let message = "a session id must not be empty; give one";
    Error::new(ErrorCode::Invalid, "empty-path-segment", message)
}

/// A failed write of that many bytes.
pub fn of_writing(path: &str, bytes: usize, error: &io::Error) -> Error {
    of_files("write", path, error).fact("bytes", bytes as u64)
}

/// How the root is called in messages: the host knows its name, this component does not.
const ROOT: &str = "the root";

/// A failed file operation: `doing` says which, `path` is relative to the root, which itself is "".
pub fn of_files(doing: &str, path: &str, error: &io::Error) -> Error {
    let kind = kind_of(error);
    let (code, reason, cure) = match kind {
        ErrorKind::ReadOnlyFilesystem => (
            ErrorCode::ReadOnly,
            "io-read-only",
            "; the medium cannot be written",
        ),
        ErrorKind::PermissionDenied => (
            ErrorCode::ReadOnly,
            "io-permission-denied",
            "; check who may read and write the root",
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
            ErrorCode::NoSpace,
            "io-no-space",
            "; free some space and try again",
        ),
        ErrorKind::FileTooLarge => (
            ErrorCode::NoSpace,
            "io-file-too-large",
            "; the medium takes no longer file",
        ),
        ErrorKind::NotFound => (
            ErrorCode::Other,
            "io-not-found",
            "; it went away during the call, try again",
        ),
        ErrorKind::NotADirectory => (
            ErrorCode::Other,
            "io-not-a-directory",
            "; move away the file that is in its place",
        ),
        ErrorKind::TimedOut | ErrorKind::StaleNetworkFileHandle => {
            (ErrorCode::Unavailable, "io-unavailable", "; try again")
        }
        // under WASI also a full or read-only medium, which the host can tell
        _ => (ErrorCode::Other, "io-failed", "; check the medium"),
    };
    let shown = match path {
        "" => ROOT.to_owned(),
        _ => format!("{path:?}"),
    };
    let message = format!("cannot {doing} {shown}: {}{cure}", words_of(error));
    let path = if path.is_empty() { "." } else { path };
    Error::new(code, reason, message).fact("path", path)
}

/// What went wrong in words, without a number: under WASI numbers are others than those that people look up.
pub fn words_of(error: &io::Error) -> String {
    let words = match kind_of(error) {
        ErrorKind::NotFound => "not found",
        ErrorKind::PermissionDenied => "permission denied",
        ErrorKind::AlreadyExists => "it exists already",
        ErrorKind::ReadOnlyFilesystem => "read-only filesystem",
        ErrorKind::StorageFull => "no space left",
        ErrorKind::QuotaExceeded => "quota exceeded",
        ErrorKind::FileTooLarge => "file too large",
        ErrorKind::NotADirectory => "not a directory",
        ErrorKind::IsADirectory => "it is a directory",
        ErrorKind::DirectoryNotEmpty => "the directory is not empty",
        ErrorKind::InvalidFilename => "the name is too long",
        ErrorKind::TooManyLinks => "too many links",
        ErrorKind::ResourceBusy => "in use",
        ErrorKind::StaleNetworkFileHandle => "stale file handle",
        ErrorKind::TimedOut => "timed out",
        ErrorKind::OutOfMemory => "out of memory",
        ErrorKind::CrossesDevices => "another device",
        ErrorKind::Unsupported => "not supported",
        // made by the library, so it has words of its own and no number
        _ if error.raw_os_error().is_none() => return error.to_string(),
        _ => "I/O error",
    };
    words.to_owned()
}

// The standard library names fewer of WASI's numbers than of other systems'.
fn kind_of(error: &io::Error) -> ErrorKind {
    let named = error
        .raw_os_error()
        .filter(|_| cfg!(target_os = "wasi"))
        .and_then(wasi_kind);
    named.unwrap_or_else(|| error.kind())
}

/// The kinds that are acted on or named, by WASI's numbers.
fn wasi_kind(number: i32) -> Option<ErrorKind> {
    Some(match number {
        2 | 63 | 76 => ErrorKind::PermissionDenied,
        10 => ErrorKind::ResourceBusy,
        19 => ErrorKind::QuotaExceeded,
        20 => ErrorKind::AlreadyExists,
        22 => ErrorKind::FileTooLarge,
        31 => ErrorKind::IsADirectory,
        34 => ErrorKind::TooManyLinks,
        37 => ErrorKind::InvalidFilename,
        44 => ErrorKind::NotFound,
        48 => ErrorKind::OutOfMemory,
        51 => ErrorKind::StorageFull,
        52 | 58 => ErrorKind::Unsupported,
        54 => ErrorKind::NotADirectory,
        55 => ErrorKind::DirectoryNotEmpty,
        69 => ErrorKind::ReadOnlyFilesystem,
        72 => ErrorKind::StaleNetworkFileHandle,
        73 => ErrorKind::TimedOut,
        75 => ErrorKind::CrossesDevices,
        _ => return None,
    })
}

/// Whether a failed hard link says that the medium has none. Who may make a file in a directory may name it there too, so
/// a missing permission says the same.
pub fn is_without_links(error: &io::Error) -> bool {
    // wasmtime knows no EXDEV and says that the medium is at fault; one that is meets the next operation as well
    let is_unnamed = cfg!(target_os = "wasi") && error.raw_os_error() == Some(WASI_IO);
    is_unnamed
        || matches!(
            kind_of(error),
            ErrorKind::PermissionDenied
                | ErrorKind::Unsupported
                | ErrorKind::TooManyLinks
                | ErrorKind::CrossesDevices
        )
}

/// Whether the medium has no room.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        kind_of(error),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// An input/output error, by WASI's numbers.
const WASI_IO: i32 = 29;

/// A failed read: no permission then says nothing about writing.
pub fn of_reading(path: &str, error: &io::Error) -> Error {
    let mut error = of_files("read", path, error);
    if error.code == ErrorCode::ReadOnly {
        error.code = ErrorCode::Other;
    }
    error
}

/// A named limit was reached.
pub fn of_limit(name: &str, what: &str, actual: u64, limit: u64) -> Error {
    let message = format!("{what} has {actual} bytes, at most {limit} are possible ({name})");
    Error::new(ErrorCode::Limit, "limit-reached", message)
        .fact("limit", name)
        .fact("max", limit)
        .fact("actual", actual)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Under WASI a full or read-only medium was an error of no kind: code `other`, and people read "os error 69".
    #[test]
    fn wasi_numbers_have_the_kinds_that_are_acted_on() {
        let table = [
            (69, "read-only filesystem", "io-read-only"),
            (51, "no space left", "io-no-space"),
            (19, "quota exceeded", "io-no-space"),
            (22, "file too large", "io-file-too-large"),
            (2, "permission denied", "io-permission-denied"),
            (63, "permission denied", "io-permission-denied"),
            (44, "not found", "io-not-found"),
            (54, "not a directory", "io-not-a-directory"),
            (72, "stale file handle", "io-unavailable"),
        ];
        for (number, words, reason) in table {
            let error = of_files("write", "a", &wasi_kind(number).unwrap().into());
            assert_eq!(error.reason, reason, "{number}");
            assert!(error.message.contains(words), "{}", error.message);
        }
        // input/output
        assert_eq!(wasi_kind(WASI_IO), None);
        // not permitted, not supported, not there, too many, on another device
        for number in [63, 58, 52, 34, 75] {
            assert!(is_without_links(&wasi_kind(number).unwrap().into()));
        }
        for number in [69, 51, 20, 44] {
            assert!(!is_without_links(&wasi_kind(number).unwrap().into()));
        }
    }

    #[test]
    fn messages_have_words_and_name_the_root() {
        for number in 1..=40 {
            let error = io::Error::from_raw_os_error(number);
            for message in [
                of_files("sync directory", "", &error).message,
                of_reading("", &error).message,
            ] {
                assert!(!message.contains("os error"), "{message}");
                assert!(message.contains(" the root: "), "{message}");
            }
        }
        assert!(words_of(&io::Error::other("made up")).contains("made up"));
    }
}
