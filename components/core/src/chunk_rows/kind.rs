//! The three kinds of rows, and the names that go with each.

use crate::json::Value;

/// What the deltas of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Text of the answer.
    Text,
    /// Text of the reasoning.
    Reasoning,
    /// Arguments of one tool call.
    ToolCall,
}

impl RowKind {
    /// Every kind there is.
    pub(crate) const ALL: [RowKind; 3] = [RowKind::Text, RowKind::Reasoning, RowKind::ToolCall];

    /// The `type` of its rows.
    pub fn tag(self) -> &'static str {
        match self {
            RowKind::Text => "text-chunks",
            RowKind::Reasoning => "reasoning-chunks",
            RowKind::ToolCall => "tool-call-chunks",
        }
    }

    /// The `type` of its deltas.
    pub fn delta_type(self) -> &'static str {
        match self {
            RowKind::Text => "text-delta",
            RowKind::Reasoning => "reasoning-delta",
            RowKind::ToolCall => "tool-call-delta",
        }
    }

    pub(super) fn of_tag(value: Value<'_>) -> Option<RowKind> {
        let tag = value.as_text()?.decode_lossy();
        RowKind::ALL.into_iter().find(|kind| kind.tag() == tag)
    }

    pub(crate) fn texts_name(self) -> &'static str {
        match self {
            RowKind::Text | RowKind::Reasoning => "texts",
            RowKind::ToolCall => "args",
        }
    }

    pub(super) fn delta_text_name(self) -> &'static str {
        match self {
            RowKind::Text | RowKind::Reasoning => "text",
            RowKind::ToolCall => "argumentsDelta",
        }
    }
}
