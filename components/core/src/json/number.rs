//! Numbers: what their double is, without parsing where the spelling already tells.

use super::fault::JsonFaultKind;

/// The largest integer that a double carries exactly with all its neighbours.
const SAFE_MAX: f64 = 9_007_199_254_740_991.0;

/// What a double would lose of a number in JSON's grammar: its sign of zero, or everything.
pub(super) fn loss(text: &str) -> Option<JsonFaultKind> {
    if text == "0" {
        return None;
    }
    let value: f64 = text.parse().unwrap_or(f64::NAN);
    if !value.is_finite() {
        Some(JsonFaultKind::Overflow)
    } else if value == 0.0 && value.is_sign_negative() {
        Some(JsonFaultKind::NegativeZero)
    } else {
        None
    }
}

/// The integer that a number stands for, if it is one and safe.
#[inline]
pub(super) fn safe_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if (1..=15).contains(&digits.len()) {
        let sum = digits.bytes().try_fold(0i64, |sum, byte| {
            byte.is_ascii_digit()
                .then(|| sum * 10 + i64::from(byte - b'0'))
        });
        if let Some(sum) = sum {
            return Some(if digits.len() < text.len() { -sum } else { sum });
        }
    }
    spelled_otherwise(text)
}

fn spelled_otherwise(text: &str) -> Option<i64> {
    if !matches!(text.bytes().next(), Some(b'-' | b'0'..=b'9')) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    // Exact: the bound keeps the double within what the integer type holds.
    (value.fract() == 0.0 && value.abs() <= SAFE_MAX).then_some(value as i64)
}
