//! The one scanner: a place in a text that moves forward over what the grammar allows.

use super::Value;
use super::fault::JsonFaultKind;
use super::text::Text;
use super::walk::{self, Lossy};
use super::{integer, string};
use crate::header::SAFE_INTEGER_MAX;

/// The text breaks the grammar at the scanner's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop;

/// A place in a text, and the first number seen that a double cannot carry.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    // Kept instead of reported at once: a text that is no JSON is that first of all.
    lossy: Lossy,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Scanner<'a> {
        Scanner {
            text,
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
        self.between(self.at, self.text.len())
    }

    /// Offset in bytes.
    #[inline(always)]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    #[inline(always)]
    pub(crate) fn lossy(&self) -> Option<(JsonFaultKind, usize)> {
        self.lossy
    }

    #[inline(always)]
    pub(crate) fn is_end(&self) -> bool {
        self.at >= self.text.len()
    }

    #[inline(always)]
    pub(crate) fn between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    #[inline(always)]
    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    #[inline(always)]
    pub(crate) fn peek(&self) -> u8 {
        walk::byte(self.bytes(), self.at)
    }

    /// Takes this byte, which is not NUL, if it stands here.
    #[inline(always)]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    #[inline(always)]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Stop> {
        if self.take(byte) { Ok(()) } else { Err(Stop) }
    }

    #[inline(always)]
    pub(crate) fn space(&mut self) {
        self.at = walk::space(self.bytes(), self.at);
    }

    /// Whitespace and the comma between two members or elements of a checked value.
    #[inline(always)]
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
        self.reach(string::string_rest(self.bytes(), self.at))?;
        let name = Text::escaped(self.between(start, self.at - 1));
        self.space();
        self.expect(b':')?;
        self.space();
        Ok(name)
    }

    #[inline(always)]
    pub(crate) fn value_text(&mut self) -> Result<&'a str, Stop> {
        let start = self.at;
        self.value()?;
        Ok(self.between(start, self.at))
    }

    /// One value, from its first byte to behind its last.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> Result<(), Stop> {
        let reached = walk::value(self.bytes(), self.at, &mut self.lossy);
        self.reach(reached)
    }

    /// An object, its opening bracket at the scanner's place; shows each member. When it stops, some may have been shown.
    #[inline(always)]
    pub(crate) fn object(
        &mut self,
        mut visit: impl FnMut(Text<'a>, Value<'a>),
    ) -> Result<(), Stop> {
        self.expect(b'{')?;
        self.space();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            let name = self.name()?;
            visit(name, Value::checked(self.value_text()?));
            self.space();
            if self.take(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
            self.space();
        }
    }

    /// Exactly these bytes.
    #[inline(always)]
    pub(crate) fn literal(&mut self, expected: &str) -> Result<(), Stop> {
        let rest = self.bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(expected.as_bytes()) {
            return Err(Stop);
        }
        self.at += expected.len();
        Ok(())
    }

    /// A number as written.
    #[inline(always)]
    pub(crate) fn number_text(&mut self) -> Result<&'a str, Stop> {
        let start = self.at;
        let reached = walk::number(self.bytes(), self.at, &mut self.lossy);
        self.reach(reached)?;
        Ok(self.between(start, self.at))
    }

    /// An integer without sign, fraction and exponent, of at most 16 digits; at any other number it stays.
    #[inline(always)]
    pub(crate) fn plain_integer(&mut self) -> Option<u64> {
        let (value, end) = integer::plain_integer(self.bytes(), self.at)?;
        self.at = end;
        Some(value)
    }

    /// Passes integers without sign, as long as they are short and have a comma right behind them: their sum and number.
    #[inline(always)]
    pub(crate) fn sum_of_short_integers(&mut self) -> (u64, u64) {
        let (sum, count, at) = integer::sum_of_short_integers(self.bytes(), self.at);
        self.at = at;
        (sum, count)
    }

    /// Gives out integers without sign, as long as they are short and have a comma right behind them.
    #[inline(always)]
    pub(crate) fn short_integers(&mut self, take: impl FnMut(u64)) {
        self.at = integer::short_integers(self.bytes(), self.at, take);
    }

    /// Passes an array of at least one seq, in strictly ascending order, all but the last short, without whitespace: the
    /// last one. At anything else it stays.
    #[inline(always)]
    pub(crate) fn ascending_seqs(&mut self) -> Option<u64> {
        let mut ahead = self.clone();
        ahead.expect(b'[').ok()?;
        let (mut last, mut is_ascending) = (None, true);
        ahead.short_integers(|seq| {
            is_ascending &= last < Some(seq);
            last = Some(seq);
        });
        let end = ahead.plain_integer()?;
        ahead.expect(b']').ok()?;
        if !is_ascending || last >= Some(end) || end > SAFE_INTEGER_MAX {
            return None;
        }
        self.at = ahead.at;
        Some(end)
    }

    /// Passes an array of numbers that is the value of a member of a checked object, without whitespace behind it, and
    /// stands at the comma or the bracket that follows. What is passed may be something else where the next thing is no
    /// member and not the object's end.
    #[inline(always)]
    pub(crate) fn skip_checked_numbers(&mut self) -> Result<(), Stop> {
        // No number has a quote: the next one begins the name of the next member.
        let found = memchr::memchr(b'"', self.rest().as_bytes());
        let end = match found {
            Some(found) => (self.at + found).checked_sub(1),
            None => self.text.len().checked_sub(1),
        };
        let end = end.filter(|end| *end > self.at).ok_or(Stop)?;
        if walk::byte(self.bytes(), end - 1) != b']' {
            return Err(Stop);
        }
        self.at = end;
        Ok(())
    }

    /// A string with its quotes.
    #[inline(always)]
    pub(crate) fn string(&mut self) -> Result<(), Stop> {
        self.expect(b'"')?;
        self.reach(string::string_rest(self.bytes(), self.at))
    }

    /// Strings with a comma right between each two of them, at least one: how many.
    #[inline(always)]
    pub(crate) fn strings(&mut self) -> Result<u64, Stop> {
        let mut count = 0;
        loop {
            self.expect(b'"')?;
            let (passed, at) = string::short_strings(self.bytes(), self.at);
            self.reach(string::string_rest(self.bytes(), at))?;
            count += passed + 1;
            if !self.take(b',') {
                return Ok(count);
            }
        }
    }

    /// A string as written, with its quotes.
    #[inline(always)]
    pub(crate) fn string_text(&mut self) -> Result<&'a str, Stop> {
        let start = self.at;
        self.string()?;
        Ok(self.between(start, self.at))
    }

    #[inline(always)]
    fn reach(&mut self, reached: Result<usize, usize>) -> Result<(), Stop> {
        match reached {
            Ok(at) => {
                self.at = at;
                Ok(())
            }
            Err(at) => {
                self.at = at;
                Err(Stop)
            }
        }
    }
}
