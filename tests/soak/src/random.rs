//! Choices that come out the same for the same seed. When a process meets another is up to the machine.

/// SplitMix64: enough to choose with, and eight lines.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Of one seed, each `stream` chooses for itself.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of `0..end`; 0 where that is empty.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of some; none where there is none.
    pub fn pick<'a, T>(&mut self, some: &'a [T]) -> Option<&'a T> {
        let index = self.below(some.len() as u64);
        some.get(usize::try_from(index).unwrap_or(0))
    }
}
