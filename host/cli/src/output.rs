//! stdout carries results, stderr the rest.

use std::io::{self, BufWriter, StdoutLock, Write};

use clap::ValueEnum;
use serde_json::Value;

use crate::failure::Failure;
use crate::text;

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people and for simple scripts.
    Text,
    /// One JSON value.
    Json,
    /// One JSON value a line.
    Jsonl,
}

/// Buffered stdout. Call [`Output::end`] last: results that could not be written are a failure.
pub struct Output {
    pub format: Format,
    out: BufWriter<StdoutLock<'static>>,
}

impl Output {
    pub fn new(format: Format) -> Self {
        let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        Self { format, out }
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.out.write_all(bytes)?)
    }

    /// One line for people, escaped.
    pub fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.bytes(text::escape(line).as_bytes())?;
        self.bytes(b"\n")
    }

    /// One JSON value on a line of its own.
    pub fn json(&mut self, value: &Value) -> Result<(), Failure> {
        self.bytes(value.to_string().as_bytes())?;
        self.bytes(b"\n")
    }

    /// A result that is one value: as text where people read it, else as JSON.
    pub fn one(&mut self, line: &str, value: &Value) -> Result<(), Failure> {
        match self.format {
            Format::Text => self.line(line),
            Format::Json | Format::Jsonl => self.json(value),
        }
    }

    /// Results written so far leave this process now.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    pub fn end(mut self) -> Result<(), Failure> {
        self.flush()
    }
}

/// How many columns the terminal has that stdout is; none where it is no terminal.
#[cfg(unix)]
pub fn columns() -> Option<usize> {
    let found = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(found.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
pub fn columns() -> Option<usize> {
    None
}

/// One line on stderr. That nobody can read it is no reason to stop.
pub fn note(message: &str) {
    let _ = writeln!(io::stderr(), "annals: {}", text::escape(message));
}
