//! Strings: mostly long plain stretches, passed in blocks, or very short ones, passed in words.

use super::walk::byte;
use super::word::{HIGHS, ONES, word};

/// Behind the closing quote of a string whose opening quote was taken.
#[inline(always)]
pub(super) fn string_rest(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    loop {
        // The place of the next block must not wait for what this one holds: that would take longer than the blocks do.
        while let Some(block) = block(bytes, at) {
            if let Some(plain) = stop(block) {
                at += plain;
                break;
            }
            at += block.len();
        }
        match byte(bytes, at) {
            b'"' => return Ok(at + 1),
            b'\\' => at = escape(bytes, at + 1)?,
            0..=0x1f => return Err(at),
            _ => at += 1,
        }
    }
}

#[inline(always)]
fn block(bytes: &[u8], at: usize) -> Option<&[u8; 16]> {
    bytes.get(at..)?.first_chunk()
}

/// From behind the opening quote of a string, passes it and those after it as long as each is short, plain, and has a
/// comma and the next opening quote right behind it. How many were passed, and the place behind the last opening quote.
#[inline(always)]
pub(super) fn short_strings(bytes: &[u8], mut at: usize) -> (u64, usize) {
    let mut count = 0;
    while let Some(word) = word(bytes, at) {
        // What ends the string, and the two bytes behind it. Without a stop nothing is shifted, and then there is no
        // quote to match either.
        let bits = string_stops(word).trailing_zeros() & !7;
        if word.wrapping_shr(bits) & 0xff_ffff != u64::from_le_bytes(*b"\",\"\0\0\0\0\0") {
            break;
        }
        count += 1;
        at += (bits / 8) as usize + 3;
    }
    (count, at)
}

/// Behind an escape whose backslash was taken.
#[inline(always)]
fn escape(bytes: &[u8], at: usize) -> Result<usize, usize> {
    match byte(bytes, at) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 1),
        b'u' => code_unit(bytes, at + 1),
        _ => Err(at),
    }
}

/// Behind the four digits of an escape.
fn code_unit(bytes: &[u8], at: usize) -> Result<usize, usize> {
    let mut digits = at..at + 4;
    match digits.find(|at| !byte(bytes, *at).is_ascii_hexdigit()) {
        Some(at) => Err(at),
        None => Ok(at + 4),
    }
}

/// Where in a block the first byte stands that is not plain, which is a quote, a backslash or a control character.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline(always)]
fn stop(block: &[u8; 16]) -> Option<usize> {
    use core::arch::wasm32::{
        u8x16_bitmask, u8x16_eq, u8x16_le, u8x16_splat, u64x2, v128_or, v128_xor,
    };
    let both = u128::from_le_bytes(*block);
    let bytes = u64x2(both as u64, (both >> 64) as u64);
    // as `string_stops`
    let quote_or_control = u8x16_le(v128_xor(bytes, u8x16_splat(0x02)), u8x16_splat(0x20));
    let slash = u8x16_eq(bytes, u8x16_splat(b'\\'));
    let stops = u8x16_bitmask(v128_or(quote_or_control, slash));
    (stops != 0).then(|| stops.trailing_zeros() as usize)
}

/// Where in a block the first byte stands that is not plain, which is a quote, a backslash or a control character.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
fn stop(block: &[u8; 16]) -> Option<usize> {
    if is_plain(block) {
        return None;
    }
    // Without a branch between the halves: a guess would be wrong half of the time.
    let both = u128::from_le_bytes(*block);
    let stops = |word: u64| u128::from(string_stops(word));
    let stops = stops(both as u64) | (stops((both >> 64) as u64) << 64);
    Some((stops.trailing_zeros() / 8) as usize)
}

/// Whether all bytes of a block are plain. Written so that it compiles to a few vector instructions.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
fn is_plain(block: &[u8; 16]) -> bool {
    let mut stops = false;
    for byte in block {
        stops |= (*byte ^ 0x02) <= 0x20 || *byte == b'\\';
    }
    !stops
}

/// The high bit of the first byte, counted from the lowest, that ends a plain stretch of a string: a quote, a
/// backslash or a control character. Bits above the lowest one mean nothing.
#[inline(always)]
fn string_stops(word: u64) -> u64 {
    // Flipping 0x02 puts the quote right behind the control characters and mixes those among themselves.
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let slash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (quote_or_control | slash) & !word & HIGHS
}
