//! Times as people read them.

const DAY_SECONDS: u64 = 86_400;
/// Days from 0000-03-01 to 1970-01-01 in the proleptic Gregorian calendar.
const EPOCH_DAYS: u64 = 719_468;
/// Days in the 400 years after which the calendar repeats.
const ERA_DAYS: u64 = 146_097;

/// Milliseconds since 1970 as `2026-07-26T09:30:05Z`, in UTC.
pub fn utc(time_ms: u64) -> String {
    let seconds = time_ms / 1000;
    let (year, month, day) = date(seconds / DAY_SECONDS);
    let second = seconds % DAY_SECONDS;
    let (hour, minute) = (second / 3600, second % 3600 / 60);
    let second = second % 60;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A span of time, rounded down: `3 s`, `4 min`, `5 h`, `6 d`.
pub fn span(span_ms: u64) -> String {
    let seconds = span_ms / 1000;
    let (number, unit) = match seconds {
        0 => (span_ms, "ms"),
        1..60 => (seconds, "s"),
        60..3600 => (seconds / 60, "min"),
        3600..DAY_SECONDS => (seconds / 3600, "h"),
        _ => (seconds / DAY_SECONDS, "d"),
    };
    format!("{number} {unit}")
}

/// Year, month and day of a day counted from 1970-01-01. Years are taken to begin in March, so that the leap day is
/// their last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + EPOCH_DAYS;
    let (era, day) = (days / ERA_DAYS, days % ERA_DAYS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months from March on have 153 days, and so have the next five.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + carry, month, day)
}

#[cfg(test)]
mod tests {
    use super::{span, utc};

    #[test]
    fn spans_are_rounded_down() {
        let cases = [
            (0, "0 ms"),
            (999, "999 ms"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (7_199_999, "1 h"),
            (259_200_000, "3 d"),
        ];
        for (span_ms, text) in cases {
            assert_eq!(span(span_ms), text);
        }
    }

    #[test]
    fn days_fall_on_their_dates() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399_999, "2000-02-28T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_783_860_675_270, "2026-07-12T12:51:15Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ];
        for (time_ms, text) in cases {
            assert_eq!(utc(time_ms), text);
        }
    }
}
