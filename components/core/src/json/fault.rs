//! What is wrong with a JSON text, and where.

use std::fmt;

use super::scan::Scanner;
use super::text::{Text, quote};
use crate::fault::{SHOWN_CHARS_MAX, shown};

/// Which rule a text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFaultKind {
    /// It is not one JSON value.
    Syntax,
    /// A number is negative zero, whose sign JSON writers drop.
    NegativeZero,
    /// A number is beyond the largest double.
    Overflow,
}

/// A text that is no lossless JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonFault {
    /// Which rule.
    pub kind: JsonFaultKind,
    /// Where, in bytes from the start of the text.
    pub byte: usize,
    /// JSON pointer to the value there, as [`shown`]; empty for the outermost.
    pub path: String,
}

impl JsonFault {
    #[cold]
    pub(super) fn at(text: &str, kind: JsonFaultKind, byte: usize) -> JsonFault {
        JsonFault {
            kind,
            byte,
            path: shown(&pointer(text, byte)).into_owned(),
        }
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            JsonFaultKind::Syntax => "not JSON",
            JsonFaultKind::NegativeZero => "the number -0 would lose its sign",
            JsonFaultKind::Overflow => "the number is beyond the largest double",
        };
        write!(f, "{what} at byte {}", self.byte)?;
        if !self.path.is_empty() {
            // names may hold line breaks, a message is one line
            let path = quote(&self.path);
            let inner = path.get(1..path.len() - 1).unwrap_or_default();
            write!(f, " (path {inner})")?;
        }
        Ok(())
    }
}

impl std::error::Error for JsonFault {}

enum Step<'a> {
    Element(u64),
    Member(Option<Text<'a>>),
}

/// JSON pointer to the value that stands at `byte` of a text whose grammar holds up to there, at least as much of it as
/// is [`shown`]: a step is a character or more, so deeper ones need not be remembered.
fn pointer(text: &str, byte: usize) -> String {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut deeper = 0usize;
    let mut scan = Scanner::new(text);
    loop {
        scan.space();
        if scan.at() >= byte || scan.is_end() {
            break;
        }
        let is_deep = steps.len() > SHOWN_CHARS_MAX;
        if is_deep && (scan.take(b'{') || scan.take(b'[')) {
            deeper += 1;
        } else if deeper > 0 {
            if scan.take(b'}') || scan.take(b']') {
                deeper -= 1;
            } else if !(scan.take(b',') || scan.take(b':')) && scan.value().is_err() {
                break;
            }
        } else if scan.take(b'{') {
            steps.push(Step::Member(None));
        } else if scan.take(b'[') {
            steps.push(Step::Element(0));
        } else if scan.take(b'}') || scan.take(b']') {
            steps.pop();
        } else if scan.take(b',') {
            match steps.last_mut() {
                Some(Step::Element(position)) => *position += 1,
                Some(Step::Member(name)) => *name = None,
                None => {}
            }
        } else if let Some(Step::Member(name @ None)) = steps.last_mut() {
            match scan.name() {
                Ok(found) => *name = Some(found),
                Err(_) => break,
            }
        } else if scan.value().is_err() {
            break;
        }
    }
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Element(position) => path.push_str(&format!("/{position}")),
            Step::Member(None) => {}
            Step::Member(Some(name)) => {
                path.push('/');
                path.push_str(&name.decode_lossy().replace('~', "~0").replace('/', "~1"));
            }
        }
    }
    path
}
