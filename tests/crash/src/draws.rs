//! Numbers that look random and are the same in every run.

/// A seeded sequence (splitmix64).
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// The sequence of that seed.
    pub fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    /// The next number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed % bound as u64) as usize
    }
}
