//! JSON as the log keeps it: text that was checked once and is looked at in place.
//!
//! Checking is one pass without recursion, at any depth of nesting. Besides the grammar it holds the lossless rule:
//! a number whose double is negative zero or not finite is refused. Everything else is kept as written: number
//! spelling, key order, repeated keys, escapes of lone surrogates.

mod equal;
mod fault;
mod integer;
mod number;
mod scan;
mod span;
mod string;
mod text;
mod walk;
mod word;

pub use fault::{JsonFault, JsonFaultKind};
pub use text::{Text, quote};

pub(crate) use scan::{Scanner, Stop};
pub(crate) use span::Span;
pub(crate) use text::push_integer;

/// Refuses `text` unless it is exactly one lossless JSON value, with JSON whitespace around it or none.
pub fn check(text: &str) -> Result<(), JsonFault> {
    Value::parse(text).map(|_| ())
}

/// Reads `text` in one pass and shows each member of the outermost object, in file order.
///
/// The second half of the result is the first number that a double cannot carry, if there is one: whoever only looks
/// at the grammar may go on without it. A value that is no object has no members to show. When the result is a fault,
/// some members may have been shown.
pub fn read_members<'a>(
    text: &'a str,
    visit: impl FnMut(Text<'a>, Value<'a>),
) -> Result<(Value<'a>, Option<JsonFault>), JsonFault> {
    let mut scan = Scanner::new(text);
    match scan_document(&mut scan, visit) {
        Ok(value) => Ok((
            value,
            scan.lossy()
                .map(|(kind, byte)| JsonFault::at(text, kind, byte)),
        )),
        Err(Stop) => Err(JsonFault::at(text, JsonFaultKind::Syntax, scan.at())),
    }
}

fn scan_document<'a>(
    scan: &mut Scanner<'a>,
    visit: impl FnMut(Text<'a>, Value<'a>),
) -> Result<Value<'a>, Stop> {
    scan.space();
    let start = scan.at();
    if scan.peek() == b'{' {
        scan.object(visit)?;
    } else {
        scan.value()?;
    }
    let end = scan.at();
    scan.space();
    if !scan.is_end() {
        return Err(Stop);
    }
    Ok(Value {
        text: scan.between(start, end),
    })
}

/// The six kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number of any spelling.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A view of one checked JSON value, without whitespace around it.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    text: &'a str,
}

impl<'a> Value<'a> {
    /// Of a text that is known to be one value without whitespace around it.
    #[inline(always)]
    pub(crate) fn checked(text: &'a str) -> Value<'a> {
        Value { text }
    }

    /// Checks `text` as [`check`] does and gives a view of its value.
    pub fn parse(text: &'a str) -> Result<Value<'a>, JsonFault> {
        match read_members(text, |_, _| ())? {
            (value, None) => Ok(value),
            (_, Some(lossy)) => Err(lossy),
        }
    }

    /// The text as written.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// What kind of value this is.
    pub fn kind(self) -> Kind {
        match self.text.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Whether this is an object.
    pub fn is_object(self) -> bool {
        self.kind() == Kind::Object
    }

    /// Whether this is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Names and values in file order, repeated names included; none when this is no object.
    pub fn members(self) -> Members<'a> {
        Members {
            scan: Scanner::inside(self.text, b'{'),
        }
    }

    /// The member of that name; of several the last, as every JavaScript reader has it.
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        self.members()
            .filter(|(known, _)| known.is(name))
            .map(|(_, value)| value)
            .last()
    }

    /// The elements in order; none when this is no array.
    pub fn elements(self) -> Elements<'a> {
        Elements {
            scan: Scanner::inside(self.text, b'['),
        }
    }

    /// The contents of a string.
    pub fn as_text(self) -> Option<Text<'a>> {
        let inner = self.text.strip_prefix('"')?.strip_suffix('"')?;
        Some(Text::escaped(inner))
    }

    /// Whether this is a string that says `expected`.
    pub fn is_str(self, expected: &str) -> bool {
        self.as_text().is_some_and(|text| text.is(expected))
    }

    /// The double that a number stands for.
    pub fn as_f64(self) -> Option<f64> {
        match self.kind() {
            Kind::Number => self.text.parse().ok(),
            Kind::Null | Kind::Bool | Kind::String | Kind::Array | Kind::Object => None,
        }
    }

    /// A whole number of at most 2^53-1 either way; `1`, `1.0` and `1e0` are one value.
    pub fn as_safe_integer(self) -> Option<i64> {
        number::safe_integer(self.text)
    }

    /// A safe integer that is not negative.
    pub fn as_seq(self) -> Option<u64> {
        self.as_safe_integer()
            .and_then(|value| u64::try_from(value).ok())
    }

    /// The last element of an array of at least one seq, short ones in strictly ascending order without whitespace; none
    /// when this is anything else.
    pub(crate) fn last_of_ascending_seqs(self) -> Option<u64> {
        let mut scan = Scanner::new(self.text);
        let last = scan.ascending_seqs()?;
        scan.is_end().then_some(last)
    }

    /// The elements of an array of seqs in order; none when this is anything else.
    pub fn as_seqs(self) -> Option<Vec<u64>> {
        if self.kind() != Kind::Array {
            return None;
        }
        let mut scan = Scanner::inside(self.text, b'[');
        let mut seqs = Vec::new();
        loop {
            scan.separator();
            scan.short_integers(|seq| seqs.push(seq));
            scan.space();
            let Ok(text) = scan.value_text() else {
                return Some(seqs);
            };
            seqs.push(Value { text }.as_seq()?);
        }
    }

    /// Whether both stand for the same value: numbers by their double, strings by what they say, objects in any
    /// order of names with the last of a repeated name. Linear in depth and length.
    pub fn same(self, other: Value<'_>) -> bool {
        equal::same(self.text, other.text)
    }

    /// Like [`Value::same`], but objects must have their names in the same order, as if both were written out.
    pub fn same_in_order(self, other: Value<'_>) -> bool {
        equal::same_in_order(self.text, other.text)
    }
}

/// Members of an object in file order.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    scan: Scanner<'a>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Text<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.scan.separator();
        let name = self.scan.name().ok()?;
        let text = self.scan.value_text().ok()?;
        Some((name, Value { text }))
    }
}

/// Elements of an array in order.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    scan: Scanner<'a>,
}

impl<'a> Elements<'a> {
    /// The elements of an array of plain values, or of what [`Elements::rest`] gave of one.
    pub(crate) fn of_rest(text: &'a str) -> Elements<'a> {
        let mut scan = Scanner::new(text);
        scan.take(b'[');
        Elements { scan }
    }

    /// What was not read yet, the closing bracket included.
    pub(crate) fn rest(&self) -> &'a str {
        self.scan.rest()
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.scan.separator();
        let text = self.scan.value_text().ok()?;
        Some(Value { text })
    }
}
