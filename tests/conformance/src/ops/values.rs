//! `json_text`, `host_value`.

use serde_json::json;

use super::{Answered, Stop, field, text_field};
use crate::canonical::canonical;
use crate::host::Rules;
use crate::host_value;
use crate::vector::{Case, set};

pub fn json_text(rules: &dyn Rules, case: &Case) -> Answered {
    lossless(rules, case, text_field(&case.input, "json_text")?)
}

pub fn host_value(rules: &dyn Rules, case: &Case) -> Answered {
    let text = host_value::text(field(&case.input, "value")?)?;
    lossless(rules, case, &text)
}

fn lossless(rules: &dyn Rules, case: &Case, text: &str) -> Answered {
    match rules.check_json(text) {
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
        Err(Stop::Refused(refusal)) if refusal.kind == "json_number_lossy" => {
            Ok(json!({ "accepted": false }))
        }
        Err(stop) => Err(stop),
    }
}
