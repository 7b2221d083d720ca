//! Bytes read as a row of decisions.

/// Decisions that are still to be made. At their end every decision is the first choice.
#[derive(Clone, Debug, Default)]
pub(super) struct Decisions<'a> {
    rest: &'a [u8],
}

impl<'a> Decisions<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Decisions<'a> {
        Decisions { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// A number less than `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let Some((first, rest)) = self.rest.split_first() else {
            return 0;
        };
        self.rest = rest;
        usize::from(*first) % end
    }

    /// One of some things.
    pub(super) fn one_of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }

    /// Up to `length` bytes as they are.
    pub(super) fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }
}
