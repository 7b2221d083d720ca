//! What a JSON string says, and how one is written.

use std::borrow::Cow;

use super::word;

/// The contents of a JSON string, still escaped. Lone surrogates are possible: they can be written as escapes.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    raw: &'a str,
}

impl<'a> Text<'a> {
    /// Of what stands between the quotes of a checked string.
    #[inline(always)]
    pub(super) fn escaped(raw: &'a str) -> Text<'a> {
        Text { raw }
    }

    /// The text between the quotes as written.
    #[inline(always)]
    pub fn raw(self) -> &'a str {
        self.raw
    }

    /// Whether the string says `expected`.
    #[inline(always)]
    pub fn is(self, expected: &str) -> bool {
        // An escape is never shorter than what it stands for, so a shorter raw text cannot say it.
        if self.raw.len() <= expected.len() {
            return self.raw == expected && !self.has_escape();
        }
        self.has_escape() && self.code_points().eq(expected.chars().map(u32::from))
    }

    /// Whether both say the same, however they are escaped.
    pub fn same(self, other: Text<'_>) -> bool {
        if self.raw == other.raw {
            return true;
        }
        (self.has_escape() || other.has_escape()) && self.code_points().eq(other.code_points())
    }

    /// What the string says; none when it has a lone surrogate.
    #[inline]
    pub fn decode(self) -> Option<Cow<'a, str>> {
        if !self.has_escape() {
            return Some(Cow::Borrowed(self.raw));
        }
        self.code_points()
            .map(char::from_u32)
            .collect::<Option<String>>()
            .map(Cow::Owned)
    }

    /// What the string says, for people and for comparing names: a lone surrogate becomes U+FFFD.
    #[inline]
    pub fn decode_lossy(self) -> Cow<'a, str> {
        if !self.has_escape() {
            return Cow::Borrowed(self.raw);
        }
        let points = self.code_points();
        Cow::Owned(
            points
                .map(|point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
        )
    }

    /// What the string says as bytes, the same for two strings exactly if [`Text::same`] holds: UTF-8, and a lone
    /// surrogate as the three bytes that it would have there.
    pub(crate) fn key(self) -> Cow<'a, [u8]> {
        if !self.has_escape() {
            return Cow::Borrowed(self.raw.as_bytes());
        }
        let mut key = Vec::with_capacity(self.raw.len());
        for point in self.code_points() {
            match char::from_u32(point) {
                Some(char) => key.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
                None => {
                    let low = |shift: u32| 0x80 | ((point >> shift) & 0x3f) as u8;
                    key.extend_from_slice(&[0xe0 | (point >> 12) as u8, low(6), low(0)]);
                }
            }
        }
        Cow::Owned(key)
    }

    // Names are short: this is over before a search in large steps has begun.
    #[inline(always)]
    fn has_escape(self) -> bool {
        word::contains(self.raw.as_bytes(), b'\\')
    }

    /// Unicode code points, surrogate pairs joined, lone surrogates as they are.
    pub fn code_points(self) -> CodePoints<'a> {
        CodePoints { rest: self.raw }
    }
}

/// Code points of a [`Text`].
#[derive(Clone, Debug)]
pub struct CodePoints<'a> {
    rest: &'a str,
}

impl Iterator for CodePoints<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let mut chars = self.rest.chars();
        let first = chars.next()?;
        if first != '\\' {
            self.rest = chars.as_str();
            return Some(u32::from(first));
        }
        let escape = chars.next()?;
        self.rest = chars.as_str();
        match escape {
            'b' => Some(0x08),
            'f' => Some(0x0c),
            'n' => Some(0x0a),
            'r' => Some(0x0d),
            't' => Some(0x09),
            'u' => {
                let unit = hex_unit(self.rest)?;
                self.rest = self.rest.get(4..).unwrap_or_default();
                if !(0xd800..0xdc00).contains(&unit) {
                    return Some(unit);
                }
                let low = self.rest.strip_prefix("\\u").and_then(hex_unit);
                match low {
                    Some(low) if (0xdc00..0xe000).contains(&low) => {
                        self.rest = self.rest.get(6..).unwrap_or_default();
                        Some(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
                    }
                    _ => Some(unit),
                }
            }
            other => Some(u32::from(other)),
        }
    }
}

fn hex_unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.get(..4)?, 16).ok()
}

/// The JSON string that says `text`, in the shortest usual escapes (`\n`, `\"`; `\u001f` in lower case).
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => out.push(char),
        }
    }
    out.push('"');
    out
}

/// Appends an integer as it is usually spelled.
pub(crate) fn push_integer(out: &mut String, value: u64) {
    let mut digits = [b'0'; 20];
    let (mut rest, mut count) = (value, 0);
    for digit in digits.iter_mut().rev() {
        // Always one of ten.
        *digit += (rest % 10) as u8;
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    let digits = digits
        .len()
        .checked_sub(count)
        .and_then(|at| digits.get(at..));
    // Digits are UTF-8.
    out.push_str(
        digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .unwrap_or_default(),
    );
}
