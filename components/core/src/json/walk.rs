//! The grammar, as functions from one place in a text to the place behind what stands there.
//!
//! `Err` is the place where the text breaks the grammar.

use super::fault::JsonFaultKind;
use super::integer::{plain_integer, short_integers};
use super::number;
use super::string::string_rest;

/// The first number seen that a double cannot carry, and where.
pub(super) type Lossy = Option<(JsonFaultKind, usize)>;

/// NUL stands for the end: outside and inside strings it is refused wherever it is really written.
#[inline(always)]
pub(super) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Behind the whitespace that there is, if any.
#[inline(always)]
pub(super) fn space(bytes: &[u8], mut at: usize) -> usize {
    while byte(bytes, at) <= b' ' && matches!(byte(bytes, at), b' ' | b'\n' | b'\r' | b'\t') {
        at += 1;
    }
    at
}

#[inline(always)]
pub(super) fn expect(bytes: &[u8], at: usize, expected: u8) -> Result<usize, usize> {
    if byte(bytes, at) == expected {
        Ok(at + 1)
    } else {
        Err(at)
    }
}

/// Behind a member's name, its colon and the whitespace after it.
#[inline(always)]
pub(super) fn name(bytes: &[u8], at: usize) -> Result<usize, usize> {
    let at = expect(bytes, at, b'"')?;
    let at = string_rest(bytes, at)?;
    let at = expect(bytes, space(bytes, at), b':')?;
    Ok(space(bytes, at))
}

/// Behind one value.
pub(super) fn value(bytes: &[u8], mut at: usize, lossy: &mut Lossy) -> Result<usize, usize> {
    let mut open = Nesting::default();
    loop {
        match byte(bytes, at) {
            b'"' => at = string_rest(bytes, at + 1)?,
            b'{' => {
                at = space(bytes, at + 1);
                if byte(bytes, at) != b'}' {
                    open.push(true);
                    at = name(bytes, at)?;
                    continue;
                }
                at += 1;
            }
            b'[' => {
                at = space(bytes, at + 1);
                if byte(bytes, at) != b']' {
                    open.push(false);
                    at = space(bytes, short_integers(bytes, at, |_| ()));
                    continue;
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => at = number(bytes, at, lossy)?,
            b't' => at = literal(bytes, at, b"true")?,
            b'f' => at = literal(bytes, at, b"false")?,
            b'n' => at = literal(bytes, at, b"null")?,
            _ => return Err(at),
        }
        loop {
            let Some(in_object) = open.top() else {
                return Ok(at);
            };
            at = space(bytes, at);
            match byte(bytes, at) {
                b',' => {
                    at = space(bytes, at + 1);
                    if in_object {
                        at = name(bytes, at)?;
                    }
                    break;
                }
                b'}' if in_object => at += 1,
                b']' if !in_object => at += 1,
                _ => return Err(at),
            }
            open.pop();
        }
    }
}

fn literal(bytes: &[u8], at: usize, expected: &[u8]) -> Result<usize, usize> {
    let found = (at..).zip(expected);
    for (at, expected) in found {
        expect(bytes, at, *expected)?;
    }
    Ok(at + expected.len())
}

/// Behind a number, whose loss is noted if it is the first.
#[inline(always)]
pub(super) fn number(bytes: &[u8], at: usize, lossy: &mut Lossy) -> Result<usize, usize> {
    // Most numbers are short runs of digits, and a double carries those.
    match plain_integer(bytes, at) {
        Some((_, end)) => Ok(end),
        None => any_number(bytes, at, lossy),
    }
}

fn any_number(bytes: &[u8], start: usize, lossy: &mut Lossy) -> Result<usize, usize> {
    let mut at = start + usize::from(byte(bytes, start) == b'-');
    if byte(bytes, at) == b'0' {
        at += 1;
    } else {
        at = digits(bytes, at)?;
    }
    if byte(bytes, at) == b'.' {
        at = digits(bytes, at + 1)?;
    }
    if matches!(byte(bytes, at), b'e' | b'E') {
        at += 1;
        at = digits(
            bytes,
            at + usize::from(matches!(byte(bytes, at), b'+' | b'-')),
        )?;
    }
    if lossy.is_none() {
        *lossy = number::loss(bytes.get(start..at).unwrap_or_default()).map(|kind| (kind, start));
    }
    Ok(at)
}

fn digits(bytes: &[u8], start: usize) -> Result<usize, usize> {
    let mut at = start;
    while byte(bytes, at).is_ascii_digit() {
        at += 1;
    }
    if at == start { Err(at) } else { Ok(at) }
}

/// Which brackets are open, one bit each: set for an object.
#[derive(Default)]
pub(super) struct Nesting {
    word: u64,
    depth: usize,
    full: Vec<u64>,
}

impl Nesting {
    #[inline(always)]
    pub(super) fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.full.push(self.word);
        }
        self.word = (self.word << 1) | u64::from(is_object);
        self.depth += 1;
    }

    #[inline(always)]
    pub(super) fn top(&self) -> Option<bool> {
        if self.depth == 0 {
            None
        } else {
            Some(self.word & 1 == 1)
        }
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.word >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.word = self.full.pop().unwrap_or(0);
        }
    }
}
