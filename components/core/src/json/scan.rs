//! The one scanner: a forward pass over bytes, with a stack of one bit per open bracket.

use super::fault::JsonFaultKind;
use super::number;
use super::text::Text;

/// The text breaks the grammar at the scanner's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop;

/// A place in a text, and the first number seen that a double cannot carry.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    // Kept instead of reported at once: a text that is no JSON is that first of all.
    lossy: Option<(JsonFaultKind, usize)>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Scanner<'a> {
        Scanner {
            text,
            bytes: text.as_bytes(),
            at: 0,
            lossy: None,
        }
    }

    /// Inside the brackets of a checked value, or at its end when it does not begin with `open`.
    pub(crate) fn inside(text: &'a str, open: u8) -> Scanner<'a> {
        let mut scan = Scanner::new(text);
        if !scan.take(open) {
            scan.at = text.len();
        }
        scan
    }

    /// From the scanner's place to the end.
    pub(crate) fn rest(&self) -> &'a str {
        self.between(self.at, self.bytes.len())
    }

    /// Offset in bytes.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn lossy(&self) -> Option<(JsonFaultKind, usize)> {
        self.lossy
    }

    pub(crate) fn is_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    // NUL stands for the end: outside and inside strings it is refused wherever it is really written.
    #[inline(always)]
    pub(crate) fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte && !self.is_end();
        self.at += usize::from(found);
        found
    }

    #[inline(always)]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Stop> {
        if self.take(byte) { Ok(()) } else { Err(Stop) }
    }

    #[inline(always)]
    pub(crate) fn space(&mut self) {
        while self.peek() <= b' ' && matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    /// Whitespace and the comma between two members or elements of a checked value.
    pub(crate) fn separator(&mut self) {
        self.space();
        if self.take(b',') {
            self.space();
        }
    }

    /// A member's name with the colon after it; stands at the value afterwards.
    #[inline(always)]
    pub(crate) fn name(&mut self) -> Result<Text<'a>, Stop> {
        self.expect(b'"')?;
        let start = self.at;
        self.string_rest()?;
        let name = Text::escaped(self.between(start, self.at - 1));
        self.space();
        self.expect(b':')?;
        self.space();
        Ok(name)
    }

    pub(crate) fn value_text(&mut self) -> Result<&'a str, Stop> {
        let start = self.at;
        self.value()?;
        Ok(self.between(start, self.at))
    }

    /// One value, from its first byte to behind its last.
    pub(crate) fn value(&mut self) -> Result<(), Stop> {
        let mut open = Nesting::default();
        loop {
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    self.string_rest()?;
                }
                b'{' => {
                    self.at += 1;
                    self.space();
                    if !self.take(b'}') {
                        open.push(true);
                        self.name()?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    self.space();
                    if !self.take(b']') {
                        open.push(false);
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => return Err(Stop),
            }
            loop {
                let Some(in_object) = open.top() else {
                    return Ok(());
                };
                self.space();
                match self.peek() {
                    b',' => {
                        self.at += 1;
                        self.space();
                        if in_object {
                            self.name()?;
                        }
                        break;
                    }
                    b'}' if in_object => self.at += 1,
                    b']' if !in_object => self.at += 1,
                    _ => return Err(Stop),
                }
                open.pop();
            }
        }
    }

    /// Exactly these bytes.
    #[inline(always)]
    pub(crate) fn literal(&mut self, expected: &str) -> Result<(), Stop> {
        let found = self
            .bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(expected.as_bytes()));
        if !found {
            return Err(Stop);
        }
        self.at += expected.len();
        Ok(())
    }

    /// A number as written.
    #[inline(always)]
    pub(crate) fn number_text(&mut self) -> Result<&'a str, Stop> {
        let start = self.at;
        self.number()?;
        Ok(self.between(start, self.at))
    }

    /// A string as written, with its quotes.
    #[inline(always)]
    pub(crate) fn string_text(&mut self) -> Result<&'a str, Stop> {
        let start = self.at;
        self.expect(b'"')?;
        self.string_rest()?;
        Ok(self.between(start, self.at))
    }

    fn word(&mut self, word: &str) -> Result<(), Stop> {
        for byte in word.bytes() {
            self.expect(byte)?;
        }
        Ok(())
    }

    /// The rest of a string, its opening quote taken; stands behind the closing quote afterwards.
    #[inline(always)]
    fn string_rest(&mut self) -> Result<(), Stop> {
        loop {
            while let Some(chunk) = self
                .bytes
                .get(self.at..)
                .and_then(|rest| rest.first_chunk::<8>())
            {
                let stops = string_stops(u64::from_le_bytes(*chunk));
                if stops != 0 {
                    self.at += (stops.trailing_zeros() / 8) as usize;
                    break;
                }
                self.at += 8;
            }
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.escape()?,
                0..=0x1f => return Err(Stop),
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), Stop> {
        self.at += 1;
        match self.peek() {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_ascii_hexdigit() {
                        return Err(Stop);
                    }
                    self.at += 1;
                }
            }
            _ => return Err(Stop),
        }
        Ok(())
    }

    #[inline(always)]
    fn number(&mut self) -> Result<(), Stop> {
        let start = self.at;
        // Most numbers are short runs of digits, and a double carries those.
        let starts_plain = matches!(self.peek(), b'1'..=b'9');
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if starts_plain && self.at - start <= 17 && !matches!(self.peek(), b'.' | b'e' | b'E') {
            return Ok(());
        }
        self.at = start;
        self.any_number()
    }

    fn any_number(&mut self) -> Result<(), Stop> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        if self.lossy.is_none() {
            self.lossy = number::loss(self.between(start, self.at)).map(|kind| (kind, start));
        }
        Ok(())
    }

    #[inline(always)]
    fn digits(&mut self) -> Result<(), Stop> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == start { Err(Stop) } else { Ok(()) }
    }
}

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES * 0x80;

/// The high bit of the first byte, counted from the lowest, that ends a plain stretch of a string: a quote, a
/// backslash or a control character. Bits above the lowest one mean nothing.
#[inline(always)]
fn string_stops(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    ((quote.wrapping_sub(ONES) & !quote) | (slash.wrapping_sub(ONES) & !slash) | control) & HIGHS
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
