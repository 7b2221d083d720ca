//! Reading what commands are given, within named limits.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// The longest input of one `append` or one imported file, in bytes. An input is checked as a whole before any of it
/// is stored, so it is held in memory, here and in the store component.
pub const INPUT_BYTES_MAX: u64 = 512 << 20;

/// How stdin is named where a file is asked for.
const STDIN: &str = "-";

/// What editors put before a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// All of a file, or of stdin where that is what `-` stands for, at most [`INPUT_BYTES_MAX`]. Whoever is to write into a
/// pipe is waited for.
pub fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new(STDIN) {
        return read_bounded(io::stdin().lock(), INPUT_BYTES_MAX, "stdin");
    }
    let name = format!("{path:?}");
    let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
    read_bounded(file, INPUT_BYTES_MAX, &name)
}

/// What messages call it.
pub fn name_of(path: &Path) -> String {
    match path == Path::new(STDIN) {
        true => "stdin".to_owned(),
        false => format!("{path:?}"),
    }
}

/// All of stdin, at most [`INPUT_BYTES_MAX`], as text without a byte order mark.
pub fn read_stdin() -> Result<String, Failure> {
    let bytes = read_bounded(io::stdin().lock(), INPUT_BYTES_MAX, "stdin")?;
    let bytes = match bytes.starts_with(BYTE_ORDER_MARK) {
        true => without_mark(&bytes, true).to_vec(),
        false => bytes,
    };
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = line_at(error.as_bytes(), valid);
        Failure::refused(format!(
            "stdin, line {line}: not UTF-8; nothing was appended"
        ))
    })
}

/// The bytes without a byte order mark, where they are the start of an input.
pub fn without_mark(bytes: &[u8], is_start: bool) -> &[u8] {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_start);
    text.unwrap_or(bytes)
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
