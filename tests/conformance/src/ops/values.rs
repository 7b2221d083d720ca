//! `json_text`, `host_value`.

use annals_core::json::{self, JsonFaultKind};
use serde_json::json;

use super::{Answered, Stop, field, text_field};
use crate::answer::Refusal;
use crate::canonical::canonical;
use crate::host_value;
use crate::vector::{Case, set};

pub fn json_text(case: &Case) -> Answered {
    lossless(case, text_field(&case.input, "json_text")?)
}

pub fn host_value(case: &Case) -> Answered {
    lossless(case, &host_value::text(field(&case.input, "value")?)?)
}

fn lossless(case: &Case, text: &str) -> Answered {
    match json::check(text) {
        Ok(()) => {
            let mut result = json!({ "accepted": true });
            // The reference's spelling; Annals keeps the text as it came.
            if case.expect.pointer("/ok/serialized").is_some() {
                set(
                    &mut result,
                    "serialized",
                    canonical(text).map_err(Stop::Misread)?,
                );
            }
            Ok(result)
        }
        Err(fault) => match fault.kind {
            JsonFaultKind::Syntax => Err(Refusal::new("json-syntax", fault.to_string()).into()),
            JsonFaultKind::NegativeZero | JsonFaultKind::Overflow => {
                Ok(json!({ "accepted": false }))
            }
        },
    }
}
