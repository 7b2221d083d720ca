//! Where a value stands in a text, to have it again without reading the text again.

use std::num::NonZeroU32;

use super::Value;

/// The place of a value as offsets into a text of less than 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    // No value ends where the text begins, which makes an absent place no longer than a place.
    end: NonZeroU32,
}

impl Span {
    /// None when the value does not stand in the text.
    pub(crate) fn of(value: Value<'_>, text: &str) -> Option<Span> {
        let start = value
            .text
            .as_ptr()
            .addr()
            .checked_sub(text.as_ptr().addr())?;
        let end = start + value.text.len();
        let span = Span {
            start: u32::try_from(start).ok()?,
            end: NonZeroU32::new(u32::try_from(end).ok()?)?,
        };
        (end <= text.len()).then_some(span)
    }

    /// The value again, of its very text.
    pub(crate) fn value(self, text: &str) -> Option<Value<'_>> {
        text.get(self.start as usize..self.end.get() as usize)
            .map(Value::checked)
    }
}
