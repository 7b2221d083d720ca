//! Numbers: what their double is, without parsing where the spelling already tells.

use super::fault::JsonFaultKind;
use super::integer;

/// The largest integer that a double carries exactly with all its neighbours.
const SAFE_MAX: f64 = 9_007_199_254_740_991.0;

/// What a double would lose of a number in JSON's grammar: its sign of zero, or everything.
pub(super) fn loss(text: &[u8]) -> Option<JsonFaultKind> {
    let text = std::str::from_utf8(text).ok();
    let value: f64 = text.and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
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
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    match integer::plain_integer(digits, 0) {
        // 15 digits are always safe.
        Some((value, end)) if end == digits.len() && end <= 15 => {
            let value = i64::try_from(value).ok()?;
            Some(if end < text.len() { -value } else { value })
        }
        _ => spelled_otherwise(text),
    }
}

fn spelled_otherwise(text: &str) -> Option<i64> {
    if !matches!(text.bytes().next(), Some(b'-' | b'0'..=b'9')) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    // Exact: the bound keeps the double within what the integer type holds.
    (value.fract() == 0.0 && value.abs() <= SAFE_MAX).then_some(value as i64)
}
