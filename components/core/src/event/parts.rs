//! The members of a message's data that are asked for again and again.

use crate::json::{Text, Value};

/// What stands in the data of a message under the names that make the message; of a repeated member the last counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts<'a> {
    /// `content`
    pub(crate) content: Option<Value<'a>>,
    /// `provenance`
    pub(crate) provenance: Option<Value<'a>>,
    /// `callId`
    pub(crate) call_id: Option<Value<'a>>,
    /// `isError`
    pub(crate) is_error: Option<Value<'a>>,
}

impl<'a> Parts<'a> {
    /// Those of `data`; none of what is no object.
    pub(crate) fn of(data: Value<'a>) -> Parts<'a> {
        let mut parts = Parts::default();
        for (name, value) in data.members() {
            parts.note(name, value);
        }
        parts
    }

    /// Keeps the next member of the data if it is one of them.
    #[inline(always)]
    pub(crate) fn note(&mut self, name: Text<'a>, value: Value<'a>) {
        let slot = match name.decode().as_deref() {
            Some("content") => &mut self.content,
            Some("provenance") => &mut self.provenance,
            Some("callId") => &mut self.call_id,
            Some("isError") => &mut self.is_error,
            _ => return,
        };
        *slot = Some(value);
    }
}
