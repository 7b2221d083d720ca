//! Eight bytes as one word, the first byte lowest.

/// Every byte 1: times a byte it is that byte eight times.
pub(super) const ONES: u64 = u64::MAX / 255;

/// The high bit of every byte.
pub(super) const HIGHS: u64 = ONES * 0x80;

/// The word that begins at a place; none where less than eight bytes are left.
#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*word))
}

/// Whether a byte below 0x80 is among others.
#[inline(always)]
pub(super) fn contains(bytes: &[u8], sought: u8) -> bool {
    let is_in = |word: u64| {
        let others = word ^ (ONES * u64::from(sought));
        // The lowest byte that gets a high bit it did not have was zero.
        others.wrapping_sub(ONES) & !others & HIGHS != 0
    };
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.contains(&sought);
    };
    let (words, _) = bytes.as_chunks::<8>();
    // The last word may look at some bytes again.
    is_in(u64::from_le_bytes(*last)) || words.iter().any(|word| is_in(u64::from_le_bytes(*word)))
}
