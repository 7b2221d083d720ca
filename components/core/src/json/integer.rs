//! Integers in their usual spelling, which are mostly short.

use super::walk::byte;
use super::word::{HIGHS, ONES, word};

/// How many bytes, counted from the lowest, are digits: up to eight.
#[inline(always)]
fn digits_in(word: u64) -> usize {
    let values = word ^ (ONES * b'0' as u64);
    // Above the first byte that is no digit the sum may carry, which does not matter.
    let others = (values | values.wrapping_add(ONES * (0x80 - 10))) & HIGHS;
    (others.trailing_zeros() / 8) as usize
}

/// What the lowest `count` bytes say, all of them digits; 1 to 8.
#[inline(always)]
fn value_of_digits(word: u64, count: usize) -> u64 {
    // The first digit is the highest: zeros come before it, not behind the last.
    let digits = (word ^ (ONES * b'0' as u64)) << (64 - 8 * count);
    // Every other byte becomes the value of two digits; the first and the third pair then count 10^6 and 100 (`low`), the
    // second and the fourth 10^4 and 1 (`high`), and each product has its sum of two in the upper half.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// An integer without a sign, of at most seven digits in its usual spelling, with the byte behind it and its length.
#[inline(always)]
fn short_integer(bytes: &[u8], at: usize) -> Option<(u64, u8, usize)> {
    let word = word(bytes, at)?;
    let count = digits_in(word);
    let is_usual = (1..8).contains(&count) & ((count == 1) | (word as u8 != b'0'));
    is_usual.then(|| {
        let behind = (word >> (8 * count)) as u8;
        (value_of_digits(word, count), behind, count)
    })
}

/// Takes short integers with a comma right behind each: lists of seqs are made of them.
#[inline(always)]
pub(super) fn short_integers(bytes: &[u8], mut at: usize, mut take: impl FnMut(u64)) -> usize {
    while let Some((mut value, b',', count)) = short_integer(bytes, at) {
        take(value);
        // Seqs mostly count on, and up to the next ten only the last digit changes.
        // The digits with their comma, and a one in the place of the last digit.
        let mask = u64::MAX >> (56 - 8 * count);
        let one = 1 << (8 * count - 8);
        let mut expected = word(bytes, at).unwrap_or(0) & mask;
        at += count + 1;
        for _ in value % 10..9 {
            expected += one;
            if word(bytes, at).is_none_or(|word| word & mask != expected) {
                break;
            }
            value += 1;
            take(value);
            at += count + 1;
        }
    }
    at
}

/// Passes integers with a comma right behind each, and gives their sum and number too.
///
/// Nothing is guessed of the next one, as [`short_integers`] does: steps in time are one or two digits in any order, and
/// a wrong guess costs more than all the rest.
#[inline(always)]
pub(super) fn sum_of_short_integers(bytes: &[u8], mut at: usize) -> (u64, u64, usize) {
    let (mut sum, mut count) = (0, 0);
    loop {
        let (more, found, length) = word(bytes, at).map_or((0, 0, 0), sum_of_two_digits_at_most);
        sum += more;
        count += found;
        at += length;
        if length > 0 {
            continue;
        }
        let Some((value, b',', length)) = short_integer(bytes, at) else {
            return (sum, count, at);
        };
        sum += value;
        count += 1;
        at += length + 1;
    }
}

/// Sum and number of the integers in a word, up to its last comma, and the bytes that they take; zeros unless each of
/// them has one or two digits in its usual spelling and a comma behind it.
#[inline(always)]
fn sum_of_two_digits_at_most(word: u64) -> (u64, u64, usize) {
    let others = word ^ (ONES * b',' as u64);
    // Adding 0x7f to its lower bits sets the high bit of every byte that is not zero, and carries nothing.
    let commas = !((others & !HIGHS).wrapping_add(!HIGHS) | others) & HIGHS;
    let length = 8 - commas.leading_zeros() as usize / 8;
    let used = u64::MAX.checked_shr(64 - 8 * length as u32).unwrap_or(0);
    // 0xff where there is a comma; and where there is anything else that counts
    let comma = (commas >> 7) * 0xff;
    let digit = used & !comma;
    let values = (word ^ (ONES * b'0' as u64)) & digit;
    let before_comma = comma >> 8;
    let ones = values & before_comma;
    let tens = values & !before_comma;
    let is_tens = digit & (digit >> 8);
    let is_usual = (values | values.wrapping_add(ONES * (0x80 - 10))) & HIGHS == 0
        // no three digits, no comma without a digit before it, no zero before a digit
        && is_tens & (digit >> 16) == 0
        && commas & ((commas << 8) | 0x80) == 0
        && tens.wrapping_add(!HIGHS) & HIGHS == is_tens & HIGHS;
    if !is_usual {
        return (0, 0, 0);
    }
    // The product has the sum of all bytes in its highest.
    let across = |bytes: u64| bytes.wrapping_mul(ONES) >> 56;
    let count = u64::from(commas.count_ones());
    (across(ones) + 10 * across(tens), count, length)
}

/// An integer of at most 16 digits without sign, fraction and exponent, and the place behind it; none for another number.
#[inline(always)]
pub(super) fn plain_integer(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (value, behind, end) = match short_integer(bytes, at) {
        Some((value, behind, count)) => (value, behind, at + count),
        None => long_integer(bytes, at)?,
    };
    (!matches!(behind, b'.' | b'e' | b'E')).then_some((value, end))
}

const POWERS_OF_TEN: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Value, byte behind and place behind of an integer of any length up to 16, near the end of the text too.
#[inline(always)]
fn long_integer(bytes: &[u8], at: usize) -> Option<(u64, u8, usize)> {
    let (mut value, mut end) = (0, at);
    if let Some(first) = word(bytes, at)
        && digits_in(first) == 8
        && first as u8 != b'0'
    {
        (value, end) = (value_of_digits(first, 8), at + 8);
        if let Some(second) = word(bytes, end)
            && let count @ 1..8 = digits_in(second)
        {
            let power = POWERS_OF_TEN.get(count).copied().unwrap_or(0);
            value = value * power + value_of_digits(second, count);
            end += count;
        }
    }
    while byte(bytes, end).is_ascii_digit() && end - at < 16 {
        value = value * 10 + u64::from(byte(bytes, end) - b'0');
        end += 1;
    }
    let behind = byte(bytes, end);
    let is_usual =
        end > at && !behind.is_ascii_digit() && (end == at + 1 || byte(bytes, at) != b'0');
    is_usual.then_some((value, behind, end))
}
