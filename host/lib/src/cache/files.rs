//! The files of a cache, through a handle of its directory, so that what is checked is what is used.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, unlinkat};

use super::{CACHE_BYTES_MAX, Cached, ENTRY_BYTES_MAX, component_in};
use crate::error::{Error, Result};
use crate::records::ErrorCode;

/// How files begin that are being written, or were when a process ended.
const TEMPORARY: &str = ".writing-";

/// The bytes of an entry that is ours alone; none where there is no such entry.
pub(super) fn read(directory: &Path, name: &str) -> Option<Vec<u8>> {
    let directory = open_directory(directory).ok().filter(is_ours_alone)?;
    // Opening a pipe must not wait, and a link leads anywhere.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(&directory, name, flags, Mode::empty()).ok()?);
    let length = file.metadata().ok()?.len();
    if !is_ours_alone(&file) || !file.metadata().ok()?.is_file() || length > ENTRY_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(usize::try_from(length).ok()?)
        .ok()?;
    file.take(length).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Whole or not at all, and never where others could change it.
pub(super) fn write(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if bytes.len() as u64 > ENTRY_BYTES_MAX {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory)?;
    let directory = open_directory(directory)?;
    if !is_ours_alone(&directory) {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = format!("{TEMPORARY}{}-{count}", std::process::id());
    // One that a former process of this number left would be in the way for ever.
    let _ = unlinkat(&directory, &temporary, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&directory, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
    let written = File::from(file)
        .write_all(bytes)
        .and_then(|()| Ok(renameat(&directory, &temporary, &directory, name)?));
    if written.is_err() {
        let _ = unlinkat(&directory, &temporary, AtFlags::empty());
    }
    written?;
    make_room(&directory, name)
}

pub(super) fn entries(directory: &Path) -> Result<Vec<Cached>> {
    match open_directory(directory).and_then(|opened| listed(&opened)) {
        Ok(listed) => Ok(listed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unreadable(directory, &error)),
    }
}

pub(super) fn clear(directory: &Path) -> Result<Vec<Cached>> {
    let entries = entries(directory)?;
    let Ok(opened) = open_directory(directory) else {
        return Ok(entries);
    };
    let failed = |error: io::Error| unreadable(directory, &error);
    for name in names(&opened).map_err(failed)? {
        if name.starts_with(TEMPORARY) || component_in(&name).is_some() {
            remove(&opened, &name).map_err(failed)?;
        }
    }
    Ok(entries)
}

/// The directory itself, never what a link of its name leads to.
fn open_directory(directory: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty())?;
    Ok(File::from(opened))
}

/// Whether it belongs to this user, and nobody else may write it.
fn is_ours_alone(file: &File) -> bool {
    file.metadata().is_ok_and(|found| {
        found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}

fn names(directory: &File) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        // What is not UTF-8 is none of ours.
        if let Ok(name) = entry?.file_name().to_str() {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn listed(directory: &File) -> io::Result<Vec<Cached>> {
    let mut listed = Vec::new();
    for name in names(directory)? {
        let Some(component) = component_in(&name) else {
            continue;
        };
        // One that another process has removed meanwhile is no entry.
        let Ok(found) = rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let seconds = u64::try_from(found.st_mtime).unwrap_or(0);
        listed.push(Cached {
            component: component.to_owned(),
            bytes: u64::try_from(found.st_size).unwrap_or(0),
            made: SystemTime::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(seconds)),
            name,
        });
    }
    Ok(listed)
}

/// Removes the oldest entries until all together are within the limit; `newest` stays.
fn make_room(directory: &File, newest: &str) -> io::Result<()> {
    let mut entries = listed(directory)?;
    let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    entries.retain(|entry| entry.name != newest);
    entries.sort_by_key(|entry| entry.made);
    for entry in entries {
        if total <= CACHE_BYTES_MAX {
            break;
        }
        remove(directory, &entry.name)?;
        total -= entry.bytes;
    }
    Ok(())
}

fn remove(directory: &File, name: &str) -> io::Result<()> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Err(rustix::io::Errno::NOENT) => Ok(()),
        removed => Ok(removed?),
    }
}

fn unreadable(directory: &Path, error: &io::Error) -> Error {
    let shown = directory.display().to_string();
    let message = format!(
        "compiled cache {shown:?} cannot be used: {error}; check its permissions, or remove it"
    );
    let facts = [("path", shown.as_str())];
    Error::new(ErrorCode::Other, "cache-unreadable", message, &facts)
}
