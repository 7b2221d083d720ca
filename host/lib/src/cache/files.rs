//! The files of a cache, through a handle of its directory, so that what is checked is what is used.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, unlinkat};

use super::{Cached, EXTENSION};
use crate::error::{Error, Result};
use crate::records::ErrorCode;

/// When an entry is added, the oldest ones go until all together have no more.
const CACHE_BYTES_MAX: u64 = 1 << 30;

/// The largest entry that is kept.
const ENTRY_BYTES_MAX: u64 = 512 << 20;

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
    make_room(&directory, name, CACHE_BYTES_MAX)
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

/// Removes the oldest entries until all together have no more than that; `newest` stays.
fn make_room(directory: &File, newest: &str, bytes_max: u64) -> io::Result<()> {
    let mut entries = listed(directory)?;
    let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    entries.retain(|entry| entry.name != newest);
    entries.sort_by_key(|entry| entry.made);
    for entry in entries {
        if total <= bytes_max {
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

/// The component's digest in the name of an entry; none where the name is no entry's.
fn component_in(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(EXTENSION)?.strip_suffix('.')?;
    let (component, engine) = stem.split_once('-')?;
    let is_hex = |text: &str, digits| {
        text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    (is_hex(component, 64) && is_hex(engine, 16)).then_some(component)
}

fn unreadable(directory: &Path, error: &io::Error) -> Error {
    let shown = directory.display().to_string();
    let message = format!(
        "compiled cache {shown:?} cannot be used: {error}; check its permissions, or remove it"
    );
    let facts = [("path", shown.as_str())];
    Error::new(ErrorCode::Other, "cache-unreadable", message, &facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Duration;

    #[test]
    fn the_oldest_make_room_for_the_newest() {
        let directory = tempfile::tempdir().unwrap();
        let name = |number: u64| format!("{number:064x}-{number:016x}.{EXTENSION}");
        for number in 0..4 {
            let file = File::create(directory.path().join(name(number))).unwrap();
            file.set_len(100).unwrap();
            // The newest by name is the oldest here.
            let age = Duration::from_secs(number * 1000);
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        fs::write(directory.path().join("something else"), [0; 999]).unwrap();
        let opened = open_directory(directory.path()).unwrap();
        let left = |bytes_max| {
            make_room(&opened, &name(3), bytes_max).unwrap();
            let listed = listed(&opened).unwrap();
            listed
                .into_iter()
                .map(|entry| entry.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(left(400), [name(0), name(1), name(2), name(3)]);
        assert_eq!(left(399), [name(0), name(1), name(3)]);
        assert_eq!(left(0), [name(3)]);
        assert!(directory.path().join("something else").exists());
    }

    #[test]
    fn only_entries_are_named_so() {
        let (component, engine) = ("a".repeat(64), "0".repeat(16));
        let entry = format!("{component}-{engine}.cwasm");
        assert_eq!(component_in(&entry), Some(component.as_str()));
        for other in [
            "",
            "x.cwasm",
            &entry[1..],
            &format!("{component}-{engine}.wasm"),
            &format!("{component}-{engine}cwasm"),
            &format!("{component}-{}z.cwasm", &engine[1..]),
            &format!(".{entry}"),
        ] {
            assert_eq!(component_in(other), None, "{other}");
        }
    }
}
