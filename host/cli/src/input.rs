//! Reading what commands are given, within named limits.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// The longest input of one `append` or one imported file, in bytes. An input is checked as a whole before any of it
/// is stored, so it is held in memory, here and in the store component.
pub const INPUT_BYTES_MAX: u64 = 512 << 20;

/// All of a file, at most [`INPUT_BYTES_MAX`].
pub fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = format!("{path:?}");
    let file = open(path).map_err(|error| unreadable(&name, &error))?;
    read_bounded(file, INPUT_BYTES_MAX, &name)
}

/// A FIFO that nobody writes to is empty; the usual way to open one would wait for a writer.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt;

    let flag = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(flag).open(path)?;
    // who does write is waited for
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags & !OFlags::NONBLOCK)?;
    Ok(file)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// All of stdin, at most [`INPUT_BYTES_MAX`], as text.
pub fn read_stdin() -> Result<String, Failure> {
    let bytes = read_bounded(io::stdin().lock(), INPUT_BYTES_MAX, "stdin")?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = line_at(error.as_bytes(), valid);
        Failure::refused(format!(
            "stdin, line {line}: not UTF-8; nothing was appended"
        ))
    })
}

/// The line, counted from 1, that holds the byte at `offset`.
pub fn line_at(bytes: &[u8], offset: usize) -> usize {
    bytes
        .iter()
        .take(offset)
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}

fn read_bounded(reader: impl Read, bytes_max: u64, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    reader
        .take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(name, &error))?;
    if bytes.len() as u64 > bytes_max {
        return Err(Failure::refused(format!(
            "{name} is longer than {bytes_max} bytes, the most that is taken at once"
        )));
    }
    Ok(bytes)
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::refused(format!("cannot read {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_may_be_as_long_as_the_limit_and_no_longer() {
        assert_eq!(read_bounded(&b"1234"[..], 4, "x").unwrap(), b"1234");
        assert!(read_bounded(&b"12345"[..], 4, "x").is_err());
    }

    #[test]
    fn lines_count_from_one() {
        assert_eq!(line_at(b"a\nb\nc", 0), 1);
        assert_eq!(line_at(b"a\nb\nc", 4), 3);
    }
}
