//! Whole objects in a text that is not JSON as a whole.

use std::ops::Range;

use crate::json::Scanner;

/// How often a byte is looked at on average before the rest of a text is given up: a stub is looked at once for each
/// object that is open in it.
const LOOKS_MAX: usize = 32;

/// How much may be looked at in a short text, in bytes.
const LOOKED_BYTES_MIN: usize = 64 << 10;

/// The whole objects in `text`, in order, none inside another. An object that is not closed may hold some.
pub(super) fn objects(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    let mut left = text.len().saturating_mul(LOOKS_MAX).max(LOOKED_BYTES_MIN);
    std::iter::from_fn(move || {
        while left > 0 {
            let rest = text.as_bytes().get(at..)?;
            let start = at + memchr::memchr(b'{', rest)?;
            let mut scan = Scanner::new(text.get(start..)?);
            let object = scan.value_text();
            left = left.saturating_sub(scan.at() + 1);
            match object {
                Ok(object) => {
                    at = start + object.len();
                    return Some(start..at);
                }
                Err(_) => at = start + 1,
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        objects(text).map(|range| &text[range]).collect()
    }

    #[test]
    fn whole_objects_are_found_between_anything() {
        assert_eq!(found(""), [] as [&str; 0]);
        assert_eq!(found(r#"{"type":"assi{"a":1}"#), [r#"{"a":1}"#]);
        assert_eq!(
            found(r#"{"a":{"b":1}{"c":2}{"d"#),
            [r#"{"b":1}"#, r#"{"c":2}"#]
        );
        assert_eq!(found("\0\0{}\0[{\"a\":[{}]}] x"), ["{}", r#"{"a":[{}]}"#]);
        assert_eq!(found("{\"a\":\"{\\\"b\\\":1}"), [] as [&str; 0]);
    }

    /// Every open bracket could be the start of an object that reaches to the end, which is looked at again and again.
    #[test]
    fn the_work_is_bounded() {
        let text = "{\"a\":".repeat(100_000);
        assert_eq!(objects(&text).count(), 0);
    }
}
