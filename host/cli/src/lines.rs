//! Lines of stdin as they come.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use crate::failure::Failure;
use crate::input::{self, INPUT_BYTES_MAX};

/// How much is read at a time.
const READ_BYTES: usize = 64 << 10;

/// How many pieces are read ahead.
const PIECES_MAX: usize = 2;

/// A whole line with its newline, and its number, counted from 1.
type Line = (u64, String);

/// Lines that are there, in pieces. They are read on a thread of their own, so that a signal finds somebody to answer it
/// while nothing comes.
pub struct Lines {
    pieces: Receiver<Vec<Line>>,
    /// What ended it, for after the lines before that.
    failures: Receiver<Failure>,
}

impl Lines {
    pub fn of_stdin() -> Result<Self, Failure> {
        let (sender, pieces) = mpsc::sync_channel(PIECES_MAX);
        let (failed, failures) = mpsc::sync_channel(1);
        let read = move || {
            if let Err(failure) = send(io::stdin(), INPUT_BYTES_MAX, &sender) {
                let _ = failed.send(failure);
            }
        };
        let started = thread::Builder::new().name("stdin".into()).spawn(read);
        started.map_err(|error| Failure::refused(format!("cannot read stdin: {error}")))?;
        Ok(Self { pieces, failures })
    }

    /// The next lines, at least one; none at the end.
    pub fn next(&mut self) -> Option<Vec<Line>> {
        self.pieces.recv().ok()
    }

    /// Why there are no more lines, unless stdin ended.
    pub fn end(self) -> Result<(), Failure> {
        self.failures.recv().map_or(Ok(()), Err)
    }
}

/// Sends what is read until the end, as whole lines; what follows the last newline is one too. Blank lines are left out.
fn send(
    input: impl Read,
    line_bytes_max: u64,
    pieces: &SyncSender<Vec<Line>>,
) -> Result<(), Failure> {
    let mut input = BufReader::with_capacity(READ_BYTES, input);
    let mut pending = Vec::new();
    let mut number = 0;
    let mut is_first = true;
    loop {
        let read = match input.fill_buf() {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::refused(format!("cannot read stdin: {error}"))),
        };
        let (is_end, read_bytes) = (read.is_empty(), read.len());
        let newline = read.iter().rposition(|byte| *byte == b'\n');
        let before = pending.len();
        pending.extend_from_slice(read);
        input.consume(read_bytes);
        let whole_bytes = match newline {
            Some(newline) => before + newline + 1,
            None if is_end => pending.len(),
            None => 0,
        };
        let mut whole = Vec::new();
        // A line that goes on is left where it is: moving it for every piece would take the square of its length.
        if whole_bytes > 0 {
            let rest = pending.split_off(whole_bytes);
            whole = std::mem::replace(&mut pending, rest);
        }
        if pending.len() as u64 > line_bytes_max {
            return Err(bad_line(
                number + 1,
                &format!("longer than {line_bytes_max} bytes, the most that is taken at once"),
            ));
        }
        let mut lines = Vec::new();
        let text = input::without_mark(&whole, is_first);
        is_first &= whole.is_empty();
        let split = split(text, &mut number, &mut lines);
        // Nobody listens when the command has ended.
        let is_over = !lines.is_empty() && pieces.send(lines).is_err();
        split?;
        if is_end || is_over {
            return Ok(());
        }
    }
}

/// Lines that are not blank, each ended by a newline, up to the first that is no UTF-8.
fn split(whole: &[u8], number: &mut u64, lines: &mut Vec<Line>) -> Result<(), Failure> {
    for line in whole.split_inclusive(|byte| *byte == b'\n') {
        *number += 1;
        let line = std::str::from_utf8(line).map_err(|_| bad_line(*number, "not UTF-8"))?;
        let line = line.trim_end_matches(['\n', '\r', ' ', '\t']);
        if !line.is_empty() {
            lines.push((*number, format!("{line}\n")));
        }
    }
    Ok(())
}

fn bad_line(number: u64, what: &str) -> Failure {
    Failure::refused(format!("stdin, line {number}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(input: &[u8], line_bytes_max: u64) -> (Vec<Line>, bool) {
        let (sender, pieces) = mpsc::sync_channel(100);
        let result = send(input, line_bytes_max, &sender);
        drop(sender);
        (pieces.iter().flatten().collect(), result.is_ok())
    }

    fn lines(expected: &[(u64, &str)]) -> Vec<Line> {
        let owned = expected.iter().map(|(n, line)| (*n, (*line).to_owned()));
        owned.collect()
    }

    #[test]
    fn lines_are_whole_and_counted() {
        let (found, is_ok) = sent(b"a\r\n\n b \nc", 4);
        assert_eq!(found, lines(&[(1, "a\n"), (3, " b\n"), (4, "c\n")]));
        assert!(is_ok);
        assert_eq!(sent(b"", 4), (Vec::new(), true));
    }

    /// Every piece of a long line copied all of it that was there: 16 MiB took seconds.
    #[test]
    fn a_long_line_takes_time_in_step_with_its_length() {
        let long = "x".repeat(128 << 20);
        let started = std::time::Instant::now();
        let (found, is_ok) = sent(long.as_bytes(), u64::MAX);
        assert!(is_ok && found[0].1.len() == long.len() + 1);
        let taken = started.elapsed();
        assert!(taken < std::time::Duration::from_secs(4), "{taken:?}");
    }

    #[test]
    fn a_byte_order_mark_is_left_out_at_the_start_only() {
        let (found, is_ok) = sent("\u{feff}a\n\u{feff}b\n".as_bytes(), 9);
        assert_eq!(found, lines(&[(1, "a\n"), (2, "\u{feff}b\n")]));
        assert!(is_ok);
    }

    #[test]
    fn what_comes_before_a_bad_line_is_kept() {
        let (found, is_ok) = sent(b"a\n\xff\nb\n", 4);
        assert_eq!(found, lines(&[(1, "a\n")]));
        assert!(!is_ok);
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        let long = "x".repeat(READ_BYTES);
        let (found, is_ok) = sent(long.as_bytes(), READ_BYTES as u64);
        assert_eq!(found, lines(&[(1, &format!("{long}\n"))]));
        assert!(is_ok);
        let longer = format!("{long}x");
        assert!(!sent(longer.as_bytes(), READ_BYTES as u64).1);
    }
}
