//! What this process may still take of the system: open files, threads, memory. That one of them ran out is told apart from
//! what is wrong with a component or a medium.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

#[cfg(unix)]
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::records::ErrorCode;

/// Files that linking a backend and its calls hold open at a time, and some to spare.
const FILES_MIN: usize = 16;

/// Threads of the runtime under WASI besides one for each processor: one for writes, one for what runs the components.
const THREADS_BESIDES: usize = 2;

/// What may run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Of this process; how many it may open.
    Files(Option<u64>),
    /// Of all processes.
    SystemFiles,
    Threads,
    Memory,
    /// How long this process may make a file, of which the machine code's image in memory is one.
    FileLength(Option<u64>),
}

impl Room {
    /// What an error number says has run out.
    #[cfg(unix)]
    fn of(error: Errno) -> Option<Self> {
        use rustix::process::{Resource, getrlimit};
        match error {
            Errno::MFILE => Some(Self::Files(getrlimit(Resource::Nofile).current)),
            Errno::NFILE => Some(Self::SystemFiles),
            Errno::NOMEM => Some(Self::Memory),
            Errno::FBIG => Some(Self::FileLength(getrlimit(Resource::Fsize).current)),
            _ => None,
        }
    }

    /// What an error of the standard library says has run out.
    #[cfg(unix)]
    pub(crate) fn of_io(error: &io::Error) -> Option<Self> {
        Errno::from_io_error(error).and_then(Self::of)
    }

    /// What an error of wasmtime says has run out, in any of its causes.
    #[cfg(unix)]
    pub(crate) fn of_wasmtime(error: &wasmtime::Error) -> Option<Self> {
        error.chain().find_map(|cause| {
            let number = cause.downcast_ref::<Errno>().copied();
            let of_io = || Errno::from_io_error(cause.downcast_ref::<io::Error>()?);
            number.or_else(of_io).and_then(Self::of)
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn of_io(_: &io::Error) -> Option<Self> {
        None
    }

    #[cfg(not(unix))]
    pub(crate) fn of_wasmtime(_: &wasmtime::Error) -> Option<Self> {
        None
    }

    /// The failure of `doing`, which is said in words, with the cure.
    pub(crate) fn ran_out(self, doing: &str) -> Error {
        let (reason, what, cure) = match self {
            Self::Files(limit) => {
                let limit = limit.map_or_else(String::new, |limit| format!(" (ulimit -n {limit})"));
                let what = format!("too many open files{limit}");
                (
                    "open-files-exhausted",
                    what,
                    "raise ulimit -n, or close some",
                )
            }
            Self::SystemFiles => {
                let what = "too many open files in the whole system".to_owned();
                (
                    "open-files-exhausted",
                    what,
                    "close some, or raise fs.file-max",
                )
            }
            Self::Threads => {
                let what = "no more threads can be started".to_owned();
                ("threads-exhausted", what, "raise ulimit -u, or end some")
            }
            Self::Memory => {
                let what = "not enough memory".to_owned();
                let cure =
                    "a component reserves 4 GiB of addresses: raise ulimit -v, or free some memory";
                ("memory-exhausted", what, cure)
            }
            Self::FileLength(limit) => {
                let limit = limit.map_or_else(String::new, |bytes| format!(" than {bytes} bytes"));
                let what = format!("no file may be longer{limit} (ulimit -f)");
                ("io-file-too-large", what, "raise that limit")
            }
        };
        let code = match self {
            Self::FileLength(_) => ErrorCode::NoSpace,
            Self::Files(_) | Self::SystemFiles | Self::Threads | Self::Memory => {
                ErrorCode::Unavailable
            }
        };
        let message = format!("{what}: {doing}; {cure} and try again");
        Error::new(code, reason, message, &[])
    }
}

/// Refuses to begin where files or threads would run out on the way: the runtime under WASI panics without them, and for
/// good.
pub(crate) fn check() -> Result<()> {
    let doing = "the components cannot be started";
    if let Some(room) = lacking_files() {
        return Err(room.ran_out(doing));
    }
    static IS_RUNNING: Mutex<bool> = Mutex::new(false);
    let mut is_running = IS_RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_running {
        start_runtime().map_err(|error| {
            let room = Room::of_io(&error).unwrap_or(Room::Threads);
            room.ran_out(doing)
        })?;
        *is_running = true;
    }
    Ok(())
}

/// Why so few more files can be opened that a call of a backend may fail by that.
#[cfg(unix)]
pub(crate) fn lacking_files() -> Option<Room> {
    use rustix::fs::{Mode, OFlags, open};
    let mut files = Vec::with_capacity(FILES_MIN);
    while files.len() < FILES_MIN {
        match open("/", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => files.push(file),
            Err(error) => return Room::of(error),
        }
    }
    None
}

#[cfg(not(unix))]
pub(crate) fn lacking_files() -> Option<Room> {
    None
}

/// Starts the runtime under WASI while there is room for it, on a thread that belongs to no other runtime.
fn start_runtime() -> io::Result<()> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let gate = Arc::new(Mutex::new(()));
    let held = gate.lock();
    let started: io::Result<Vec<_>> = (0..processors + THREADS_BESIDES)
        .map(|_| {
            let gate = Arc::clone(&gate);
            thread::Builder::new().spawn(move || drop(gate.lock()))
        })
        .collect();
    drop(held);
    for thread in started? {
        // It does nothing but wait.
        let _ = thread.join();
    }
    let start = || wasmtime_wasi::runtime::with_ambient_tokio_runtime(|| ());
    let started = thread::Builder::new().spawn(start)?.join();
    started.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_ran_out_is_found_among_the_causes() {
        let table = [
            (Errno::NOMEM, Some(Room::Memory)),
            (Errno::NFILE, Some(Room::SystemFiles)),
            (Errno::IO, None),
        ];
        for (number, room) in table {
            let error = wasmtime::Error::from(number).context("mmap failed");
            assert_eq!(Room::of_wasmtime(&error), room);
            let error = wasmtime::Error::from(io::Error::from(number)).context("no memfd");
            assert_eq!(Room::of_wasmtime(&error), room);
        }
    }

    #[test]
    fn the_message_begins_with_what_ran_out() {
        let error = Room::Files(Some(64)).ran_out("the root cannot be opened");
        assert_eq!(error.reason, "open-files-exhausted");
        let words =
            "too many open files (ulimit -n 64): the root cannot be opened; raise ulimit -n";
        assert!(error.message.starts_with(words), "{}", error.message);
    }
}
