//! The summary of a session: changed field by field, and as a small JSON document.

use serde_json::{Map, Value};

use crate::types::SessionSummary;

const TITLE: &str = "title";
const FIRST_PROMPT: &str = "firstPrompt";

impl Default for SessionSummary {
    /// The summary of a session that nobody has updated.
    fn default() -> Self {
        Self {
            title: None,
            first_prompt: None,
        }
    }
}

impl SessionSummary {
    /// What `update` does: none leaves a field alone and "" clears it.
    pub fn change(&mut self, by: &Self) {
        let fields = [
            (&mut self.title, &by.title),
            (&mut self.first_prompt, &by.first_prompt),
        ];
        for (field, change) in fields {
            if let Some(text) = change {
                *field = (!text.is_empty()).then(|| text.clone());
            }
        }
    }

    /// As the text of a JSON object, to keep beside a log.
    pub fn to_json(&self) -> String {
        let fields = [(TITLE, &self.title), (FIRST_PROMPT, &self.first_prompt)];
        let set = fields.into_iter().filter_map(|(name, text)| {
            let text = text.as_deref()?;
            Some((name.to_owned(), Value::from(text)))
        });
        Value::Object(set.collect::<Map<_, _>>()).to_string()
    }

    /// What [`SessionSummary::to_json`] gave. A field that is not there, or cannot be read, is none.
    pub fn from_json(text: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(text).unwrap_or_default();
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            title: text(TITLE),
            first_prompt: text(FIRST_PROMPT),
        }
    }
}
