//! A medium that is a directory: the file that holds known bytes, and damage in it.

use std::fs;
use std::path::{Path, PathBuf};

/// Files longer than this are not looked into.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// A file that holds bytes that were stored.
pub(crate) struct Found {
    path: PathBuf,
    /// All of it.
    pub(crate) bytes: Vec<u8>,
    /// Where the bytes are in it.
    pub(crate) at: usize,
}

/// The one file below `directory` that holds these bytes; none where several do, or none does.
pub(crate) fn find(directory: &Path, needle: &str) -> Option<Found> {
    let mut directories = vec![directory.to_owned()];
    let mut found = None;
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).ok()?.flatten() {
            let Ok(metadata) = fs::symlink_metadata(entry.path()) else {
                continue;
            };
            if metadata.is_dir() {
                directories.push(entry.path());
            }
            if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
                continue;
            }
            let bytes = fs::read(entry.path()).ok()?;
            let mut windows = bytes.windows(needle.len());
            let Some(at) = windows.position(|window| window == needle.as_bytes()) else {
                continue;
            };
            if found.is_some() {
                return None;
            }
            found = Some(Found {
                path: entry.path(),
                bytes,
                at,
            });
        }
    }
    found
}

impl Found {
    /// Puts other content in the file.
    pub(crate) fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        fs::write(&self.path, bytes)
    }

    /// Its bytes with other ones at the place that was found.
    pub(crate) fn replaced(&self, length: usize, byte: u8) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes
            .iter_mut()
            .skip(self.at)
            .take(length)
            .for_each(|old| *old = byte);
        bytes
    }
}
